// Int8 products on the CPU against the reference, at each instruction set.
#include "backends/kernel_case.h"
#include "layers/pooling.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;

struct Int8Form
{
    std::vector<int64_t> x;
    int64_t maps;
    std::vector<int64_t> kernel;
    int64_t groups{1};
    std::vector<int64_t> stride{};
    std::vector<int64_t> dilation{};
    std::vector<int64_t> pre{};
    std::vector<int64_t> post{};
};

nvinfer1::Dims int8Dims(std::vector<int64_t> const& values)
{
    nvinfer1::Dims dims{};
    dims.nbDims = static_cast<int32_t>(values.size());
    for (size_t i = 0; i < values.size(); ++i)
        dims.d[i] = values[i];
    return dims;
}

HostTensor int8Tensor(std::vector<int64_t> extents, double least = -128.49)
{
    return randomTensor(std::move(extents), least, 127.49, DType::kINT8);
}

QuantizedConvolution int8LayerOf(Int8Form const& form)
{
    QuantizedConvolution layer;
    layer.product.nbOutputMaps = form.maps;
    layer.product.kernelSize = int8Dims(form.kernel);
    layer.product.nbGroups = form.groups;
    layer.product.stride = int8Dims(form.stride);
    layer.product.dilation = int8Dims(form.dilation);
    layer.product.prePadding = int8Dims(form.pre);
    layer.product.postPadding = int8Dims(form.post);
    layer.inputScale = 0.02F;
    return layer;
}

std::vector<Operand> int8OperandsOf(
    Int8Form const& form, bool hasBias = true, bool isPerChannel = true, double least = -128.49)
{
    std::vector<int64_t> kernel{form.maps, form.x[1] / form.groups};
    kernel.insert(kernel.end(), form.kernel.begin(), form.kernel.end());
    return {input(int8Tensor(form.x, least)), weight(int8Tensor(kernel)),
        hasBias ? weight(randomTensor({form.maps})) : absent(),
        weight(randomTensor(isPerChannel ? std::vector<int64_t>{form.maps} : std::vector<int64_t>{}, 0.001, 0.01))};
}

//! Sums are exact: what is stored as float32 differs by the rounding of scale and bias, int8 where that is on an edge.
constexpr Tolerance kReal{1e-4, 1e-5};
constexpr Tolerance kWhole{1.0, 0.0};

void expectInt8(Int8Form const& form, std::string_view candidate = "int8")
{
    SCOPED_TRACE(fmt::format("{} -> {} maps, kernel {}, groups {}", fmt::join(form.x, "x"), form.maps,
        fmt::join(form.kernel, "x"), form.groups));
    QuantizedConvolution layer = int8LayerOf(form);
    expectKernels(layer, int8OperandsOf(form, form.maps % 2 == 0), candidate, kReal, Types::kFloatOnly);
    // Rows without a negative element, as behind a ReLU, go another way.
    expectKernels(layer, int8OperandsOf(form, true, true, -0.49), candidate, kReal, Types::kFloatOnly);
    layer.outputScale = 0.5F;
    layer.product.epilogue.steps = {{EpilogueKind::kRelu}};
    expectKernels(layer, int8OperandsOf(form, true, form.maps % 3 != 0), candidate, kWhole, Types::kFloatOnly);
}
} // namespace

TEST(CpuInt8Convolution, windowsOfAllKinds)
{
    expectInt8({{2, 16, 9, 7}, 32, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}});
    expectInt8({{1, 64, 7, 7}, 70, {3, 3}, 1, {2, 2}, {}, {1, 1}, {1, 1}});
    expectInt8({{1, 20, 12, 11}, 24, {5, 3}, 1, {1, 2}, {2, 1}, {4, 0}, {4, 2}});
    expectInt8({{3, 8, 6, 6}, 8, {1, 1}});
    expectInt8({{3, 33, 6, 6}, 17, {1, 1}});
    expectInt8({{2, 12, 6, 6}, 16, {1, 1}, 1, {2, 2}});
    expectInt8({{1, 19, 20}, 18, {3}, 1, {}, {}, {1}, {1}});
    expectInt8({{1, 16, 1, 1}, 100, {1, 1}});
}

