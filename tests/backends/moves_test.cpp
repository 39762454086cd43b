// Gather, transposes, resize and pooling against the reference: every mode, type and layout that kernels take.
#include "backends/dims.h"
#include "backends/kernel_case.h"
#include "layers/gather.h"
#include "layers/pooling.h"
#include "layers/resize.h"
#include "layers/reverse_sequence.h"
#include "layers/shuffle.h"

namespace tenon::test
{

namespace
{
//! Some from the end and, where `areAllInside` is false, some out of bounds.
HostTensor positionsIn(std::vector<int64_t> extents, int64_t extent, DType type, bool areAllInside = false)
{
    HostTensor tensor{type, std::move(extents)};
    HostTensor const random = randomTensor(tensor.extents, areAllInside ? 0.0 : -1.2, areAllInside ? 0.999 : 1.2);
    for (int64_t i = 0; i < tensor.count(); ++i)
        tensor.setInteger(i, static_cast<int64_t>(random.real(i) * static_cast<double>(extent)));
    return tensor;
}
} // namespace

TEST(Gathers, slicesOfEveryAxis)
{
    using nvinfer1::GatherMode;
    for (DType const type : {DType::kFLOAT, DType::kINT8, DType::kINT64, DType::kBOOL})
        for (DType const index : {DType::kINT32, DType::kINT64})
            for (int32_t const axis : {0, 1, 2})
            {
                HostTensor const data = randomTensor({5, 7, 16}, 0.0, 90.0, type);
                int64_t const extent = data.extents[static_cast<size_t>(axis)];
                expectKernels(Gather{axis, 0, GatherMode::kDEFAULT},
                    {input(data), input(positionsIn({3, 4}, extent, index))}, "rows");
                expectKernels(Gather{axis, 0, GatherMode::kDEFAULT},
                    {weight(data), input(positionsIn({}, extent, index))}, "rows");
            }
    expectKernels(Gather{1, 1, GatherMode::kDEFAULT},
        {input(randomTensor({3, 9, 5})), input(positionsIn({3, 6}, 9, DType::kINT32))}, "rows");
}

TEST(Gathers, elementsAndPositions)
{
    using nvinfer1::GatherMode;
    for (DType const type : {DType::kFLOAT, DType::kINT32})
    {
        expectKernels(Gather{1, 0, GatherMode::kELEMENT},
            {input(randomTensor({5, 7, 6}, -9.0, 9.0, type)), input(positionsIn({4, 11, 6}, 7, DType::kINT64))},
            "rows");
        expectKernels(Gather{0, 0, GatherMode::kND},
            {input(randomTensor({5, 5, 8}, -9.0, 9.0, type)), input(positionsIn({3, 4, 2}, 5, DType::kINT32))}, "rows");
        expectKernels(Gather{0, 1, GatherMode::kND},
            {input(randomTensor({3, 6, 6, 3}, -9.0, 9.0, type)), input(positionsIn({3, 5, 2}, 6, DType::kINT64))},
            "rows");
    }
}

//! Along every axis, of every element size; indices of fewer positions than data has, and of one on most axes.
TEST(Gathers, elementsOfEveryAxis)
{
    using nvinfer1::GatherMode;
    std::vector<int64_t> const extents{3, 5, 1, 9};
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBOOL, DType::kINT64})
        for (int32_t const axis : {0, 1, 2, 3})
            for (std::vector<int64_t> const& indices : std::vector<std::vector<int64_t>>{
                     {3, 5, 1, 9}, {2, 5, 1, 9}, {3, 4, 1, 7}, {1, 1, 1, 8}, {3, 1, 1, 1}, {1, 1, 1, 1}})
            {
                SCOPED_TRACE(fmt::format("{} along {}, {}", nameOf(type), axis, fmt::join(indices, "x")));
                std::vector<int64_t> along = indices;
                along[static_cast<size_t>(axis)] = 11;
                HostTensor const data = randomTensor(extents, 0.0, 9.0, type);
                int64_t const extent = extents[static_cast<size_t>(axis)];
                for (DType const index : {DType::kINT32, DType::kINT64})
                    expectKernels(Gather{axis, 0, GatherMode::kELEMENT},
                        {input(data), input(positionsIn(along, extent, index))}, "rows");
            }
    expectKernels(Gather{0, 0, GatherMode::kELEMENT},
        {input(randomTensor({40, 99})), input(positionsIn({70, 99}, 40, DType::kINT64))}, "rows");
}

