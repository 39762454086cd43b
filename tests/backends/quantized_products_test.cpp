// Products of int8 and fp8 numbers by the tensor cores of GPUs, with results in every type, against the reference.
#include "backends/cuda_cases.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"
#include "layers/quantized_normalization.h"

#include <fmt/format.h>

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;

constexpr char kTensorCores[]{"tensor cores"};

//! Other backends multiply int8 alone, with results in float32: tests of theirs have the same layers.
class QuantizedProducts : public CudaKernels
{
};

HostTensor narrowTensor(std::vector<int64_t> extents, DType type)
{
    double const most = type == DType::kFP8 ? 4.0 : 127.49;
    return randomTensor(std::move(extents), -most, most, type);
}

//! What the result may differ by: steps of its type, and sums in float32 where operands are fp8.
Tolerance toleranceOf(DType out, DType in)
{
    switch (out)
    {
    case DType::kINT8: return {1.0, 0.0};
    case DType::kFP8: return {0.02, 0.126};
    case DType::kHALF: return {2e-3, 2e-3};
    case DType::kBF16: return {1e-2, 1e-2};
    default: return in == DType::kFP8 ? Tolerance{2e-3, 1e-3} : Tolerance{1e-4, 1e-5};
    }
}

nvinfer1::Dims quantizedDims(std::vector<int64_t> const& values)
{
    nvinfer1::Dims dims{};
    dims.nbDims = static_cast<int32_t>(values.size());
    std::copy(values.begin(), values.end(), dims.d);
    return dims;
}

struct ConvolutionForm
{
    std::vector<int64_t> x;
    int64_t maps;
    std::vector<int64_t> kernel;
    std::vector<int64_t> stride{};
    std::vector<int64_t> pre{};
    std::vector<int64_t> post{};
    std::vector<int64_t> dilation{};
};

//! With a residual of the type of x and one in real numbers, where the window keeps the image's extents.
void expectConvolution(ConvolutionForm const& form, DType in, DType real, float outputScale)
{
    SCOPED_TRACE(fmt::format("{} -> {} maps, kernel {}, {} to {}{}", fmt::join(form.x, "x"), form.maps,
        fmt::join(form.kernel, "x"), nameOf(in), nameOf(real), outputScale > 0.0F ? ", rounded" : ""));
    QuantizedConvolution layer;
    layer.product.nbOutputMaps = form.maps;
    layer.product.kernelSize = quantizedDims(form.kernel);
    layer.product.stride = quantizedDims(form.stride);
    layer.product.prePadding = quantizedDims(form.pre);
    layer.product.postPadding = quantizedDims(form.post);
    layer.product.dilation = quantizedDims(form.dilation);
    layer.inputScale = 0.02F;
    layer.outputScale = outputScale;
    layer.realType = real;
    std::vector<int64_t> kernel{form.maps, form.x[1]};
    kernel.insert(kernel.end(), form.kernel.begin(), form.kernel.end());
    double const scale = in == DType::kFP8 ? 0.5 : 0.01;
    std::vector<Operand> operands{input(narrowTensor(form.x, in)), weight(narrowTensor(kernel, in)),
        weight(randomTensor({form.maps}, -1.0, 1.0, real)), weight(randomTensor({form.maps}, 0.1 * scale, scale))};
    DType const out = outputScale > 0.0F ? in : real;
    expectKernels(layer, operands, kTensorCores, toleranceOf(out, in), Types::kFloatOnly);
    if (!form.stride.empty())
        return;
    std::vector<int64_t> result = form.x;
    result[1] = form.maps;
    for (size_t i = 0; i < form.kernel.size(); ++i)
    {
        int64_t const dilation = form.dilation.empty() ? 1 : form.dilation[i];
        result[2 + i] += (form.pre.empty() ? 0 : form.pre[i] + form.post[i]) - dilation * (form.kernel[i] - 1);
    }
    layer.product.epilogue.steps = {
        {EpilogueKind::kAdd, 0.05F}, {EpilogueKind::kRelu}, {EpilogueKind::kAdd}, {EpilogueKind::kGeluErf}};
    operands.push_back(input(narrowTensor(result, in)));
    operands.push_back(input(randomTensor(result, -1.0, 1.0, real)));
    expectKernels(layer, operands, kTensorCores, toleranceOf(out, in), Types::kFloatOnly);
}

//! Of the two steps a library does the first; each sum takes a tensor like the result.
struct ProductForm
{
    std::vector<int64_t> a;
    std::vector<int64_t> b;
    bool isTransposed{false};
    bool isConstant{true};
    bool isPerColumn{true};
    std::vector<EpilogueStep> steps{{EpilogueKind::kGeluTanh}};
};

