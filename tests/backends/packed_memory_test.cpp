// What kernels make of constants while they are loaded or prepared lies where the user's allocator says.
#include "backends/rows.h"
#include "runtime/context.h"
#include "support/cpu_networks.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

class WatchedAllocator final : public nvinfer1::IGpuAllocator
{
  public:
    void* allocate(uint64_t const size, uint64_t const, nvinfer1::AllocatorFlags const) noexcept override
    {
        if (size == refused)
            return nullptr;
        void* const memory = cpuWithKernels().allocate(size);
        live[memory] = size;
        return memory;
    }
    bool deallocate(void* const memory) noexcept override
    {
        EXPECT_EQ(live.erase(memory), 1U);
        cpuWithKernels().release(memory);
        return true;
    }
    bool holds(uint64_t size) const
    {
        return std::ranges::any_of(live, [&](auto const& each) { return each.second == size; });
    }
    uint64_t refused{0};
    std::map<void*, uint64_t> live;
};

//! One convolution whose weights are transformed once its first shape is known.
std::shared_ptr<Plan const> networkToTransform()
{
    CpuNetwork net;
    auto& x = net.input("x", {1, 64, 56, 56}, {1, 64, 56, 56}, {1, 64, 56, 56});
    net.output(net.convolution("transformed", x, 64, 64, {.kernel = 3, .stride = 1, .padding = 1}), "y");
    auto const blob = std::make_shared<Bytes const>(net.build());
    Result<Plan> plan = readPlan(*blob, blob);
    EXPECT_TRUE(plan) << plan.error().message;
    return std::make_shared<Plan const>(*std::move(plan));
}

constexpr uint64_t kTransformed{36 * 64 * 64 * sizeof(float)}; // Tiles of 6 × 6 pixels.

Result<Done> runOnce(Engine& engine)
{
    std::unique_ptr<Context> const context =
        TENON_TRY(Context::create(engine.shared_from_this(), nvinfer1::ExecutionContextAllocationStrategy::kSTATIC));
    std::vector<float> x(size_t{64} * 56 * 56, 1.0F);
    std::vector<float> y(x.size());
    TENON_TRY(context->setInputAddress("x", x.data()));
    TENON_TRY(context->setTensorAddress("y", y.data()));
    return context->runObserved([](ObservedStep const&) { return true; });
}

class PackedMemory : public testing::Test
{
  protected:
    Result<std::shared_ptr<Engine>> engine()
    {
        EngineOptions options;
        options.device = &cpuWithKernels();
        options.allocator = &allocator;
        return Engine::create(networkToTransform(), options);
    }

    WatchedAllocator allocator;
};

TEST_F(PackedMemory, O10_weightsThatAreRepackedComeFromTheUsersAllocator)
{
    {
        Result<std::shared_ptr<Engine>> const made = engine();
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_FALSE(allocator.holds(kTransformed));
        Result<Done> const ran = runOnce(**made);
        ASSERT_TRUE(ran) << ran.error().message;
        EXPECT_TRUE(allocator.holds(kTransformed));
    }
    EXPECT_TRUE(allocator.live.empty());
}

TEST_F(PackedMemory, whereTheAllocatorHasNoneTheErrorNamesTheLayer)
{
    Result<std::shared_ptr<Engine>> const made = engine();
    ASSERT_TRUE(made) << made.error().message;
    allocator.refused = kTransformed;
    Result<Done> const failed = runOnce(**made);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kFAILED_ALLOCATION);
    EXPECT_THAT(failed.error().message, HasSubstr("transformed"));
    EXPECT_THAT(failed.error().message, HasSubstr(std::to_string(kTransformed) + " bytes"));
    allocator.refused = 0;
    Result<Done> const ran = runOnce(**made); // Nothing is lost.
    EXPECT_TRUE(ran) << ran.error().message;
}
} // namespace

} // namespace tenon::test
