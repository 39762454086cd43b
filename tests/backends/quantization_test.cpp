// Quantization, rotation and cache updates on the CPU against the reference.
#include "backends/kernel_case.h"
#include "layers/dequantize.h"
#include "layers/kv_cache_update.h"
#include "layers/quantize.h"
#include "layers/rotary_embedding.h"

#include <cmath>

namespace tenon::test
{

namespace
{
HostTensor whole(std::vector<int64_t> extents, std::vector<int64_t> const& values, DType type)
{
    HostTensor tensor{type, std::move(extents)};
    for (size_t i = 0; i < values.size(); ++i)
        tensor.setInteger(static_cast<int64_t>(i), values[i]);
    return tensor;
}
} // namespace

TEST(CpuQuantize, tensorChannelsAndBlocks)
{
    HostTensor const x = randomTensor({3, 20, 6, 5}, -30.0, 30.0);
    expectKernels(Quantize{}, {input(x), input(randomTensor({}, 0.1, 0.2))}, "tape");
    for (int32_t axis = 0; axis < 4; ++axis)
        expectKernels(Quantize{.axis = axis},
            {input(x), weight(randomTensor({x.extents[static_cast<size_t>(axis)]}, 0.1, 0.3))}, "tape");
    expectKernels(Quantize{}, {input(x), input(randomTensor({3, 5, 2, 1}, 0.1, 0.3))}, "tape");
    expectKernels(
        Quantize{.blockShape = {4, {1, 4, 3, 5}}}, {input(x), input(randomTensor({3, 5, 2, 1}, 0.1, 0.3))}, "tape");
    expectKernels(
        Quantize{}, {input(x), input(randomTensor({}, 0.1, 0.2)), weight(whole({}, {0}, DType::kINT8))}, "tape");
}

//! By one scale: numbers beyond int8 and half-way between two, what is no number, and lengths that end in a part.
TEST(CpuQuantize, oneScale)
{
    for (int64_t const count : {1, 15, 64, 2053})
    {
        HostTensor x = randomTensor({1, count}, -40.0, 40.0);
        for (int64_t i = 0; i < count; i += 7)
            x.set(i, 0.25 * static_cast<double>(i % 41 - 20)); // Halves of the scale.
        double const special[]{1e30, -1e30, INFINITY, -INFINITY, NAN, -0.0};
        for (int64_t i = 0; i < std::min<int64_t>(6, count); ++i)
            x.set(count - 1 - i, special[i]);
        HostTensor scale{DType::kFLOAT, {}};
        scale.set(0, 0.5);
        expectKernels(Quantize{}, {input(x), input(scale)}, "tape", {}, Types::kFloatOnly);
    }
}

TEST(CpuDequantize, tensorChannelsAndBlocks)
{
    HostTensor const x = randomTensor({3, 20, 6, 5}, -128.0, 127.0, DType::kINT8);
    expectKernels(Dequantize{}, {input(x), input(randomTensor({}, 0.1, 0.2))}, "tape", {}, Types::kFloatOnly);
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16})
        for (int32_t axis = 0; axis < 4; ++axis)
            expectKernels(Dequantize{.axis = axis, .toType = type},
                {input(x), weight(randomTensor({x.extents[static_cast<size_t>(axis)]}, 0.1, 0.3))}, "tape",
                {1e-5, 1e-2}, Types::kFloatOnly);
    expectKernels(Dequantize{}, {input(x), input(randomTensor({3, 5, 2, 1}, 0.1, 0.3))}, "tape", {}, Types::kFloatOnly);
}

TEST(CpuRotaryEmbedding, pairsPartsAndPositions)
{
    for (bool const neighbours : {false, true})
        for (int32_t const turned : {0, 6})
        {
            int64_t const pairs = turned == 0 ? 9 : 3;
            RotaryEmbedding const layer{neighbours, turned};
            HostTensor const x = randomTensor({2, 3, 5, 18});
            expectKernels(
                layer, {input(x), input(randomTensor({2, 5, pairs})), input(randomTensor({2, 5, pairs}))}, "rows");
            for (DType const type : {DType::kINT32, DType::kINT64})
                expectKernels(layer,
                    {input(x), weight(randomTensor({7, pairs})), weight(randomTensor({7, pairs})),
                        input(whole({2, 5}, {0, 6, 3, 3, 1, 5, 4, 2, 0, 6}, type))},
                    "rows");
        }
}

TEST(CpuKVCacheUpdate, insideAndPastBothEnds)
{
    for (DType const type : {DType::kINT32, DType::kINT64})
        for (std::vector<int64_t> const& starts : {std::vector<int64_t>{0, 3}, {5, -2}, {99, -99}})
            expectKernels(KVCacheUpdate{},
                {input(randomTensor({2, 3, 7, 5})), input(randomTensor({2, 3, 4, 5})), input(whole({2}, starts, type))},
                "rows");
}

} // namespace tenon::test