//! Tiles of two by two pixels, whole and cut, with and without margins.
TEST(CpuInt8Convolution, windowsOfThreeByThree)
{
    for (int64_t const channels : {16, 17, 40, 64})
        for (int64_t const maps : {16, 37, 64})
            for (int64_t const padding : {0, 1, 2})
                expectInt8({{2, channels, 7 + padding, 10}, maps, {3, 3}, 1, {}, {}, {padding, 1}, {padding, padding}});
    expectInt8({{3, 32, 30, 29}, 32, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}});
}

TEST(CpuInt8Convolution, fewChannelsReadWholeLines)
{
    for (int64_t channels = 1; channels <= 9; ++channels)
        expectInt8({{2, channels, 15, 13}, 16 + channels, {7, 5}, 1, {2, 2}, {}, {3, 2}, {3, 2}});
    expectInt8({{1, 3, 40}, 10, {9}, 1, {3}, {}, {4}, {4}});
    expectInt8({{1, 3, 9, 9}, 4, {3, 3}, 1, {}, {2, 1}, {2, 1}, {2, 1}});
    expectInt8({{1, 3, 9, 9}, 4, {3, 3}, 1, {}, {1, 2}, {1, 2}, {1, 2}});
}

//! Tiles that lie inside of an image read whole lines of their windows.
TEST(CpuInt8Convolution, wideImages)
{
    expectInt8({{2, 16, 5, 60}, 64, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}});
    expectInt8({{1, 8, 9, 90}, 130, {2, 5}, 1, {1, 2}, {2, 1}, {1, 2}, {1, 2}});
    expectInt8({{1, 4, 6, 40}, 64, {3, 3}, 1, {}, {1, 2}, {1, 2}, {1, 2}});
    for (int64_t const width : {15, 16, 17, 33, 40}) // Joined sixteen pixels at a time.
        expectInt8({{2, 3, 9, width}, 64, {3, 3}, 1, {2, 2}, {}, {1, 1}, {1, 1}});
}

//! Lines of taps outside of the image are left out of tiles of their own, and 0 stands for another number there.
TEST(CpuInt8Convolution, windowsAcrossTheEdges)
{
    for (int64_t const height : {1, 2, 3, 7})
        for (int64_t const width : {3, 4, 7, 13})
            for (int64_t const size : {2, 3, 5})
                for (int64_t const padding : {1, 3, 6}) // With six there are windows that see nothing of the image.
                {
                    int64_t const dilation = size == 3 ? 2 : 1;
                    int64_t const stride = height == 7 && padding == 3 ? 2 : 1;
                    int64_t const channels = width == 13 ? 12 : 10; // Whole quads and others.
                    Int8Form const form{{2, channels, height, width}, 52 + height + width, {size, 3}, 1, {stride, 1},
                        {dilation, 1}, {padding, 1}, {padding, 1}};
                    if (height + 2 * padding < (size - 1) * dilation + 1)
                        continue;
                    SCOPED_TRACE(fmt::format("{} by {}, kernel {}, padding {}", height, width, size, padding));
                    for (int32_t const zero : {0, -128, 127, 3})
                    {
                        QuantizedConvolution layer = int8LayerOf(form);
                        layer.inputZero = zero;
                        expectKernels(layer, int8OperandsOf(form), "int8", kReal, Types::kFloatOnly);
                    }
                }
}

//! Of lines of the result all windows are outside of the image, and memory of a lane begins with their tile.
TEST(CpuInt8Convolution, singlePixelsBesideTheImage)
{
    for (int64_t const channels : {3, 10, 12})
        expectInt8({{1, channels, 4, 8}, 64, {1, 1}, 1, {}, {}, {1, 1}, {1, 1}});
}

