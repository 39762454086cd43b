// Grid sampling, padding, local responses, ragged softmax, box suppression, determinants, remainders and
// bits on the CPU against the reference.
#include "backends/kernel_case.h"
#include "layers/bit_cast.h"
#include "layers/box_selection.h"
#include "layers/concatenation.h"
#include "layers/deformable_attention.h"
#include "layers/determinant.h"
#include "layers/grid_sample.h"
#include "layers/lrn.h"
#include "layers/nms.h"
#include "layers/padding.h"
#include "layers/ragged_soft_max.h"
#include "layers/remainder.h"

#include <cmath>

namespace tenon::test
{

namespace
{
HostTensor lengths(std::vector<int64_t> extents, std::vector<int64_t> const& values, DType type)
{
    HostTensor tensor{type, std::move(extents)};
    for (size_t i = 0; i < values.size(); ++i)
        tensor.setInteger(static_cast<int64_t>(i), values[i]);
    return tensor;
}
} // namespace

TEST(CpuGridSample, modesEdgesAndCorners)
{
    using nvinfer1::InterpolationMode;
    using nvinfer1::SampleMode;
    for (InterpolationMode const mode :
        {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
        for (SampleMode const edge : {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT})
            for (bool const corners : {false, true})
            {
                SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(mode), static_cast<int>(edge), corners));
                GridSample const layer{mode, corners, edge};
                expectKernels(layer,
                    {input(randomTensor({2, 19, 5, 7})), input(randomTensor({2, 9, 11, 2}, -2.5, 2.5))}, "points");
                expectKernels(layer,
                    {input(randomTensor({1, 3, 4, 3, 5})), input(randomTensor({1, 3, 4, 2, 3}, -1.5, 1.5))}, "points");
            }
}

//! A weight of 0 reads nothing: an infinity beside the point does not turn into a NaN.
TEST(CpuGridSample, whatIsNotReadDoesNotMatter)
{
    HostTensor image{DType::kFLOAT, {1, 17, 2, 3}};
    for (size_t i = 0; i < image.reals.size(); ++i)
        image.reals[i] = i % 2 == 0 ? INFINITY : 1.0;
    HostTensor grid{DType::kFLOAT, {1, 2, 2, 2}};
    grid.reals = {-1, -1, 1, 1, 0, -1, 5, 5};
    expectKernels(GridSample{.alignCorners = true}, {input(image), input(grid)}, "points");
}

//! Blocks of points, the last one cut; NaN and positions that 32 bits do not hold are outside.
TEST(CpuGridSample, manyAndFarPoints)
{
    using nvinfer1::SampleMode;
    HostTensor grid = randomTensor({1, 21, 31, 2}, -1.3, 1.3);
    grid.reals[0] = NAN;
    grid.reals[7] = INFINITY;
    grid.reals[8] = -INFINITY;
    grid.reals[11] = 3e38;
    grid.reals[12] = -1e12;
    for (SampleMode const edge : {SampleMode::kFILL, SampleMode::kCLAMP})
        for (auto const mode : {nvinfer1::InterpolationMode::kNEAREST, nvinfer1::InterpolationMode::kLINEAR})
            expectKernels(GridSample{mode, false, edge}, {input(randomTensor({1, 5, 33, 65})), input(grid)}, "points");
}

TEST(CpuPadding, addsAndCrops)
{
    for (DType const type : {DType::kFLOAT, DType::kINT8, DType::kINT64, DType::kBOOL})
        for (auto const& [pre, post] :
            std::vector<std::pair<nvinfer1::Dims, nvinfer1::Dims>>{{{2, {1, 2}}, {2, {3, 0}}},
                {{2, {0, -2}}, {2, {2, 5}}}, {{2, {-1, 0}}, {2, {-2, -1}}}, {{2, {9, 0}}, {2, {-7, 0}}}})
        {
            expectKernels(Padding{pre, post}, {input(randomTensor({2, 19, 6, 7}, 0, 2, type))}, "sampled");
            expectKernels(Padding{pre, post}, {input(randomTensor({6, 7}, 0, 2, type))}, "sampled");
        }
}

TEST(CpuLRN, windowsPowersAndLayouts)
{
    for (int64_t const window : {1, 3, 5, 63})
        for (float const beta : {0.75F, 0.5F, 1.3F})
        {
            LRN const layer{window, 0.7F, beta, 1.5F};
            expectKernels(layer, {input(randomTensor({2, 37, 5, 7}, -3.0, 3.0))}, "rows");
            expectKernels(layer, {input(randomTensor({3, 16, 33}, -3.0, 3.0))}, "rows");
            expectKernels(layer, {input(randomTensor({5, 21}, -3.0, 3.0))}, "rows");
        }
}

TEST(CpuRaggedSoftMax, everyLengthOfARow)
{
    for (DType const type : {DType::kINT32, DType::kINT64})
        expectKernels(RaggedSoftMax{},
            {input(randomTensor({2, 3, 37}, -4.0, 4.0)), input(lengths({2, 3, 1}, {37, 0, 1, 16, -3, 99}, type))},
            "rows");
}

TEST(CpuRaggedSoftMax, rowsOfNoElements)
{
    for (std::vector<int64_t> const& extents : {std::vector<int64_t>{2, 3, 0}, {0, 3, 4}})
    {
        std::vector<int64_t> bounds = extents;
        bounds.back() = 1;
        std::vector<int64_t> const values(static_cast<size_t>(bounds[0] * bounds[1]), 1);
        expectKernels(
            RaggedSoftMax{}, {input(randomTensor(extents)), input(lengths(bounds, values, DType::kINT32))}, "rows");
    }
}

//! So many boxes that whole vectors of those kept are compared, and some at their end.
TEST(CpuNMS, manyAreKept)
{
    for (int64_t const count : {31, 97, 255, 256, 257, 333, 700})
        for (int64_t const classes : {1, 3})
            expectKernels(NMS{},
                {input(randomTensor({1, count, 4}, 0.0, 30.0)), input(randomTensor({1, count, classes}, 0.0, 1.0)),
                    weight(lengths({}, {static_cast<int32_t>(count)}, DType::kINT32)),
                    input(randomTensor({}, 0.3, 0.5)), input(randomTensor({}, 0.0, 0.1))},
                "greedy", {}, Types::kFloatOnly);
}
//! Classes that are full long before the last pair, and thresholds that hide all pairs of a class or none.
TEST(CpuNMS, fullClassesAndThresholds)
{
    for (auto const& [most, overlap] : {std::pair{90, 0.4}, {200, 0.9}, {3, -1.0}, {700, 1.0}})
        expectKernels(NMS{},
            {input(randomTensor({2, 700, 4}, 0.0, 60.0)), input(randomTensor({2, 700, 2}, 0.0, 1.0)),
                weight(lengths({}, {most}, DType::kINT32)), input(randomTensor({}, overlap, overlap + 1e-3))},
            "greedy", {}, Types::kFloatOnly);
}
TEST(CpuNMS, formatsLimitsAndClasses)
{
    using nvinfer1::BoundingBoxFormat;
    for (BoundingBoxFormat const format : {BoundingBoxFormat::kCORNER_PAIRS, BoundingBoxFormat::kCENTER_SIZES})
        for (bool const perClass : {false, true})
            for (int32_t const limit : {5000, 17})
                for (DType const type : {DType::kINT32, DType::kINT64})
                {
                    std::vector<int64_t> const boxes =
                        perClass ? std::vector<int64_t>{2, 60, 4, 4} : std::vector<int64_t>{2, 60, 4};
                    expectKernels(NMS{format, limit, type},
                        {input(randomTensor(boxes, 0.0, 3.0)), input(randomTensor({2, 60, 4}, 0.0, 1.0)),
                            weight(lengths({}, {7}, DType::kINT32)), input(randomTensor({}, 0.2, 0.3)),
                            input(randomTensor({}, 0.3, 0.4))},
                        "greedy", {}, Types::kFloatOnly);
                }
    expectKernels(NMS{},
        {input(randomTensor({1, 9, 4})), input(randomTensor({1, 9, 1})), input(lengths({}, {3}, DType::kINT32))},
        "greedy", {}, Types::kFloatOnly);
}

TEST(CpuBoxSelection, rulesLimitsAndAnchors)
{
    for (BoxRule const rule : {BoxRule::kTogether, BoxRule::kByClass})
        for (int64_t const candidates : {5000, 17}) // Of more than that, the best are taken by digits.
            for (int64_t const boxClasses : {1, 5})
            {
                BoxSelection layer{.rule = rule,
                    .scoreThreshold = 0.2F,
                    .overlapThreshold = 0.3F,
                    .candidates = candidates,
                    .most = 40,
                    .background = 2,
                    .emptyClass = -1};
                std::vector<Operand> inputs{
                    input(randomTensor({2, 90, boxClasses, 4}, 0.0, 3.0)), input(randomTensor({2, 90, 5}, 0.0, 1.0))};
                expectKernels(layer, inputs, "greedy", {}, Types::kFloatOnly);
                layer.mostOfClass = rule == BoxRule::kTogether ? 3 : 0;
                layer.form = BoxForm::kCentre;
                layer.isAgnostic = layer.clips = layer.arePixels = layer.haveOneInCommon = true;
                for (int64_t const images : {1, 2})
                {
                    std::vector<Operand> more = inputs;
                    more.push_back(input(randomTensor({images, 90, 4}, 0.1, 0.9)));
                    expectKernels(layer, more, "greedy", {}, Types::kFloatOnly);
                }
            }
    expectKernels(BoxSelection{.scoreThreshold = 2.0F, .most = 3},
        {input(randomTensor({2, 7, 1, 4})), input(randomTensor({2, 7, 2}))}, "greedy", {}, Types::kFloatOnly);
    expectKernels(BoxSelection{.most = 3}, {input(randomTensor({2, 0, 1, 4})), input(randomTensor({2, 0, 2}))},
        "greedy", {}, Types::kFloatOnly);
}

TEST(CpuDeformableAttention, columnsAndPoints)
{
    for (int64_t const columns : {1, 5, 8, 32})
        for (int64_t const points : {0, 1, 4})
        {
            HostTensor maps{DType::kINT32, {3, 2}};
            HostTensor starts{DType::kINT32, {3}};
            int64_t rows{0};
            for (int64_t level = 0; level < 3; ++level)
            {
                maps.setInteger(2 * level, 4 - level);
                maps.setInteger(2 * level + 1, 1 + 3 * level);
                starts.setInteger(level, rows);
                rows += (4 - level) * (1 + 3 * level);
            }
            expectKernels(DeformableAttention{},
                {input(randomTensor({2, rows, 3, columns})), input(maps), input(starts),
                    input(randomTensor({2, 6, 3, 3, points, 2}, -0.2, 1.2)), input(randomTensor({2, 6, 3, 3, points}))},
                "points");
        }
}

//! Constants lie row-major beside inputs of any layout.
TEST(CpuConcatenation, constantsAmongTheParts)
{
    for (int32_t axis = 0; axis < 3; ++axis)
    {
        std::vector<int64_t> extents{2, 5, 3};
        extents[static_cast<size_t>(axis)] = 4;
        expectKernels(Concatenation{.axis = axis},
            {input(randomTensor({2, 5, 3})), weight(randomTensor(extents)), input(randomTensor({2, 5, 3}))}, "copy");
    }
}

namespace
{
//! Square matrices whose determinants are neither large nor small: their squares are size! times those of an element
//! on average.
HostTensor randomMatrices(std::vector<int64_t> extents)
{
    auto const size = static_cast<double>(extents.back());
    double const deviation = size == 0.0 ? 1.0 : std::exp(-std::lgamma(size + 1.0) / (2.0 * size));
    return randomTensor(std::move(extents), -std::sqrt(3.0) * deviation, std::sqrt(3.0) * deviation);
}
} // namespace

TEST(CpuDeterminant, sizesAndBatches)
{
    for (int64_t const size : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 40, 64, 70, 97})
    {
        SCOPED_TRACE(size);
        expectKernels(Determinant{}, {input(randomMatrices({size, size}))}, "factors");
        expectKernels(Determinant{}, {input(randomMatrices({3, 2, size, size}))}, "factors");
    }
    expectKernels(Determinant{}, {input(randomTensor({5000, 3, 3}))}, "factors");
    expectKernels(Determinant{}, {input(randomTensor({0, 3, 3}))}, "factors");
}

