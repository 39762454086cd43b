// EngineStep: convolutions as products of pixels or windows, and matrices that are packed for wgmma.
#include "backends/cuda/engine_step.h"
#include "backends/cuda/matrix_text.h"
#include "layers/measured_product.h"
#include "layers/normalized_product.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! Whether columns lie behind each other only when they are packed.
bool isForPacking(MatrixMultiply const& layer)
{
    return layer.operation1 == nvinfer1::MatrixOperation::kNONE;
}
} // namespace

std::optional<EngineStep> engineStepOf(
    ConvolutionShape const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    if (auto pixels = pixelProduct(layer, inputs[0], out))
        return EngineStep{*std::move(pixels)};
    auto const windows = engineWindowsOf(layer, inputs[0], inputs[1], out);
    if (!windows)
        return std::nullopt;
    return EngineStep{windows->product(layer, out), windows, layer};
}

Result<EngineCase> engineCaseOf(
    CudaDevice const& device, EngineStep step, std::span<TensorArg const> inputs, TensorArg const& out)
{
    Epilogue own = stepsOfKernel(step.product.epilogue, inputs, out);
    auto otherwise = TENON_TRY(withoutEngine(device, step, own, inputs, out));
    return EngineCase{std::move(step), std::move(own), std::move(otherwise)};
}

Result<std::shared_ptr<Prepared const>> withoutEngine(CudaDevice const& device, EngineStep const& step,
    Epilogue const& epilogue, std::span<TensorArg const> inputs, TensorArg const& out)
{
    if (!step.ofWindows)
        return libraryProduct(device, {step.product.shape, step.product.alpha, epilogue}, inputs, out, 0);
    ConvolutionShape layer = *step.ofWindows;
    layer.epilogue = epilogue;
    return directConvolution(device, layer, inputs, out);
}

Result<bool> EngineProductKernel::isPacked(KernelSource const& source, LayerArgs const& args)
{
    MatrixMultiply const layer = args.layer == NormalizedProduct::kName
        ? TENON_TRY(fieldsOf<NormalizedProduct>(args)).product
        : args.layer == MeasuredProduct::kName ? TENON_TRY(fieldsOf<MeasuredProduct>(args)).product
                                               : TENON_TRY(fieldsOf<MatrixMultiply>(args));
    return isRightPacked(source, isForPacking(layer) ? kMatrixPacking : std::string_view{});
}

std::string engineRefusal(Problem const& problem)
{
    DType const type = problem.output().dtype;
    bool const isTaken = majorOf(*problem.target) == kEngineMajor && (type == DType::kHALF || type == DType::kBF16);
    return isTaken ? "" : "takes half precision on GPUs of compute capability 9.0";
}

std::string engineRefusal(LtShape const& shape)
{
    if (shape.batch != 1 || shape.calls.size() != 1)
        return "takes one pair of matrices";
    if (shape.matrices.columns % kEngineGrain != 0 || shape.matrices.depth % kEngineGrain != 0)
        return fmt::format("takes columns and depths that are multiples of {}", kEngineGrain);
    return {};
}

Result<ProductShape> typicalProduct(Problem const& problem, MatrixMultiply const& layer)
{
    std::vector<TensorArg> inputs;
    for (size_t i = 0; i < kFirstExtra; ++i)
        inputs.push_back(problem.hasInput(i)
                ? TensorArg{problem.input(i).dtype, Layout::kLinear, problem.typicalExtents(problem.input(i))}
                : TensorArg{.present = false});
    TensorArg const out{problem.output().dtype, Layout::kLinear, problem.typicalExtents(problem.output())};
    return productShape(layer, inputs, {&out, 1});
}

Result<std::vector<PackedWeight>> packedColumns(Problem const& problem, MatrixMultiply const& layer)
{
    std::vector<PackedWeight> packed;
    Constant const* const matrix = problem.constant(1);
    if (matrix != nullptr && isForPacking(layer))
        packed.push_back(TENON_TRY(packMatrices(1, *matrix)));
    return packed;
}

} // namespace tenon::cuda
