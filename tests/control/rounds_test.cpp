// What a round of a loop costs: no allocation, and little time of ours.
#include "fixture.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>

namespace
{
std::atomic<int64_t> gAllocations{0};
} // namespace

[[gnu::noinline]] void* operator new(size_t bytes)
{
    gAllocations.fetch_add(1, std::memory_order_relaxed);
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes))
        return memory;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept
{
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept
{
    std::free(memory);
}

namespace apitest
{

class Rounds : public ControlTest
{
  protected:
    //! Runs with so many rounds; what it allocates and how long it takes.
    std::pair<int64_t, double> cost(int64_t rounds)
    {
        DeviceArray<int64_t> const n{std::vector<int64_t>{rounds}};
        DeviceArray<float> const x{std::vector<float>{1, 2, 3}};
        DeviceArray<float> const y{3};
        DeviceArray<float> const z{3};
        EXPECT_TRUE(context->setTensorAddress("n", n.data()));
        EXPECT_TRUE(context->setTensorAddress("x", x.data()));
        EXPECT_TRUE(context->setTensorAddress("y", y.data()));
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
        int64_t const before = gAllocations.load();
        auto const start = std::chrono::steady_clock::now();
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
        std::chrono::duration<double, std::micro> const spent = std::chrono::steady_clock::now() - start;
        return {gAllocations.load() - before, spent.count()};
    }
    //! A loop with a conditional inside, both decided by data.
    void makeNetwork(bool isPlain)
    {
        ITensor* x = input("x", {3});
        ITensor* n = input("n", {}, DataType::kINT64);
        ILoop* loop = network->addLoop();
        loop->addTripLimit(*n, TripLimit::kCOUNT);
        IRecurrenceLayer* state = loop->addRecurrence(*x);
        ITensor* next = add(state->getOutput(0), floats({3}, {0.5F, 0.25F, -1}));
        if (!isPlain)
        {
            ITensor* sum = network->addReduce(*next, ReduceOperation::kSUM, 1U, false)->getOutput(0);
            IIfConditional* choice = network->addIfConditional();
            choice->setCondition(*add(sum, floats({}, {1}), ElementWiseOperation::kLESS));
            ITensor* inside = choice->addInput(*next)->getOutput(0);
            next = choice->addOutput(*add(inside, floats({3}, {1, 1, 1})), *add(inside, inside))->getOutput(0);
        }
        state->setInput(1, *next);
        mark(loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0), "y");
        ASSERT_TRUE(build()) << logger.errors();
    }
};

TEST_F(Rounds, ofALoopAllocateNothing)
{
    makeNetwork(true);
    auto const [few, shortTime] = cost(2);
    auto const [many, longTime] = cost(20'002);
    EXPECT_EQ(many, few);
    RecordProperty("nanosecondsPerRound", static_cast<int>((longTime - shortTime) / 20'000 * 1000));
    std::printf("a round of one layer: %.2f us\n", (longTime - shortTime) / 20'000);
}

TEST_F(Rounds, withAConditionalAllocateNothing)
{
    makeNetwork(false);
    auto const [few, shortTime] = cost(2);
    auto const [many, longTime] = cost(20'002);
    EXPECT_EQ(many, few);
    std::printf("a round of three layers and a conditional: %.2f us\n", (longTime - shortTime) / 20'000);
}

} // namespace apitest