//! Large ones, whose columns are made factors in blocks: of rows that depend on others, where pivots of 0 end a block.
TEST(CpuDeterminant, columnsOfZerosInAllPlaces)
{
    for (int64_t const size : {33, 50, 68})
        for (int64_t zero = 0; zero < size; zero += 5)
        {
            SCOPED_TRACE(fmt::format("column {} of {}", zero, size));
            HostTensor x = randomMatrices({2, size, size});
            for (int64_t i = 0; i < size; ++i)
            {
                x.set(i * size + zero, 0.0);
                x.set(size * size + i * size + zero, i < zero ? 1.0 : 0.0);
            }
            x.set(size * size * 2 - 1, static_cast<double>(NAN)); // Behind all others of the second matrix.
            expectKernels(Determinant{}, {input(x)}, "factors");
        }
}

TEST(CpuDeterminant, rowsThatMustChangePlaces)
{
    for (int64_t const size : {2, 5, 6, 12, 50, 75})
    {
        HostTensor turned{DType::kFLOAT, {2, size, size}}; // One from corner to corner, one with a zero in front.
        for (int64_t i = 0; i < size; ++i)
        {
            turned.set(i * size + size - 1 - i, static_cast<double>(i + 1) / 4.0);
            for (int64_t j = 0; j < size; ++j)
                turned.set(size * size + i * size + j, i == j ? 0.0 : 1.0);
        }
        expectKernels(Determinant{}, {input(turned)}, "factors");
    }
}