//! Of whole blocks of maps and of others.
TEST(CpuInt8Convolution, residuals)
{
    for (int64_t const maps : {64, 80, 128})
        for (int32_t const zero : {0, -128, 5})
        {
            Int8Form const form{{2, 16, 6, 5}, maps, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}};
            std::vector<Operand> operands = int8OperandsOf(form);
            operands.push_back(input(int8Tensor({2, maps, 6, 5})));
            QuantizedConvolution layer = int8LayerOf(form);
            layer.outputScale = 0.25F;
            layer.outputZero = zero;
            EpilogueStep const rounding{EpilogueKind::kRound, 0.5F};
            EpilogueStep const residual{EpilogueKind::kAdd, 0.125F};
            EpilogueStep const relu{EpilogueKind::kRelu};
            for (std::vector<EpilogueStep> const& steps : {std::vector{rounding, residual, relu}, {rounding, residual},
                     {residual, relu}, {residual}, {relu, residual}, {residual, rounding, relu}})
            {
                layer.product.epilogue.steps = steps;
                SCOPED_TRACE(fmt::format("{} maps, zero point {}, {} steps", maps, zero, steps.size()));
                // A step of a rounding in between is two of the result's.
                bool const isRoundedBetween =
                    steps[0].kind == EpilogueKind::kRound || steps[1 % steps.size()].kind == EpilogueKind::kRound;
                expectKernels(
                    layer, operands, "int8", isRoundedBetween ? Tolerance{2.0, 0.0} : kWhole, Types::kFloatOnly);
            }
        }
}

//! Scales are powers of two, so that sums lie on halves exactly: all instruction sets round them to even.
TEST(CpuInt8Convolution, halvesBecomeEven)
{
    for (int64_t const maps : {48, 64, 70, 128})
        for (bool const isPositive : {false, true})
        {
            SCOPED_TRACE(fmt::format("{} maps{}", maps, isPositive ? ", none negative" : ""));
            Int8Form const form{{1, 16, 7, 9}, maps, {1, 1}};
            QuantizedConvolution layer = int8LayerOf(form);
            layer.inputScale = 0x1p-6F;
            layer.outputScale = 0.5F;
            if (isPositive)
                layer.product.epilogue.steps = {{EpilogueKind::kRelu}};
            std::vector<Operand> operands = int8OperandsOf(form, false);
            std::ranges::fill(operands[3].tensor.reals, 0x1p-3);
            expectKernels(layer, operands, "int8", {0.0, 0.0}, Types::kFloatOnly);
        }
}

TEST(CpuInt8Convolution, groups)
{
    for (int64_t const groups : {2, 3, 4})
        expectInt8({{2, 6 * groups, 8, 9}, 10 * groups, {3, 3}, groups, {}, {}, {1, 1}, {1, 1}});
    expectInt8({{1, 64, 5, 5}, 64, {3, 3}, 32, {2, 2}, {}, {1, 1}, {1, 1}});
}

TEST(CpuInt8Convolution, depthwise)
{
    for (int64_t const channels : {3, 16, 40, 96, 130})
        expectInt8({{2, channels, 9, 8}, channels, {3, 3}, channels, {}, {}, {1, 1}, {1, 1}}, "int8-depthwise");
    expectInt8({{1, 24, 9, 8}, 24, {5, 5}, 24, {2, 2}, {1, 2}, {2, 4}, {2, 4}}, "int8-depthwise");
    expectInt8({{1, 24, 30}, 24, {5}, 24, {2}, {}, {2}, {2}}, "int8-depthwise");
}

TEST(CpuInt8Convolution, numbersOfRowsAndColumns)
{
    for (int64_t rows = 1; rows <= 26; ++rows)
        for (int64_t const maps : {1, 8, 16, 24, 33, 48, 64, 80, 97, 130})
            expectInt8({{1, 1 + rows % 11, 1, rows}, maps, {1, 1}});
}

TEST(CpuInt8Convolution, everyStepOfAnEpilogue)
{
    Int8Form const form{{2, 16, 6, 5}, 37, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}};
    Operand const residual = input(int8Tensor({2, 37, 6, 5}));
    Operand const real = input(randomTensor({2, 37, 6, 5}));
    for (float const scale : {0.0F, 0.25F})
    {
        QuantizedConvolution layer = int8LayerOf(form);
        layer.outputScale = scale;
        Tolerance const tolerance =
            scale == 0.0F ? Tolerance{0.26, 1e-4} : kWhole; // A step of what is rounded between.
        std::vector<Operand> operands = int8OperandsOf(form);
        operands.push_back(residual);
        layer.product.epilogue.steps = {
            {EpilogueKind::kRound, 0.25F}, {EpilogueKind::kAdd, 0.125F}, {EpilogueKind::kRelu}};
        expectKernels(layer, operands, "int8", tolerance, Types::kFloatOnly);
        operands.back() = real;
        layer.product.epilogue.steps = {{EpilogueKind::kMultiply}, {EpilogueKind::kLinear, 0.5F, 1.0F}};
        expectKernels(layer, operands, "int8", tolerance, Types::kFloatOnly);
        operands.pop_back();
        for (EpilogueKind const kind : {EpilogueKind::kRelu, EpilogueKind::kClip, EpilogueKind::kLeakyRelu,
                 EpilogueKind::kSigmoid, EpilogueKind::kTanh, EpilogueKind::kSilu, EpilogueKind::kHardSigmoid,
                 EpilogueKind::kHardSwish, EpilogueKind::kGeluErf, EpilogueKind::kGeluTanh, EpilogueKind::kElu})
        {
            layer.product.epilogue.steps = {{kind, 0.2F, 0.5F}};
            expectKernels(layer, operands, "int8", scale == 0.0F ? kReal : kWhole, Types::kFloatOnly);
        }
    }
}