void expectProduct(ProductForm const& form, DType in, DType real, float outputScale)
{
    SCOPED_TRACE(fmt::format("{} by {}{}, {} to {}{}", fmt::join(form.a, "x"), fmt::join(form.b, "x"),
        form.isTransposed ? ", turned" : "", nameOf(in), nameOf(real), outputScale > 0.0F ? ", rounded" : ""));
    QuantizedMatrixMultiply layer;
    layer.product.operation1 = form.isTransposed ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
    layer.product.alpha = 0.5F;
    layer.product.epilogue.steps = form.steps;
    layer.inputScale = 0.02F;
    layer.outputScale = outputScale;
    layer.realType = real;
    int64_t const columns = form.b[form.b.size() - (form.isTransposed ? 2 : 1)];
    double const scale = in == DType::kFP8 ? 0.5 : 0.01;
    HostTensor b = narrowTensor(form.b, in);
    std::vector<Operand> operands{input(narrowTensor(form.a, in)), form.isConstant ? weight(b) : input(b),
        weight(randomTensor({columns}, -1.0, 1.0, form.isPerColumn ? DType::kFLOAT : real)),
        weight(randomTensor(
            form.isPerColumn ? std::vector<int64_t>{columns} : std::vector<int64_t>{}, scale, 1.5 * scale))};
    std::vector<int64_t> result = form.a;
    result.back() = columns;
    for (EpilogueStep const& step : form.steps)
        if (step.kind == EpilogueKind::kAdd)
            operands.push_back(
                input(step.alpha == 0.0F ? randomTensor(result, -1.0, 1.0, real) : narrowTensor(result, in)));
    expectKernels(layer, operands, kTensorCores, toleranceOf(outputScale > 0.0F ? in : real, in), Types::kFloatOnly);
}
} // namespace

TEST_F(QuantizedProducts, windowsGiveEveryType)
{
    ConvolutionForm const form{{2, 32, 9, 7}, 20, {3, 3}, {}, {1, 1}, {1, 1}};
    for (DType const real : {DType::kFLOAT, DType::kHALF, DType::kBF16})
        expectConvolution(form, DType::kINT8, real, 0.0F);
    expectConvolution(form, DType::kFP8, DType::kHALF, 0.0F);
    expectConvolution(form, DType::kINT8, DType::kHALF, 0.02F);
    expectConvolution(form, DType::kFP8, DType::kHALF, 0.02F);
}

TEST_F(QuantizedProducts, windowsOfAllKinds)
{
    constexpr DType kInt8{DType::kINT8};
    expectConvolution({{1, 16, 12, 11}, 70, {5, 3}, {1, 2}, {4, 0}, {4, 2}, {2, 1}}, kInt8, DType::kHALF, 0.0F);
    expectConvolution({{3, 48, 10, 10}, 33, {1, 1}}, DType::kFP8, DType::kHALF, 0.0F);
    expectConvolution({{2, 64, 7, 9}, 16, {1, 1}, {2, 2}}, kInt8, DType::kFLOAT, 0.03F);
    expectConvolution({{1, 32, 40}, 130, {3}, {}, {1}, {1}}, kInt8, DType::kHALF, 0.03F);
    expectConvolution({{2, 160, 8, 8}, 12, {2, 2}, {}, {0, 1}, {1, 0}}, kInt8, DType::kFLOAT, 0.0F);
}

TEST_F(QuantizedProducts, matricesAndBatches)
{
    for (DType const in : {DType::kINT8, DType::kFP8})
    {
        expectProduct({{200, 272}, {272, 140}}, in, DType::kHALF, 0.0F);
        expectProduct({{3, 50, 64}, {1, 64, 33}}, in, DType::kFLOAT, 0.05F);
        expectProduct({{2, 70, 128}, {1, 20, 128}, true}, in, DType::kBF16, 0.0F);
        expectProduct({{3, 2, 17, 64}, {3, 2, 19, 64}, true, false, false}, in, DType::kHALF, 0.0F);
        expectProduct({{3, 1, 17, 64}, {1, 2, 19, 64}, true, false, false}, in, DType::kFLOAT, 0.0F);
        expectProduct({{2, 17, 32}, {2, 32, 24}}, in, DType::kHALF, 0.0F);
    }
}

//! By cuBLASLt, too, where there is one scale: nothing, a part, or all of the epilogue is behind its kernel.
TEST_F(QuantizedProducts, fp8MatricesWithOneScale)
{
    std::vector<std::vector<EpilogueStep>> const epilogues{{}, {{EpilogueKind::kGeluTanh}}, {{EpilogueKind::kGeluErf}},
        {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}, {EpilogueKind::kTanh}},
        {{EpilogueKind::kAdd, 0.05F}, {EpilogueKind::kAdd}}};
    for (float const outputScale : {0.0F, 0.05F})
        for (auto const& steps : epilogues)
            expectProduct(
                {{2, 33, 64}, {1, 64, 48}, false, true, false, steps}, DType::kFP8, DType::kHALF, outputScale);
    expectProduct({{40, 32}, {32, 32}, true, true, false}, DType::kFP8, DType::kBF16, 0.0F);
}

TEST_F(QuantizedProducts, normsRoundTheirResults)
{
    for (DType const to : {DType::kINT8, DType::kFP8})
        for (DType const real : {DType::kFLOAT, DType::kHALF, DType::kBF16})
            for (int64_t const length : {768, 37})
            {
                SCOPED_TRACE(fmt::format("{} of {} to {}", length, nameOf(real), nameOf(to)));
                QuantizedNormalization const layer{{.axes = 4}, 0.03F, to};
                std::vector<int64_t> const row{1, 1, length};
                expectKernels(layer,
                    {input(randomTensor({3, 11, length}, -2.0, 3.0, real)), weight(randomTensor(row, -2.0, 2.0, real)),
                        weight(randomTensor(row, -1.0, 1.0, real))},
                    "rows", toleranceOf(to, to), Types::kFloatOnly);
            }
}

} // namespace tenon::test
