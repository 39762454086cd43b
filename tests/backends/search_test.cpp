// Layers that look for elements, move them by index or make them, on the CPU against the reference.
#include "backends/kernel_case.h"
#include "layers/cumulative.h"
#include "layers/fill.h"
#include "layers/non_zero.h"
#include "layers/one_hot.h"
#include "layers/positions.h"
#include "layers/row_order.h"
#include "layers/scatter.h"
#include "layers/slice.h"
#include "layers/top_k.h"

#include <cmath>

namespace tenon::test
{

namespace
{
std::vector<DType> const kNumbers{DType::kFLOAT, DType::kINT32, DType::kINT64};

HostTensor integers(std::vector<int64_t> extents, std::vector<int64_t> values, DType type = DType::kINT64)
{
    HostTensor tensor{type, std::move(extents)};
    for (size_t i = 0; i < values.size(); ++i)
        tensor.setInteger(static_cast<int64_t>(i), values[i]);
    return tensor;
}

HostTensor reals(std::vector<int64_t> extents, std::vector<double> const& values)
{
    HostTensor tensor{DType::kFLOAT, std::move(extents)};
    for (size_t i = 0; i < values.size(); ++i)
        tensor.set(static_cast<int64_t>(i), values[i]);
    return tensor;
}
} // namespace

TEST(CpuTopK, countsAxesTypesAndTies)
{
    using Operation = nvinfer1::TopKOperation;
    for (DType const type : {DType::kFLOAT, DType::kINT8, DType::kINT32, DType::kINT64})
        for (Operation const operation : {Operation::kMAX, Operation::kMIN})
            for (uint32_t axis = 0; axis < 3; ++axis)
                for (int32_t const k : {0, 1, 2, 5})
                    for (DType const indices : {DType::kINT32, DType::kINT64})
                    {
                        SCOPED_TRACE(fmt::format("{} {} axis {} k {}", nameOf(type), nameOf(indices), axis, k));
                        // Few different values: equal elements keep their order.
                        expectKernels(TopK{operation, k, 1U << axis, indices},
                            {input(randomTensor({7, 5, 37}, 0.0, 6.0, type))}, "lanes");
                    }
    expectKernels(TopK{Operation::kMAX, 100, 2}, {input(randomTensor({3, 1000}))}, "lanes");
    expectKernels(TopK{Operation::kMAX, 3, 4}, {input(randomTensor({4, 6, 9})), weight(integers({}, {2}))}, "lanes");
}

TEST(CpuTopK, nanIsTheLargest)
{
    using Operation = nvinfer1::TopKOperation;
    HostTensor x = randomTensor({4, 40});
    for (size_t i = 0; i < 160; i += 9)
        x.reals[i] = i % 2 == 0 ? NAN : i % 3 == 0 ? INFINITY : -0.0;
    for (Operation const operation : {Operation::kMAX, Operation::kMIN})
        for (int32_t const k : {1, 7, 40})
            expectKernels(TopK{operation, k, 2}, {input(x)}, "lanes");
}

TEST(CpuCumulative, axesDirectionsAndTypes)
{
    for (DType const type : kNumbers)
        for (bool const exclusive : {false, true})
            for (bool const reverse : {false, true})
                for (int64_t const axis : {0, 1, -1})
                    expectKernels(Cumulative{nvinfer1::CumulativeOperation::kSUM, exclusive, reverse},
                        {input(randomTensor({5, 70, 67}, -9.0, 9.0, type)), weight(integers({}, {axis}))}, "lanes");
    expectKernels(Cumulative{}, {input(randomTensor({0, 3})), weight(integers({}, {0}, DType::kINT32))}, "lanes");
    // 2^31 and more wraps in int32.
    expectKernels(Cumulative{},
        {input(integers({3}, {INT32_MAX, INT32_MAX, 5}, DType::kINT32)), weight(integers({}, {0}))}, "lanes");
}

//! Whole lanes and parts of them, by one thread or many: of ones, whose sums float16 has up to 2048, and of integers
//! that wrap.
TEST(CpuCumulative, longLanes)
{
    for (std::vector<int64_t> const& extents :
        std::vector<std::vector<int64_t>>{{2, 20000, 1}, {1, 4096, 1}, {3, 5000, 2}, {300, 65, 1}, {9000, 3, 1}})
        for (bool const exclusive : {false, true})
            for (bool const reverse : {false, true})
            {
                SCOPED_TRACE(fmt::format("{} {} {}", show(extents), exclusive, reverse));
                Cumulative const layer{nvinfer1::CumulativeOperation::kSUM, exclusive, reverse};
                expectKernels(layer,
                    {input(randomTensor(extents, -9.0, 9.0, DType::kINT32)), weight(integers({}, {1}))}, "lanes");
                HostTensor few{DType::kFLOAT, extents};
                for (int64_t i = 0; i < few.count(); i += 11)
                    few.set(i, i % 2 == 0 ? 1.0 : 0.25);
                expectKernels(layer, {input(few), weight(integers({}, {1}))}, "lanes");
            }
    expectKernels(
        Cumulative{}, {input(randomTensor({30000}, -4e18, 4e18, DType::kINT64)), weight(integers({}, {0}))}, "lanes");
}

//! Elements in front of an infinity and of a NaN have sums without them.
TEST(CpuCumulative, whatIsNoNumberStaysBehind)
{
    HostTensor x{DType::kFLOAT, {2, 5000}};
    for (double& each : x.reals)
        each = 0.5;
    x.reals[2500] = INFINITY;
    x.reals[4000] = -INFINITY;
    x.reals[9000] = NAN;
    for (bool const exclusive : {false, true})
        for (bool const reverse : {false, true})
            expectKernels(Cumulative{nvinfer1::CumulativeOperation::kSUM, exclusive, reverse},
                {input(x), weight(integers({}, {1}))}, "lanes");
}

TEST(CpuRowOrder, typesAndWidths)
{
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kUINT8,
             DType::kINT32, DType::kINT64, DType::kBOOL})
        for (int64_t const columns : {0, 1, 2, 3, 8, 9, 17, 70})
            for (int64_t const rows : {1, 2, 40, 700})
            {
                SCOPED_TRACE(fmt::format("{} [{}, {}]", nameOf(type), rows, columns));
                double const low = type == DType::kUINT8 || type == DType::kBOOL ? 0.0 : -2.0;
                expectKernels(
                    RowOrder{}, {input(randomTensor({rows, columns}, low, 2.0, type))}, "words", {}, Types::kFloatOnly);
            }
}

