// Streamed weights of runs that end early: they leave memory as if the run had gone on.
#include "runtime/fixture.h"
#include "runtime/weight_budget.h"

#include <fstream>
#include <sstream>

namespace tenon::test
{

namespace
{
constexpr int64_t kElements{int64_t{1} << 18};

//! out = x + weight, by the kernel.
std::shared_ptr<Plan> networkOf(char const* kernel)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {kElements});
    int32_t const weight = builder.weight(std::vector<float>(kElements, 2.0F), {kElements});
    builder.step(kernel, {x, weight}, {builder.output("out", builder.extentsOf(x))});
    builder.plan().streamsWeights = true;
    return builder.finish();
}

//! Bytes of the mapping at an address that are in the process's memory.
int64_t residentBytes(void const* address)
{
    auto const at = reinterpret_cast<uintptr_t>(address);
    std::ifstream maps{"/proc/self/smaps"};
    bool isThere{false};
    for (std::string line; std::getline(maps, line);)
    {
        std::istringstream words{line};
        std::string first;
        words >> first;
        if (size_t const dash = first.find('-'); dash != std::string::npos)
            isThere = std::stoull(first.substr(0, dash), nullptr, 16) <= at
                && at < std::stoull(first.substr(dash + 1), nullptr, 16);
        int64_t kilobytes{0};
        if (isThere && first == "Rss:" && words >> kilobytes)
            return kilobytes * 1024;
    }
    ADD_FAILURE() << "no mapping at " << address;
    return -1;
}

//! In the process's memory of an engine's weight behind a run, for this budget.
int64_t residentAfterRun(char const* kernel, int64_t budget)
{
    std::shared_ptr<Engine> const engine = engineOf(networkOf(kernel));
    EXPECT_NE(engine->weightBudget(), nullptr);
    EXPECT_OK(engine->setWeightBudget(budget));
    std::vector<float> x(kElements, 1.0F);
    std::vector<float> out(kElements);
    auto const context = contextOf(engine);
    void* const bindings[]{x.data(), out.data()};
    bool const hasRun{context->execute(bindings)};
    EXPECT_EQ(hasRun, std::string_view{kernel} == "add");
    EXPECT_TRUE(!hasRun || out.back() == 3.0F);
    return residentBytes(engine->weights().front().data);
}
} // namespace

TEST(Streaming, V1_weightsOfAStepThatFailsLeaveMemoryToo)
{
    if (isGuarded())
    {
        EXPECT_EQ(engineOf(networkOf("add"))->weightBudget(), nullptr) << "memory of the device's own streams none";
        return;
    }
    constexpr int64_t kBytes{kElements * int64_t{sizeof(float)}};
    EXPECT_EQ(residentAfterRun("add", kBytes), kBytes);
    EXPECT_EQ(residentAfterRun("add", 0), 0);
    EXPECT_EQ(residentAfterRun("failing_add", kBytes), kBytes);
    EXPECT_EQ(residentAfterRun("failing_add", 0), 0);
}

} // namespace tenon::test