//! Of a singular matrix 0, unless an element is no number; none gets lost behind a column of zeros.
TEST(CpuDeterminant, zerosAndWhatIsNoNumber)
{
    for (int64_t const size : {1, 2, 4, 7, 36, 67})
        for (double const strange : {0.0, static_cast<double>(NAN), HUGE_VAL, -HUGE_VAL})
            for (int64_t at = 0; at < size * size; at += size < 8 ? size + 2 : 7 * size + 11)
            {
                SCOPED_TRACE(fmt::format("{} of {} is {}", at, size, strange));
                HostTensor x = randomTensor({2, size, size});
                for (int64_t i = 0; i < size; ++i)
                    x.set(size * size + i * size, 0.0);
                x.set(at, strange);
                x.set(size * size + at, strange);
                expectKernels(Determinant{}, {input(x)}, "factors");
            }
}

//! Pivots whose product leaves the range of floats on the way, and comes back.
TEST(CpuDeterminant, productsBetweenTheEndsOfFloats)
{
    HostTensor x{DType::kFLOAT, {40, 40}};
    for (int64_t i = 0; i < 40; ++i)
        x.set(i * 41, i < 20 ? 1e7 : 1e-7);
    expectKernels(Determinant{}, {input(x)}, "factors", {}, Types::kFloatOnly);
}

