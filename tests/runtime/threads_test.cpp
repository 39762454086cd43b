// Contexts of one engine in parallel threads, and threads that break rule S5 with one context.
#include "runtime/fixture.h"

#include <atomic>
#include <thread>

namespace tenon::test
{

TEST(Threads, S5_eightContextsOfOneEngineAgreeWithTheSerialResult)
{
    auto const engine = engineOf(nonZeroNetwork());
    auto const work = [&](uint32_t seed) {
        std::vector<std::vector<int32_t>> results;
        auto const context = contextOf(engine);
        for (uint32_t i = 0; i < 200; ++i)
        {
            auto const n = static_cast<size_t>(1 + (seed + i * 7) % 16);
            auto xs = halfZeros(n, seed * 1000 + i);
            DeviceArray<float> const x{xs};
            DeviceArray<int32_t> const indices{n};
            DeviceArray<int32_t> const negated{n};
            DeviceArray<float> const doubled{n};
            EXPECT_OK(context->setInputShape("x", dimsOf({static_cast<int64_t>(n)})));
            void* const bindings[]{x.data(), indices.data(), negated.data(), doubled.data()};
            EXPECT_OK(context->execute(bindings));
            auto const expected = positionsOf(xs);
            EXPECT_EQ(indices.read(expected.size()), expected);
            results.push_back(negated.read(expected.size()));
        }
        return results;
    };
    std::vector<std::vector<std::vector<int32_t>>> parallel(8);
    {
        std::vector<std::jthread> threads;
        for (uint32_t i = 0; i < 8; ++i)
            threads.emplace_back([&, i] { parallel[i] = work(i); });
    }
    for (uint32_t i = 0; i < 8; ++i)
        EXPECT_EQ(parallel[i], work(i));
}

//! The run of such a context may be for either shape. What is prepared on the way serves every context of the engine.
TEST(Threads, S5_shapesThatAnotherThreadSetsDuringRunsSpoilNoPreparedRun)
{
    std::vector<float> const ones(16 * 4, 1.0F);
    DeviceArray<float> const x{ones};
    DeviceArray<float> const y{ones};
    for (int32_t round = 0; round < 50; ++round)
    {
        auto const engine = engineOf(pointwiseNetwork());
        auto const shared = contextOf(engine);
        std::atomic<int64_t> low{1}; // The other shape has one row more.
        EXPECT_OK(shared->setInputShape("x", dimsOf({1, 4})));
        {
            std::jthread const setter{[&](std::stop_token const& ended) {
                for (int64_t i = 0; !ended.stop_requested(); ++i)
                {
                    EXPECT_OK(shared->setInputShape("x", dimsOf({low + i % 2, 4})));
                    shared->setThreads(static_cast<int32_t>(1 + i / 64 % 2));
                }
            }};
            DeviceArray<float> const out{ones.size()};
            void* const bindings[]{x.data(), y.data(), out.data()};
            for (int64_t const rows : {1, 3, 5, 7, 9, 11, 13, 15})
            {
                low = rows;
                for (int32_t run = 0; run < 20; ++run)
                {
                    EXPECT_OK(shared->execute(bindings));
                    EXPECT_OK(shared->updateDeviceMemorySizeForShapes());
                }
            }
        }
        for (int64_t rows = 1; rows <= 16; ++rows)
        {
            auto const context = contextOf(engine);
            DeviceArray<float> const out{std::vector<float>(ones.size(), 0.0F)};
            void* const bindings[]{x.data(), y.data(), out.data()};
            EXPECT_OK(context->setInputShape("x", dimsOf({rows, 4})));
            EXPECT_OK(context->execute(bindings));
            std::vector<float> expected(ones.size(), 0.0F);
            std::fill_n(expected.begin(), 4 * rows, 2.0F);
            ASSERT_EQ(out.read(), expected) << rows << " rows, round " << round;
        }
    }
}

} // namespace tenon::test