TEST(CpuRowOrder, rowsThatAreEqualUpToSomeColumn)
{
    for (DType const type : {DType::kFLOAT, DType::kINT8, DType::kINT64})
        for (int64_t const shared : {1, 7, 16, 63, 64, 65, 99})
        {
            SCOPED_TRACE(fmt::format("{} {}", nameOf(type), shared));
            HostTensor const many = randomTensor({300, 100}, -5.0, 5.0, type);
            HostTensor rows{type, {300, 100}};
            for (int64_t i = 0; i < rows.count(); ++i) // Three kinds of rows up to the column.
                copyElement(rows, i, many, i % 100 < shared ? i / 100 % 3 * 100 + i % 100 : i);
            expectKernels(RowOrder{}, {input(rows)}, "words", {}, Types::kFloatOnly);
        }
}

TEST(CpuRowOrder, nansAndZerosOfBothSigns)
{
    double const few[]{NAN, -0.0, 0.0, 1.0, INFINITY, -INFINITY, -1.0};
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64})
        for (int64_t const columns : {1, 2, 5, 40})
        {
            HostTensor x{type, {500, columns}};
            std::mt19937 random{7};
            for (double& each : x.reals)
                each = few[random() % 7];
            expectKernels(RowOrder{}, {input(x)}, "words", {}, Types::kFloatOnly);
            for (double& each : x.reals)
                each = random() % 9 == 0 ? each : 0.0;
            expectKernels(RowOrder{}, {input(x)}, "words", {}, Types::kFloatOnly);
        }
}