//! Of every element size, within and beyond the tiles in which devices turn matrices.
TEST(Transposes, matricesAndMoreAxes)
{
    struct Case
    {
        std::vector<int64_t> extents;
        std::vector<int32_t> order;
    };
    for (DType const type : {DType::kFLOAT, DType::kINT8, DType::kINT64})
        for (Case const& each : std::vector<Case>{{{3, 40, 70}, {0, 2, 1}}, {{33, 5, 64}, {2, 1, 0}},
                 {{2, 8, 9, 16}, {0, 2, 1, 3}}, {{2, 9, 8, 33}, {0, 3, 1, 2}}, {{64, 3}, {1, 0}}})
        {
            Shuffle layer;
            for (size_t i = 0; i < each.order.size(); ++i)
                layer.firstTranspose[i] = each.order[i];
            expectKernels(layer, {input(randomTensor(each.extents, -99.0, 99.0, type))}, "copy");
        }
}

TEST(Resizes, modesAndTransformations)
{
    using nvinfer1::InterpolationMode;
    using Transformation = nvinfer1::ResizeCoordinateTransformation;
    for (InterpolationMode const mode :
        {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
        for (Transformation const transformation :
            {Transformation::kALIGN_CORNERS, Transformation::kASYMMETRIC, Transformation::kHALF_PIXEL})
            for (std::vector<int64_t> const& extents :
                std::vector<std::vector<int64_t>>{{2, 16, 9, 11}, {2, 16, 3, 4}, {2, 5, 6, 14}})
            {
                SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(mode), static_cast<int>(transformation)));
                Resize layer;
                layer.outputDimensions = extentsAsDims(extents);
                layer.resizeMode = mode;
                layer.coordinateTransformation = transformation;
                expectKernels(layer, {input(randomTensor({2, extents[1], 6, 7}))}, "spatial", {1e-5, 1e-4});
            }
}

TEST(Resizes, scalesTypesAndRanks)
{
    std::string const kernel = backendUnderTest().name == "cpu" ? "axes" : "spatial";
    Resize layer;
    layer.scales = {1.0F, 1.0F, 2.0F, 1.5F};
    for (DType const type : {DType::kINT8, DType::kINT32, DType::kINT64, DType::kBOOL})
        expectKernels(layer, {input(randomTensor({1, 3, 5, 6}, 0.0, 99.0, type))}, kernel);
    layer.scales = {1.0F, 1.0F, 1.1F};
    layer.resizeMode = nvinfer1::InterpolationMode::kLINEAR;
    expectKernels(layer, {input(randomTensor({2, 4, 3}))}, kernel);
    layer.scales = {1.0F, 1.0F, 2.0F, 0.5F, 3.0F};
    layer.resizeMode = nvinfer1::InterpolationMode::kCUBIC;
    layer.excludeOutside = true;
    expectKernels(layer, {input(randomTensor({1, 8, 3, 6, 4}))}, kernel);
}

//! A tap whose weight is 0 is not read, neither by rows nor by columns.
TEST(Resizes, infiniteElementsBesideThePoint)
{
    if (backendUnderTest().name != "cpu")
        GTEST_SKIP() << "of the CPU's kernels";
    for (auto const mode : {nvinfer1::InterpolationMode::kLINEAR, nvinfer1::InterpolationMode::kCUBIC})
        for (std::vector<int64_t> const& extents :
            std::vector<std::vector<int64_t>>{{1, 20, 6, 4}, {20, 6}, {6, 4, 20}})
        {
            HostTensor x = randomTensor(extents);
            for (int64_t i = 0; i < x.count(); i += 7)
                x.set(i, i % 2 == 0 ? INFINITY : -INFINITY);
            Resize layer;
            layer.resizeMode = mode;
            layer.scales.assign(extents.size(), 0.5F);
            std::fill_n(layer.scales.begin(), extents.size() - 2, 1.0F);
            expectKernels(layer, {input(x)}, extents.size() == 4 ? "spatial" : "axes");
        }
}

