// Softmax, reductions, normalization, attention and deconvolution on the CPU against the reference.
#include "backends/dims.h"
#include "backends/kernel_case.h"
#include "layers/attention.h"
#include "layers/deconvolution.h"
#include "layers/normalization.h"
#include "layers/reduce.h"
#include "layers/soft_max.h"

#include <array>
#include <cmath>

namespace tenon::test
{

TEST(CpuSoftMax, everyAxis)
{
    for (uint32_t axis = 0; axis < 4; ++axis)
        expectKernels(SoftMax{1U << axis}, {input(randomTensor({2, 19, 5, 21}, -20, 20))}, "rows");
    expectKernels(SoftMax{2}, {input(randomTensor({37, 1000}, -5, 5))}, "rows");
}

//! Rows that lie side by side, so many that a device may give each a thread.
TEST(CpuSoftMax, manyShortColumns)
{
    SoftMax layer;
    layer.axes = 2;
    expectKernels(layer, {input(randomTensor({2, 9, 40, 40}))}, "rows");
}

//! Pixels of every channel, in either layout: whole packs of channels and others, few pixels and many.
TEST(CpuReduction, overPixels)
{
    using enum nvinfer1::ReduceOperation;
    for (nvinfer1::ReduceOperation const operation : {kAVG, kMAX, kSUM})
        for (int64_t const channels : {8, 24, 37, 144, 520})
            for (std::vector<int64_t> const& pixels : std::vector<std::vector<int64_t>>{{1, 1}, {7, 7}, {40, 30}})
            {
                Reduce layer{.operation = operation, .reduceAxes = 12, .keepDimensions = true};
                // Not around 0: of a sum that cancels the last of twelve hundred additions' roundings would be seen.
                HostTensor const image = randomTensor({2, channels, pixels[0], pixels[1]}, -0.25, 1.0);
                expectKernels(layer, {input(image)}, "neighbours");
            }
    Reduce const leading{.operation = kMAX, .reduceAxes = 1};
    expectKernels(leading, {input(randomTensor({300, 48}))}, "neighbours");
}

//! Fewer rows than lanes, so long that several lanes share one: cuts where the length is no multiple, the extreme in
//! any part, and what is no number.
TEST(CpuReduce, extremesOfFewLongRows)
{
    for (nvinfer1::ReduceOperation const operation : {nvinfer1::ReduceOperation::kMAX, nvinfer1::ReduceOperation::kMIN})
        for (int64_t const length : {65536, 70001})
            for (int64_t const at : {int64_t{0}, length / 2, length - 1})
            {
                double const extreme = operation == nvinfer1::ReduceOperation::kMAX ? 3.0 : -3.0;
                HostTensor x = randomTensor({1, length});
                x.set(at, extreme);
                expectKernels(Reduce{.operation = operation, .reduceAxes = 2}, {input(x)}, "neighbours", {0.0, 0.0});
                expectKernels(Reduce{.operation = operation, .reduceAxes = 3}, {input(x)}, "neighbours", {0.0, 0.0});
                x.set(at, NAN);
                expectKernels(Reduce{.operation = operation, .reduceAxes = 2}, {input(x)}, "neighbours", {0.0, 0.0});
                HostTensor two = randomTensor({2, length});
                two.set(length + at, extreme);
                expectKernels(Reduce{.operation = operation, .reduceAxes = 2}, {input(two)}, "neighbours", {0.0, 0.0});
            }
}

//! Along rows, columns and between; sums and products wrap, means are whole, and of nothing what the layer says.
TEST(CpuReduce, integers)
{
    using nvinfer1::ReduceOperation;
    struct Case
    {
        std::vector<int64_t> extents;
        uint32_t axes;
    };
    for (DType const type : {DType::kINT8, DType::kINT32, DType::kINT64})
    {
        double const large = type == DType::kINT8 ? 127.0 : type == DType::kINT32 ? 2.1e9 : 9.1e18;
        for (ReduceOperation const operation : {ReduceOperation::kSUM, ReduceOperation::kPROD, ReduceOperation::kMAX,
                 ReduceOperation::kMIN, ReduceOperation::kAVG})
            for (Case const& each : std::vector<Case>{{{3, 5, 77}, 4}, {{3, 70, 301}, 2}, {{9, 3, 5}, 1},
                     {{2, 7, 19}, 6}, {{2, 7, 19}, 7}, {{1, 6, 600}, 2}, {{3, 0, 5}, 2}})
                for (bool const keeps : {false, true})
                {
                    SCOPED_TRACE(fmt::format("{} {} over {} of {}", nameOf(type), static_cast<int32_t>(operation),
                        each.axes, fmt::join(each.extents, "x")));
                    expectKernels(Reduce{operation, each.axes, keeps},
                        {input(randomTensor(each.extents, -large, large, type))}, "neighbours", Tolerance{0.0, 0.0});
                }
    }
}

TEST(CpuNormalization, layerNorm)
{
    for (bool const isRms : {false, true})
        for (int64_t const width : {7, 64, 768, 83})
        {
            Normalization layer{.axes = 4, .rms = isRms};
            expectKernels(layer,
                {input(randomTensor({2, 9, width}, -3, 5)), weight(randomTensor({1, 1, width})),
                    weight(randomTensor({1, 1, width}))},
                "rows");
        }
    for (int64_t const width : {256, 320, 1024}) // More rows than warps that go from row to row.
        expectKernels(Normalization{.axes = 2},
            {input(randomTensor({150, width}, -3, 5)), input(randomTensor({1, width})),
                weight(randomTensor({1, width}))},
            "rows");
    Normalization const longRows{.axes = 2}; // Longer than what half-precision rows become floats in at once.
    expectKernels(longRows,
        {input(randomTensor({2, 5000}, -2.0, 3.0)), weight(randomTensor({1, 5000})), input(randomTensor({1, 5000}))},
        "rows");
    Normalization const wide{.axes = 6};
    expectKernels(wide, {input(randomTensor({3, 9, 20})), weight(randomTensor({1, 9, 20})), absent()}, "rows");
    Normalization const channels{.axes = 2};
    expectKernels(channels,
        {input(randomTensor({2, 24, 5, 6}, -3, 5)), weight(randomTensor({1, 24, 1, 1})),
            weight(randomTensor({1, 24, 1, 1}))},
        "rows");
}

TEST(CpuNormalization, instanceAndGroupNorm)
{
    Normalization const instance{.axes = 12};
    expectKernels(instance,
        {input(randomTensor({2, 21, 15, 17}, 4, 9)), weight(randomTensor({1, 21, 1, 1})),
            weight(randomTensor({1, 21, 1, 1}))},
        "rows");
    for (bool const v2 : {false, true})
        for (int64_t const channels : {24, 80})
        {
            Normalization const group{.axes = 12, .nbGroups = 8, .v2 = v2};
            int64_t const parameters = v2 ? channels : 8;
            expectKernels(group,
                {input(randomTensor({2, channels, 15, 17}, 4, 9)), weight(randomTensor({1, parameters, 1, 1})),
                    weight(randomTensor({1, parameters, 1, 1}))},
                "rows");
        }
}

namespace
{
AttentionView viewOf(std::array<int32_t, 4> axes, int32_t firstHead = 0, int32_t heads = 0)
{
    return {axes, firstHead, heads};
}
} // namespace

TEST(CpuAttention, separateOperands)
{
    for (AttentionCausal const causal :
        {AttentionCausal::kNone, AttentionCausal::kUpperLeft, AttentionCausal::kLowerRight})
    {
        Attention const layer{.scale = 0.3F, .causal = causal};
        expectKernels(layer,
            {input(randomTensor({2, 4, 29, 20})), input(randomTensor({2, 4, 37, 20})),
                input(randomTensor({2, 4, 37, 24}))},
            "blocks");
        expectKernels(layer,
            {input(randomTensor({1, 3, 17, 16})), input(randomTensor({1, 1, 17, 16})),
                input(randomTensor({1, 1, 17, 16}))},
            "blocks");
    }
    Attention const longer{.scale = 0.3F, .causal = AttentionCausal::kLowerRight, .maskedRowsAreZero = true};
    expectKernels(longer,
        {input(randomTensor({1, 2, 37, 16})), input(randomTensor({1, 2, 29, 16})), input(randomTensor({1, 2, 29, 16}))},
        "blocks");
}

//! Several tiles of rows and keys, and heads of sizes that kernels have tiles for.
TEST(CpuAttention, headSizesAndLengths)
{
    for (int64_t const size : {32, 64, 80, 128})
    {
        SCOPED_TRACE(size);
        Attention layer{.scale = 0.2F};
        layer.q = layer.k = layer.v = viewOf({0, 2, 1, 3});
        layer.outputAxes = {0, 2, 1, 3};
        expectKernels(layer,
            {input(randomTensor({1, 70, 2, size})), input(randomTensor({1, 150, 2, size})),
                input(randomTensor({1, 150, 2, size}))},
            "blocks");
        layer.causal = AttentionCausal::kLowerRight;
        expectKernels(layer,
            {input(randomTensor({1, 67, 1, size})), input(randomTensor({1, 131, 1, size})),
                input(randomTensor({1, 131, 1, size}))},
            "blocks");
    }
}

//! Masks of every form over several tiles, with heads that share keys.
TEST(CpuAttention, masksOverTiles)
{
    Attention layer{.scale = 0.125F, .maskedRowsAreZero = true};
    HostTensor keep{DType::kBOOL, {2, 1, 70, 131}};
    for (int64_t i = 0; i < keep.count(); ++i)
        keep.setInteger(i, i / 131 % 70 == 33 ? 0 : i % 131 < 100 && i % 5 != 0);
    std::vector<Operand> operands{input(randomTensor({2, 2, 70, 64}, -2, 2)),
        input(randomTensor({2, 1, 131, 64}, -2, 2)), input(randomTensor({2, 1, 131, 64})), input(keep)};
    expectKernels(layer, operands, "blocks");
    for (int64_t const size : {64, 128})
    {
        operands[0] = input(randomTensor({1, 2, 70, size}, -2, 2));
        operands[1] = input(randomTensor({1, 1, 132, size}, -2, 2)); // Pairs of keys.
        operands[2] = input(randomTensor({1, 1, 132, size}));
        operands[3] = input(randomTensor({1, 1, 1, 132}, -3, 3));
        layer.causal = AttentionCausal::kNone;
        expectKernels(layer, operands, "blocks");
        layer.causal = AttentionCausal::kLowerRight;
        operands[3] = input(randomTensor({1, 2, 70, 132}, -3, 3));
        expectKernels(layer, operands, "blocks");
    }
}

//! More rows than a block has at once, masks whose keys lie in whole pieces or do not, rows that see nothing.
TEST(CpuAttention, masksOverManyRows)
{
    for (auto const& [rows, keys, size] :
        std::vector<std::array<int64_t, 3>>{{130, 136, 64}, {135, 77, 64}, {130, 72, 128}})
    {
        SCOPED_TRACE(testing::Message() << rows << " rows, " << keys << " keys of " << size);
        Attention layer{.scale = 0.125F, .maskedRowsAreZero = true};
        std::vector<Operand> operands{input(randomTensor({1, 1, rows, size}, -2, 2)),
            input(randomTensor({1, 1, keys, size}, -2, 2)), input(randomTensor({1, 1, keys, size})), absent()};
        HostTensor keep{DType::kBOOL, {1, 1, rows, keys}};
        for (int64_t i = 0; i < keep.count(); ++i)
            keep.setInteger(i, i / keys % 64 != 33 && i % keys % 7 != 3 && i % keys < keys - 5);
        operands[3] = input(keep);
        expectKernels(layer, operands, "blocks");
        operands[3] = input(randomTensor({1, 1, rows, keys}, -3, 3));
        expectKernels(layer, operands, "blocks");
    }
}

//! Masks that rows share, also with numbers that hide a key without being infinite, and of all keys alike.
TEST(CpuAttention, masksOfAllRows)
{
    constexpr int64_t kKeys{136};
    Attention layer{.scale = 0.125F, .causal = AttentionCausal::kUpperLeft};
    std::vector<Operand> operands{input(randomTensor({1, 2, 130, 64}, -2, 2)),
        input(randomTensor({1, 2, kKeys, 64}, -2, 2)), input(randomTensor({1, 2, kKeys, 64})),
        input(randomTensor({1, 2, 1, kKeys}, -3, 3))};
    expectKernels(layer, operands, "blocks");
    layer.causal = AttentionCausal::kNone;
    HostTensor lowest{DType::kFLOAT, {1, 1, 1, kKeys}};
    for (int64_t i = 0; i < kKeys; ++i)
        lowest.set(i, i % 3 == 0 ? -65504.0 : i % 5 == 0 ? 0.5 : 0.0);
    operands[3] = input(lowest);
    expectKernels(layer, operands, "blocks");
    operands[3] = input(randomTensor({1, 1, 130, 1}, -3, 3)); // Of all keys alike.
    expectKernels(layer, operands, "blocks");
}

//! Tiles of as many keys as leave few that are not there.
TEST(CpuAttention, lengthsOfManyTiles)
{
    Attention const layer{.scale = 0.125F};
    for (auto const& [rows, keys] : std::vector<std::pair<int64_t, int64_t>>{{50, 9}, {77, 77}, {150, 128}, {66, 257}})
        expectKernels(layer,
            {input(randomTensor({1, 1, rows, 64})), input(randomTensor({1, 1, keys, 64})),
                input(randomTensor({1, 1, keys, 64}))},
            "blocks");
}

//! One row, one key.
TEST(CpuAttention, leastLengths)
{
    Attention const layer{.scale = 0.125F};
    for (auto const& [rows, keys] : std::vector<std::pair<int64_t, int64_t>>{{1, 200}, {200, 1}, {1, 1}})
        expectKernels(layer,
            {input(randomTensor({1, 1, rows, 64})), input(randomTensor({1, 1, keys, 64})),
                input(randomTensor({1, 1, keys, 64}))},
            "blocks");
}

//! As few queries as keys and values are not packed for: heads that share keys or do not, rows of any length. Every
//! number of rows with every size; heads in turns, as each case is a kernel to compile on a GPU.
TEST(CpuAttention, fewQueries)
{
    constexpr std::array<int64_t, 3> kHeads{2, 6, 12};
    constexpr std::array<int64_t, 5> kSizes{5, 16, 40, 64, 144};
    for (size_t i = 0; i < 4 * kSizes.size(); ++i)
    {
        auto const rows = static_cast<int64_t>(i / kSizes.size()) + 1;
        int64_t const size = kSizes[i % kSizes.size()];
        int64_t const heads = kHeads[i % kHeads.size()];
        SCOPED_TRACE(testing::Message() << rows << " rows, " << heads << " heads of " << size);
        int64_t const keys = 19 + 7 * rows + heads;
        Attention layer{.scale = 0.3F, .maskedRowsAreZero = true};
        std::vector<Operand> operands{input(randomTensor({2, heads, rows, size})),
            input(randomTensor({2, 2, keys, size})), input(randomTensor({2, 2, keys, size + 3})),
            input(randomTensor({2, heads, rows, keys}, -3, 3))};
        expectKernels(layer, operands, "blocks");
        layer.causal = AttentionCausal::kLowerRight;
        expectKernels(layer, operands, "blocks");
        HostTensor keep{DType::kBOOL, {2, 1, rows, keys}};
        for (int64_t k = 0; k < keep.count(); ++k)
            keep.setInteger(k, k % 3 != 0 && k / keys % rows != 2); // The third query sees nothing.
        operands[3] = input(keep);
        expectKernels(layer, operands, "blocks");
    }
}

//! Few queries whose heads lie side by side, with a past of one key more than a block has.
TEST(CpuAttention, fewQueriesOfInterleavedHeads)
{
    Attention layer{.scale = 0.25F, .causal = AttentionCausal::kLowerRight};
    layer.q = layer.k = layer.v = viewOf({0, 2, 1, 3});
    layer.outputAxes = {0, 2, 1, 3};
    for (int64_t const rows : {1, 3})
        expectKernels(layer,
            {input(randomTensor({1, rows, 9, 32})), input(randomTensor({1, 257, 3, 32})),
                input(randomTensor({1, 257, 3, 32}))},
            "blocks");
}

TEST(CpuAttention, packedProjection)
{
    Attention layer{.scale = 0.25F};
    layer.q = viewOf({0, 2, 1, 3}, 0, 4);
    layer.k = viewOf({0, 2, 1, 3}, 4, 4);
    layer.v = viewOf({0, 2, 1, 3}, 8, 4);
    layer.outputAxes = {0, 2, 1, 3};
    for (int64_t const size : {16, 64})
    {
        HostTensor const packed = randomTensor({2, 50, 12, size});
        expectKernels(layer, {input(packed), input(packed), input(packed)}, "blocks");
    }
}

TEST(CpuAttention, masksAndTransposedKeys)
{
    Attention layer{.scale = 0.5F, .maskedRowsAreZero = true};
    layer.k = viewOf({0, 1, 3, 2});
    HostTensor keep{DType::kBOOL, {2, 1, 9, 33}};
    for (int64_t i = 0; i < keep.count(); ++i)
        keep.setInteger(i, i / 33 % 9 == 4 ? 0 : i % 3 != 0);
    std::vector<Operand> operands{input(randomTensor({2, 3, 9, 16})), input(randomTensor({2, 3, 16, 33})),
        input(randomTensor({2, 3, 33, 16})), input(keep)};
    expectKernels(layer, operands, "blocks");
    operands[3] = input(randomTensor({1, 3, 9, 33}, -3, 3));
    expectKernels(layer, operands, "blocks");
    operands[3] = input(randomTensor({2, 1, 1, 33}, -3, 3));
    expectKernels(layer, operands, "blocks");
    operands[3] = input(randomTensor({1, 1, 9, 1}, -3, 3));
    expectKernels(layer, operands, "blocks");
}

TEST(CpuDeconvolution, tiles)
{
    for (int64_t const maps : {1, 2, 4, 5, 24})
    {
        Deconvolution layer;
        layer.nbOutputMaps = maps;
        layer.kernelSize = {2, {2, 2}};
        layer.stride = {2, {2, 2}};
        std::vector<Operand> operands{
            input(randomTensor({2, 20, 5, 7})), weight(randomTensor({20, maps, 2, 2})), weight(randomTensor({maps}))};
        expectKernels(layer, operands, "lines");
        layer.epilogue.steps = {{EpilogueKind::kRelu}, {EpilogueKind::kSigmoid}};
        expectKernels(layer, operands, "lines");
        operands[2] = absent();
        layer.kernelSize = {2, {3, 2}};
        layer.stride = {2, {3, 2}};
        operands[1] = weight(randomTensor({20, maps, 3, 2}));
        expectKernels(layer, operands, "lines");
    }
}

TEST(CpuDeconvolution, linesOfAllWidths)
{
    for (int64_t width = 1; width <= 20; ++width)
        for (int64_t const size : {1, 2, 3, 8})
        {
            Deconvolution layer;
            layer.nbOutputMaps = 2;
            layer.kernelSize = {1, {size}};
            layer.stride = {1, {size}};
            layer.epilogue.steps = {{EpilogueKind::kTanh}, {EpilogueKind::kClip, -0.5F, 0.75F}};
            expectKernels(layer,
                {input(randomTensor({3, 9, width})), weight(randomTensor({9, 2, size})), weight(randomTensor({2}))},
                "lines");
        }
}

struct PhasesCase
{
    std::vector<int64_t> size;
    std::vector<int64_t> stride;
    std::vector<int64_t> dilation;
    std::vector<int64_t> pre;
    std::vector<int64_t> post;
    int32_t groups{1};
    int64_t maps{5};
};

//! Windows that overlap, leave gaps (strides beyond the kernel), are cut, dilated by what shares factors with the
//! stride and by what does not; groups down to one channel each.
TEST(CpuDeconvolution, overlappingWindows)
{
    for (PhasesCase const& c : std::vector<PhasesCase>{{{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
             {{4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, 20}, {{3, 3}, {1, 1}, {1, 1}, {0, 2}, {1, 0}},
             {{2, 1}, {3, 4}, {1, 1}, {0, 0}, {0, 0}}, {{3, 4}, {2, 3}, {2, 1}, {2, 1}, {0, 1}},
             {{3, 3}, {4, 6}, {2, 4}, {1, 0}, {0, 3}, 1, 17}, {{5, 3}, {2, 1}, {3, 2}, {4, 1}, {3, 0}},
             {{3, 3}, {2, 2}, {1, 1}, {1, 0}, {0, 1}, 4, 8}, {{2, 4}, {2, 2}, {1, 1}, {0, 1}, {0, 1}, 12, 12},
             {{4}, {2}, {1}, {1}, {1}}, {{5}, {3}, {2}, {0}, {2}, 2, 6},
             {{2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {}, {}, 1, 18},
             {{3, 3, 2}, {2, 1, 2}, {1, 2, 1}, {1, 0, 1}, {0, 1, 0}, 4, 8}, {{2, 3, 1}, {3, 2, 1}, {2, 1, 1}, {}, {}},
             {{1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 2, 6}})
    {
        SCOPED_TRACE(fmt::format("{} by {}, groups {}", show(c.size), show(c.stride), c.groups));
        Deconvolution layer;
        layer.nbOutputMaps = c.maps;
        layer.nbGroups = c.groups;
        layer.kernelSize = extentsAsDims(c.size);
        layer.stride = extentsAsDims(c.stride);
        layer.dilation = extentsAsDims(c.dilation);
        layer.prePadding = extentsAsDims(c.pre);
        layer.postPadding = extentsAsDims(c.post);
        std::vector<int64_t> kernel{12, c.maps / c.groups};
        kernel.insert(kernel.end(), c.size.begin(), c.size.end());
        std::vector<int64_t> image{2, 12};
        for (size_t axis = 3 - c.size.size(); axis < 3; ++axis)
            image.push_back(std::array<int64_t, 3>{4, 5, 9}[axis]);
        std::vector<Operand> operands{
            input(randomTensor(image)), weight(randomTensor(kernel)), weight(randomTensor({c.maps}))};
        expectKernels(layer, operands, "phases");
        layer.epilogue.steps = {{EpilogueKind::kSigmoid}};
        operands[2] = absent();
        expectKernels(layer, operands, "phases");
    }
}

TEST(CpuNormalization, aSinglePixelFarFromZero)
{
    Normalization const layer{.axes = 12};
    expectKernels(layer,
        {input(randomTensor({2, 20, 1, 1}, 900, 1000)), weight(randomTensor({1, 20, 1, 1}, 50, 60)),
            weight(randomTensor({1, 20, 1, 1}))},
        "rows", {.absolute = 1e-6});
}

} // namespace tenon::test