TEST(CpuRowOrder, wholeNumbersFromEndToEnd)
{
    auto const check = [](DType type, int64_t least, int64_t most) {
        HostTensor x{type, {400, 2}};
        std::mt19937_64 random{11};
        int64_t const few[]{least, least + 1, -1, 0, 1, most - 1, most};
        for (int64_t i = 0; i < x.count(); ++i)
            x.setInteger(i, few[random() % 7]);
        expectKernels(RowOrder{}, {input(x)}, "words", {}, Types::kFloatOnly);
    };
    check(DType::kINT8, INT8_MIN, INT8_MAX);
    check(DType::kINT32, INT32_MIN, INT32_MAX);
    check(DType::kINT64, INT64_MIN, INT64_MAX);
}

TEST(CpuNonZero, typesAndRanks)
{
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kINT8, DType::kUINT8, DType::kINT32,
             DType::kINT64, DType::kBOOL})
        for (DType const indices : {DType::kINT32, DType::kINT64})
        {
            SCOPED_TRACE(nameOf(type));
            HostTensor x = randomTensor({3, 7, 11}, 0.0, 2.0, type);
            for (int64_t i = 0; i < x.count(); i += 3)
                x.set(i, i % 2 == 0 ? 0.0 : -0.0);
            expectKernels(NonZero{indices}, {input(x)}, "passes");
        }
    expectKernels(NonZero{}, {input(reals({5}, {NAN, -0.0, 1e-45, -INFINITY, 0.0}))}, "passes");
    expectKernels(NonZero{}, {input(reals({3}, {0.0, 0.0, -0.0}))}, "passes");
    expectKernels(NonZero{}, {input(reals({}, {2.5}))}, "passes");
}

TEST(CpuScatter, elementsAndPositions)
{
    using Mode = nvinfer1::ScatterMode;
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kINT8, DType::kINT64, DType::kBOOL})
        for (DType const indices : {DType::kINT32, DType::kINT64})
        {
            SCOPED_TRACE(nameOf(type));
            HostTensor const data = randomTensor({4, 6, 5}, 0.0, 9.0, type);
            for (int32_t axis = 0; axis < 3; ++axis) // Positions come twice: the last update counts.
                expectKernels(Scatter{Mode::kELEMENT, axis},
                    {input(data), input(randomTensor({3, 4, 5}, -4.0, 4.0, indices)),
                        input(randomTensor({3, 4, 5}, 0.0, 9.0, type))},
                    "rows");
            expectKernels(Scatter{Mode::kND},
                {input(data), input(randomTensor({7, 2}, -4.0, 4.0, indices)),
                    input(randomTensor({7, 5}, 0.0, 9.0, type))},
                "rows");
            expectKernels(Scatter{Mode::kND},
                {input(data), input(randomTensor({2, 3, 3}, -4.0, 4.0, indices)),
                    input(randomTensor({2, 3}, 0.0, 9.0, type))},
                "rows");
        }
    // Rows of several packs, their number even and odd, one row alone, and none.
    for (int64_t const width : {1, 4, 7, 24})
        for (int64_t const rows : {0, 1, 9})
            expectKernels(Scatter{Mode::kND},
                {input(randomTensor({5, 3, width})), input(randomTensor({rows, 2}, -3.0, 3.0, DType::kINT32)),
                    input(randomTensor({rows, width}))},
                "rows");
    expectKernels(Scatter{Mode::kELEMENT, 1},
        {input(randomTensor({300, 70})), input(randomTensor({300, 9}, -70.0, 69.0, DType::kINT32)),
            input(randomTensor({300, 9}))},
        "rows");
}