//! The number 0 stands for what is none, wherever sums are rounded.
TEST(CpuInt8Convolution, operandsThatAreNoNumbers)
{
    Int8Form const form{{2, 16, 6, 5}, 37, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}};
    Int8Form const channels{{2, 37, 6, 5}, 37, {3, 3}, 37, {}, {}, {1, 1}, {1, 1}};
    HostTensor extra = randomTensor({2, 37, 6, 5});
    for (int64_t i = 0; i < extra.count(); i += 3)
        extra.set(i, i % 2 == 0 ? static_cast<double>(NAN) : i % 4 == 1 ? HUGE_VAL : -HUGE_VAL);
    for (auto const& [scale, zeroPoint] : {std::pair{0.0F, 0}, {0.25F, 0}, {0.25F, 100}, {0.1F, -128}})
        for (auto const& steps : std::vector<std::vector<EpilogueStep>>{{{EpilogueKind::kAdd}},
                 {{EpilogueKind::kAdd}, {EpilogueKind::kRound, 0.25F}}, {{EpilogueKind::kMultiply}},
                 {{EpilogueKind::kMultiply}, {EpilogueKind::kRelu}, {EpilogueKind::kRound, 0.25F},
                     {EpilogueKind::kLinear, 0.5F, 1.0F}}})
        {
            Tolerance const tolerance = scale == 0.0F ? Tolerance{0.26, 1e-4} : kWhole;
            for (auto const& [product, candidate] : {std::pair{form, "int8"}, {channels, "int8-depthwise"}})
            {
                QuantizedConvolution layer = int8LayerOf(product);
                layer.outputScale = scale;
                layer.outputZero = zeroPoint;
                layer.product.epilogue.steps = steps;
                std::vector<Operand> operands = int8OperandsOf(product);
                operands.push_back(input(extra));
                expectKernels(layer, operands, candidate, tolerance, Types::kFloatOnly);
            }
        }
    if (backendUnderTest().name != "cpu")
        return; // GPUs take the bias for numbers.
    QuantizedConvolution layer = int8LayerOf(form);
    layer.outputScale = 0.25F;
    for (bool const isConstant : {false, true})
    {
        std::vector<Operand> operands = int8OperandsOf(form);
        operands[2].isConstant = isConstant;
        operands[2].tensor.set(5, static_cast<double>(NAN));
        expectKernels(layer, operands, "int8", kWhole, Types::kFloatOnly);
    }
}

//! A bias of the run, and one beside scales of 0: neither can be said in terms of the factors.
TEST(CpuInt8Convolution, biasThatIsNoOffset)
{
    Int8Form const form{{1, 16, 6, 5}, 20, {1, 1}};
    for (float const scale : {0.0F, 0.25F})
        for (bool const isConstant : {false, true})
        {
            QuantizedConvolution layer = int8LayerOf(form);
            layer.outputScale = scale;
            layer.product.epilogue.steps = {{EpilogueKind::kRelu}};
            std::vector<Operand> operands = int8OperandsOf(form);
            operands[2].isConstant = isConstant;
            if (isConstant)
                operands[3].tensor.reals[3] = 0.0;
            expectKernels(layer, operands, "int8", scale == 0.0F ? kReal : kWhole, Types::kFloatOnly);
        }
}