//! Axes in front, behind and between the resized ones stay; by vectors of channels and without.
TEST(Resizes, anyAxes)
{
    if (backendUnderTest().name != "cpu")
        GTEST_SKIP() << "of the CPU's kernel";
    using nvinfer1::InterpolationMode;
    for (InterpolationMode const mode :
        {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
        for (auto const& [in, out] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{{{7}, {12}},
                 {{3, 5}, {3, 9}}, {{4, 33}, {6, 33}}, {{2, 3, 4, 5}, {3, 5, 4, 5}}, {{2, 3, 4, 5}, {2, 5, 4, 3}},
                 {{2, 2, 3, 4, 5, 2}, {2, 2, 6, 2, 10, 2}}, {{3, 4}, {3, 4}}})
        {
            SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(mode), show(in), show(out)));
            Resize layer;
            layer.outputDimensions = extentsAsDims(out);
            layer.resizeMode = mode;
            layer.coordinateTransformation = nvinfer1::ResizeCoordinateTransformation::kHALF_PIXEL;
            expectKernels(layer, {input(randomTensor(in))}, "axes", {1e-5, 1e-4});
        }
    Resize whole;
    whole.scales = {1.0F, 2.5F, 0.5F};
    for (DType const type : {DType::kUINT8, kFloat64})
        expectKernels(whole, {input(randomTensor({3, 4, 6}, 0.0, 99.0, type))}, "axes");
}

TEST(Poolings, windowsStridesAndPadding)
{
    using nvinfer1::PoolingType;
    for (PoolingType const type : {PoolingType::kMAX, PoolingType::kAVERAGE})
        for (bool const excludes : {false, true})
            for (int64_t const channels : {5, 16})
            {
                Pooling layer;
                layer.poolingType = type;
                layer.windowSize = extentsAsDims({3, 2});
                layer.stride = extentsAsDims({2, 1});
                layer.prePadding = extentsAsDims({1, 0});
                layer.postPadding = extentsAsDims({1, 1});
                layer.averageCountExcludesPadding = excludes;
                expectKernels(layer, {input(randomTensor({2, channels, 9, 11}))}, "channels-last");
            }
}

TEST(Poolings, volumes)
{
    using nvinfer1::PoolingType;
    for (PoolingType const type : {PoolingType::kMAX, PoolingType::kAVERAGE})
        for (bool const excludes : {false, true})
            for (int64_t const channels : {5, 16})
            {
                Pooling layer;
                layer.poolingType = type;
                layer.windowSize = extentsAsDims({2, 3, 2});
                layer.stride = extentsAsDims({1, 2, 2});
                layer.prePadding = extentsAsDims({1, 1, 0});
                layer.postPadding = extentsAsDims({0, 1, 1});
                layer.averageCountExcludesPadding = excludes;
                Types const types = type == PoolingType::kMAX ? Types::kAll : Types::kFloatOnly;
                expectKernels(layer, {input(randomTensor({2, channels, 4, 9, 7}))}, "planes", {}, types);
            }
}

TEST(ReverseSequences, axesTypesAndLengths)
{
    for (DType const type : {DType::kFLOAT, DType::kINT8, DType::kINT64, DType::kBOOL})
        for (DType const index : {DType::kINT32, DType::kINT64})
            for (auto const& [batch, sequence] : {std::pair{0, 1}, {1, 0}, {0, 3}, {3, 1}, {2, 0}})
            {
                HostTensor const x = randomTensor({3, 5, 2, 4}, 0.0, 90.0, type);
                HostTensor lengths{index, {x.extents[static_cast<size_t>(batch)]}};
                for (int64_t i = 0; i < lengths.count(); ++i)
                    lengths.setInteger(i, std::vector<int64_t>{2, 9, -1, 0, 3}[static_cast<size_t>(i)]);
                expectKernels(ReverseSequence{batch, sequence}, {input(x), input(lengths)}, "rows");
            }
    HostTensor lengths{DType::kINT32, {3}};
    lengths.integers = {4, 1, 7};
    for (int64_t const width : {1, 8, 20}) // Rows of whole packs, and others.
        expectKernels(ReverseSequence{0, 1}, {input(randomTensor({3, 6, width})), input(lengths)}, "rows");
}

} // namespace tenon::test
