// Contexts of one engine in parallel threads.
#include "runtime/fixture.h"

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

} // namespace tenon::test
