// Runs after the first of a shape allocate nothing.
#include "device/host/streams.h"
#include "runtime/fixture.h"
#include "support/allocation_count.h"

#include <atomic>
#include <thread>

namespace tenon::test
{

TEST(Allocation, theCounterCounts)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    int64_t const before = allocationCount();
    std::vector<int> const values(1000, 3);
    EXPECT_GT(allocationCount(), before);
    EXPECT_EQ(values[999], 3);
}

TEST(Allocation, seenShapesRunWithoutAllocating)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    DeviceArray<float> const x{randomFloats(64, 1)};
    DeviceArray<float> const out{64};
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setInputAddress("y", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    auto const runAt = [&](int64_t n) {
        bool ok = static_cast<bool>(context->setInputShape("x", dimsOf({n, 4})));
        ok = ok && context->setInputShape("y", dimsOf({n, 4}));
        return ok && context->enqueue(nullptr);
    };
    for (int64_t const n : {3, 16, 8})
        EXPECT_TRUE(runAt(n));
    int64_t const before = allocationCount();
    bool ok{true};
    for (int i = 0; i < 30; ++i)
        ok = ok && runAt(i % 3 == 0 ? 3 : i % 3 == 1 ? 16 : 8);
    EXPECT_EQ(allocationCount(), before);
    EXPECT_TRUE(ok);
}

TEST(Allocation, seenShapesRunOnCreatedStreamsWithoutAllocating)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    DeviceArray<float> const x{randomFloats(64, 1)};
    DeviceArray<float> const out{64};
    Device& device = deviceOfEngines();
    void* const stream = *device.createStream();
    EXPECT_OK(context->setInputAddress("x", x.data()));
    EXPECT_OK(context->setInputAddress("y", x.data()));
    EXPECT_OK(context->setOutputAddress("out", out.data()));
    EXPECT_OK(context->setInputShape("x", dimsOf({16, 4})));
    EXPECT_OK(context->setInputShape("y", dimsOf({16, 4})));
    // As many runs under way at once as there will be frames for.
    auto const burst = [&](int count) {
        bool ok{true};
        for (int i = 0; i < count; ++i)
            ok = ok && context->enqueue(stream);
        return ok && host::synchronize(stream);
    };
    // However fast the stream's thread is: five stand in the stream at once.
    std::atomic<bool> isOpen{false};
    EXPECT_OK(host::submit(stream, [&isOpen]() -> Result<Done> {
        while (!isOpen)
            std::this_thread::yield();
        return Done{};
    }));
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(context->enqueue(stream));
    isOpen = true;
    EXPECT_OK(host::synchronize(stream));
    EXPECT_TRUE(burst(20));
    int64_t const before = allocationCount();
    bool ok{true};
    for (int i = 0; i < 10; ++i)
        ok = ok && burst(5);
    EXPECT_EQ(allocationCount(), before);
    EXPECT_TRUE(ok);
    device.destroyStream(stream);
}

TEST(Allocation, seenDataDependentRunsDoNotAllocateEither)
{
    if (!isCounting())
        GTEST_SKIP() << "sanitizers own malloc";
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    DeviceArray<float> const one{halfZeros(16, 1)};
    DeviceArray<float> const other{halfZeros(16, 2)};
    DeviceArray<int32_t> const indices{16};
    DeviceArray<int32_t> const negated{16};
    DeviceArray<float> const doubled{16};
    EXPECT_OK(context->setInputShape("x", dimsOf({16})));
    auto const runOn = [&](DeviceArray<float> const& x) {
        void* const bindings[]{x.data(), indices.data(), negated.data(), doubled.data()};
        return static_cast<bool>(context->execute(bindings));
    };
    EXPECT_TRUE(runOn(one));
    EXPECT_TRUE(runOn(other));
    int64_t const before = allocationCount();
    bool ok{true};
    for (int i = 0; i < 20; ++i)
        ok = ok && runOn(i % 2 == 0 ? one : other);
    EXPECT_EQ(allocationCount(), before);
    EXPECT_TRUE(ok);
}

} // namespace tenon::test