//! Of rows with and without negative elements, and with one here and there.
TEST(CpuInt8Convolution, extremesDoNotSaturate)
{
    for (int64_t const x : {-128, 127})
        for (int64_t const weights : {-128, 127})
            for (int64_t const channels : {64, 2048})
                for (int64_t const width : {1, 3})
                {
                    Int8Form const form{{1, channels, 7, 5}, 20, {width, width}};
                    std::vector<Operand> operands = int8OperandsOf(form, false);
                    std::ranges::fill(operands[0].tensor.integers, x);
                    std::ranges::fill(operands[1].tensor.integers, weights);
                    expectKernels(int8LayerOf(form), operands, "int8", {1e-3, 1e-6}, Types::kFloatOnly);
                    for (size_t const at : {size_t{0}, size_t{95}, operands[0].tensor.integers.size() - 1})
                        operands[0].tensor.integers[at] = -128;
                    expectKernels(int8LayerOf(form), operands, "int8", {1e-3, 1e-6}, Types::kFloatOnly);
                }
}

//! What stands for 0 is not 0: also outside of the image, and in results whose ReLU stops there.
TEST(CpuInt8Convolution, zeroPoints)
{
    struct Case
    {
        Int8Form form;
        std::string_view candidate;
    };
    for (Case const& each :
        {Case{{{2, 16, 9, 8}, 64, {1, 1}}, "int8"}, {{{2, 16, 9, 8}, 70, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}}, "int8"},
            {{{1, 64, 12, 12}, 64, {3, 3}, 1, {}, {}, {1, 1}, {1, 1}}, "int8"},
            {{{1, 3, 17, 40}, 64, {7, 7}, 1, {2, 2}, {}, {3, 3}, {3, 3}}, "int8"},
            {{{1, 8, 9, 30}, 12, {2, 5}, 1, {1, 2}, {2, 1}, {1, 2}, {1, 2}}, "int8"},
            {{{2, 12, 8, 9}, 20, {3, 3}, 2, {}, {}, {1, 1}, {1, 1}}, "int8"},
            {{{1, 10, 30}, 20, {5}, 1, {2}, {}, {2}, {2}}, "int8"},
            {{{2, 70, 9, 8}, 70, {3, 3}, 70, {}, {}, {1, 1}, {1, 1}}, "int8-depthwise"},
            {{{1, 24, 9, 8}, 24, {5, 5}, 24, {2, 2}, {1, 2}, {2, 4}, {2, 4}}, "int8-depthwise"}})
        for (auto const& [in, out] : {std::pair{-128, -128}, {-128, 0}, {127, 5}, {3, -77}, {-1, 127}})
        {
            SCOPED_TRACE(fmt::format(
                "{} to {} maps, zero points {} and {}", fmt::join(each.form.x, "x"), each.form.maps, in, out));
            QuantizedConvolution layer = int8LayerOf(each.form);
            layer.inputZero = in;
            for (bool const hasBias : {true, false})
                expectKernels(layer, int8OperandsOf(each.form, hasBias), each.candidate, kReal, Types::kFloatOnly);
            layer.outputScale = 0.1F;
            layer.outputZero = out;
            expectKernels(layer, int8OperandsOf(each.form), each.candidate, kWhole, Types::kFloatOnly);
            layer.product.epilogue.steps = {{EpilogueKind::kRelu}};
            expectKernels(layer, int8OperandsOf(each.form), each.candidate, kWhole, Types::kFloatOnly);
        }
}

//! Halves become even before the zero point moves them.
TEST(CpuInt8Convolution, halvesBecomeEvenBesideAZeroPoint)
{
    for (int64_t const maps : {48, 64, 70})
        for (int32_t const zero : {-128, -3, 1, 127})
        {
            Int8Form const form{{1, 16, 7, 9}, maps, {1, 1}};
            QuantizedConvolution layer = int8LayerOf(form);
            layer.inputScale = 0x1p-6F;
            layer.outputScale = 0.5F;
            layer.inputZero = layer.outputZero = zero;
            std::vector<Operand> operands = int8OperandsOf(form, false);
            std::ranges::fill(operands[3].tensor.reals, 0x1p-3);
            expectKernels(layer, operands, "int8", {0.0, 0.0}, Types::kFloatOnly);
        }
}