TEST(CpuRemainder, signsAndWhatHasNone)
{
    double const few[]{0.0, -0.0, 1.0, -1.0, 7.25, -7.25, 0.125, INFINITY, -INFINITY, NAN};
    HostTensor a{DType::kFLOAT, {10, 10}};
    HostTensor b{DType::kFLOAT, {10, 10}};
    for (int64_t i = 0; i < 100; ++i)
    {
        a.set(i, few[i / 10]);
        b.set(i, few[i % 10]);
    }
    for (bool const isFloored : {false, true})
    {
        expectKernels(Remainder{isFloored}, {input(a), input(b)}, "elements", {0.0, 0.0});
        expectKernels(Remainder{isFloored}, {input(randomTensor({3, 777}, -1e5, 1e5)), input(randomTensor({3, 777}))},
            "elements", {0.0, 0.0});
    }
}

TEST(CpuBitCast, typesOfOneWidth)
{
    std::vector<std::vector<DType>> const widths{{DType::kINT8, DType::kUINT8}, {DType::kHALF, DType::kBF16},
        {DType::kFLOAT, DType::kINT32}, {kFloat64, DType::kINT64}};
    for (std::vector<DType> const& types : widths)
        for (DType const from : types)
            for (DType const to : types)
            {
                SCOPED_TRACE(fmt::format("{} as {}", nameOf(from), nameOf(to)));
                double const low = from == DType::kUINT8 ? 0.0 : -100.0;
                expectKernels(BitCast{to}, {input(randomTensor({5, 1000}, low, 100.0, from))}, "bytes", {0.0, 0.0},
                    Types::kFloatOnly);
            }
}

} // namespace tenon::test