TEST(CpuOneHot, axesTypesAndIndicesOutOfRange)
{
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kINT8, DType::kINT64})
        for (DType const indices : {DType::kINT32, DType::kINT64})
            for (int32_t const axis : {0, 1, -1})
            {
                SCOPED_TRACE(fmt::format("{} {} axis {}", nameOf(type), nameOf(indices), axis));
                expectKernels(OneHot{axis},
                    {input(randomTensor({3, 17}, -12.0, 12.0, indices)), input(randomTensor({2}, 0.0, 9.0, type)),
                        weight(integers({}, {9}))},
                    "rows");
            }
    expectKernels(OneHot{},
        {input(randomTensor({2, 8}, -3.0, 3.0, DType::kINT32)), input(randomTensor({2}, 0.0, 9.0)),
            weight(integers({}, {16}))},
        "rows");
}

TEST(CpuFill, rangesByFieldsAndByInputs)
{
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kBF16, DType::kINT32, DType::kINT64})
    {
        SCOPED_TRACE(nameOf(type));
        Fill fields{.dimensions = {1, {300}}, .alpha = -3.0, .beta = 2.0, .toType = type};
        expectKernels(fields, {}, "rows");
        Fill whole{.dimensions = {1, {70}}, .alphaInt64 = -7, .betaInt64 = 3, .alphaBetaInt64 = true, .toType = type};
        expectKernels(whole, {}, "rows");
        Fill plain{.dimensions = {3, {4, 5, 33}}, .toType = type};
        expectKernels(plain,
            {absent(), input(randomTensor({}, -9.0, 9.0, type)), input(randomTensor({3}, -9.0, 9.0, type))}, "rows", {},
            Types::kFloatOnly);
        expectKernels(plain,
            {weight(integers({2}, {6, 50})), input(randomTensor({}, -9.0, 9.0, type)),
                input(randomTensor({2}, -9.0, 9.0, type))},
            "rows", {}, Types::kFloatOnly);
        Fill scalar{.dimensions = {0, {}}, .toType = type};
        expectKernels(scalar, {absent(), input(randomTensor({}, 1.0, 9.0, type)), input(HostTensor{type, {0}})}, "rows",
            {}, Types::kFloatOnly);
    }
    Fill fractions{.dimensions = {1, {1000}}, .alpha = 0.1, .beta = -0.37, .toType = DType::kINT32};
    expectKernels(fractions, {}, "rows");
}

TEST(CpuSlice, modesThatReadBeyondTheInput)
{
    using nvinfer1::SampleMode;
    for (DType const type : {DType::kFLOAT, DType::kHALF, DType::kINT8, DType::kINT64})
        for (SampleMode const mode : {SampleMode::kWRAP, SampleMode::kCLAMP, SampleMode::kFILL, SampleMode::kREFLECT,
                 SampleMode::kSTRICT_BOUNDS})
        {
            SCOPED_TRACE(fmt::format("{} {}", nameOf(type), static_cast<int32_t>(mode)));
            bool const isInside = mode == SampleMode::kSTRICT_BOUNDS;
            Slice slice;
            slice.start = isInside ? nvinfer1::Dims{3, {1, 0, 5}} : nvinfer1::Dims{3, {-3, 0, 12}};
            slice.size = isInside ? nvinfer1::Dims{3, {2, 5, 3}} : nvinfer1::Dims{3, {11, 5, 21}};
            slice.stride = isInside ? nvinfer1::Dims{3, {1, 1, -2}} : nvinfer1::Dims{3, {1, 1, -2}};
            slice.mode = mode;
            std::string const candidate = isInside ? "copy" : "sampled";
            expectKernels(slice, {input(randomTensor({4, 5, 7}, 0.0, 9.0, type))}, candidate);
            if (mode == SampleMode::kFILL)
                expectKernels(slice,
                    {input(randomTensor({4, 5, 7}, 0.0, 9.0, type)), absent(), absent(), absent(),
                        input(randomTensor({}, 1.0, 9.0, type))},
                    candidate);
        }
}

} // namespace tenon::test