TEST(CpuInt8Product, zeroPoints)
{
    for (auto const& [rows, depth, columns] :
        {std::array<int64_t, 3>{5, 7, 40}, {1, 128, 65}, {33, 300, 64}, {4, 0, 9}})
        for (int32_t const zero : {-128, 5, 127})
        {
            QuantizedMatrixMultiply layer;
            layer.inputScale = 0.02F;
            layer.inputZero = zero;
            std::vector<Operand> const operands{input(int8Tensor({rows, depth})), weight(int8Tensor({depth, columns})),
                weight(randomTensor({columns})), weight(randomTensor({columns}, 0.001, 0.01))};
            expectKernels(layer, operands, "int8", kReal, Types::kFloatOnly);
            layer.outputScale = 0.1F;
            layer.outputZero = -zero / 2;
            expectKernels(layer, operands, "int8", kWhole, Types::kFloatOnly);
        }
}

TEST(CpuInt8Product, matricesAndBatches)
{
    struct Case
    {
        std::vector<int64_t> a;
        std::vector<int64_t> b;
    };
    for (bool const isConstant : {true, false})
        for (bool const isTransposed : {false, true})
            for (Case const& each : {Case{{5, 7}, {7, 40}}, {{1, 128}, {128, 65}}, {{3, 5, 16}, {3, 16, 9}},
                     {{3, 50, 37}, {1, 37, 48}}, {{2, 3, 4, 6}, {2, 1, 6, 5}}, {{1, 2, 4, 6}, {3, 2, 6, 20}},
                     {{0, 5, 16}, {0, 16, 9}}, {{0, 5, 16}, {1, 16, 9}}, {{5, 0}, {0, 40}}, {{2, 3, 0}, {2, 0, 17}}})
            {
                QuantizedMatrixMultiply layer;
                layer.inputScale = 0.02F;
                layer.product.alpha = 0.5F;
                std::vector<int64_t> b = each.b;
                int64_t const columns = b.back();
                if (isTransposed)
                {
                    layer.product.operation1 = MatrixOperation::kTRANSPOSE;
                    std::swap(b[b.size() - 1], b[b.size() - 2]);
                }
                HostTensor const matrix = int8Tensor(b);
                std::vector<Operand> const operands{input(int8Tensor(each.a)),
                    isConstant ? weight(matrix) : input(matrix),
                    isConstant ? weight(randomTensor({columns})) : absent(),
                    weight(randomTensor(
                        isConstant ? std::vector<int64_t>{columns} : std::vector<int64_t>{}, 0.001, 0.01))};
                expectKernels(layer, operands, "int8", kReal, Types::kFloatOnly);
                layer.outputScale = 0.02F;
                expectKernels(layer, operands, "int8", kWhole, Types::kFloatOnly);
            }
}

TEST(CpuInt8Product, hundredsOfShapes)
{
    std::mt19937 random{7};
    auto const draw = [&](int64_t most) { return std::uniform_int_distribution<int64_t>{1, most}(random); };
    for (int32_t i = 0; i < 150; ++i)
    {
        int64_t const rows = draw(40);
        int64_t const depth = draw(i % 3 == 0 ? 600 : 40);
        int64_t const columns = draw(150);
        SCOPED_TRACE(fmt::format("{} x {} x {}", rows, depth, columns));
        QuantizedMatrixMultiply layer;
        layer.inputScale = 0.01F;
        expectKernels(layer,
            {input(int8Tensor({rows, depth}, i % 2 == 0 ? -128.49 : -0.49)), weight(int8Tensor({depth, columns})),
                weight(randomTensor({columns})), weight(randomTensor({columns}, 0.001, 0.01))},
            "int8", kReal, Types::kFloatOnly);
    }
}

TEST(CpuInt8Pooling, maxima)
{
    for (int64_t const channels : {1, 31, 32, 64, 70, 100, 200})
    {
        Pooling layer;
        layer.windowSize = int8Dims({3, 2});
        layer.stride = int8Dims({2, 1});
        layer.prePadding = int8Dims({1, 1});
        layer.postPadding = int8Dims({1, 0});
        expectKernels(layer, {input(int8Tensor({2, channels, 9, 6}))}, "int8", {0.0, 0.0}, Types::kFloatOnly);
        layer.prePadding = int8Dims({3, 2}); // The first windows have no element: -128.
        expectKernels(layer, {input(int8Tensor({2, channels, 9, 6}))}, "int8", {0.0, 0.0}, Types::kFloatOnly);
    }
}

} // namespace tenon::test
