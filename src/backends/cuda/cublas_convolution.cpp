// Convolution whose windows are single elements, channels last: one product of all pixels and the kernel, by cuBLASLt.
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/cublas_product.h"
#include "layers/convolution.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
//! Whether each result is made of one pixel, that in the same place.
bool isOfSinglePixels(Convolution const& layer, std::vector<int64_t> const& in)
{
    Window const window = layer.window();
    if (layer.nbGroups != 1 || in.size() != window.rank() + 2)
        return false;
    for (size_t axis = 0; axis < window.rank(); ++axis)
    {
        auto const padding = window.padding(axis, in[2 + axis]);
        if (window.size[axis] != 1 || window.stride[axis] != 1 || padding.pre != 0 || padding.post != 0)
            return false;
    }
    return true;
}

class LtConvolutionKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Convolution const layer = TENON_TRY(fieldsOf<Convolution>(args()));
        LtChoices const choices = TENON_TRY(choicesOf<LtChoices>(args()));
        TensorArg const& out = outputs[0];
        if (!layer.epilogue.steps.empty() || inputs.size() < 2 || inputs[0].dtype != out.dtype
            || inputs[1].dtype != out.dtype || inputs[1].layout != Layout::kLinear || !kRealTypes.has(out.dtype))
            return badArgument("a convolution by cuBLASLt takes one type of real numbers and no epilogue");
        if (inputs[0].layout != Layout::kChannelsLast || out.layout != Layout::kChannelsLast
            || !isOfSinglePixels(layer, inputs[0].extents))
            return badArgument("a convolution by cuBLASLt takes channels last, and windows of single elements");
        int64_t const maps = out.extents[1];
        ProductShape const shape{.rows = volumeOf(out.extents) / maps,
            .columns = maps,
            .depth = inputs[0].extents[1],
            .isTurnedB = true,
            .hasBias = inputs.size() > 2 && inputs[2].present,
            .extents = {},
            .aBatch = {},
            .bBatch = {}};
        return libraryProduct(device(), out.dtype, shape, 1.0F, choices);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfLtConvolution(Problem const& problem)
{
    constexpr char kName[]{"cublaslt"};
    Convolution const& layer = problem.fields<Convolution>();
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type) || problem.input(0).dtype != type || problem.input(1).dtype != type
        || !layer.epilogue.steps.empty())
        return refuse(kName, "takes one type of real numbers and no epilogue");
    std::vector<int64_t> const in = problem.typicalExtents(problem.input(0));
    if (!isOfSinglePixels(layer, in))
        return refuse(kName, "takes windows of single elements without strides, padding and groups");
    if (auto const library = cublasLt(); !library)
        return refuse(kName, library.error().message);
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    std::vector<Offer> offers = libraryOffers(problem, Layout::kChannelsLast, elements * static_cast<double>(in[1]));
    for (Offer& offer : offers)
        std::fill(offer.inputs.begin() + 1, offer.inputs.end(), Layout::kLinear);
    return offers;
}

Result<KernelSpec> buildLtConvolution(Problem const& problem, Offer const& offer)
{
    LtChoices const choices{static_cast<int32_t>(offer.tactic)};
    return KernelSpec{.kernel = "cublaslt_convolution", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
}

constexpr Candidate kLtConvolutionCandidates[]{
    {.layer = Convolution::kName, .name = "cublaslt", .offers = offersOfLtConvolution, .build = buildLtConvolution}};
constexpr CudaKernelEntry kLtConvolutionKernels[]{{"cublaslt_convolution", &loadLayerKernel<LtConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CublasConvolution, kLtConvolutionCandidates, kLtConvolutionKernels);
