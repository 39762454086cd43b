// Convolution whose windows are single elements, channels last: one product of all pixels and the kernel, by cuBLASLt.
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/cublas_product.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
class LtConvolutionKernel final : public ConvolutionKernel
{
  public:
    using ConvolutionKernel::ConvolutionKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        LtChoices const choices = TENON_TRY(choicesOf<LtChoices>(args()));
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        TensorArg const& out = outputs[0];
        if (inputs[0].layout != Layout::kChannelsLast || out.layout != Layout::kChannelsLast || layer.isTransposed
            || !isOfSinglePixels(layer.window, layer.groups, inputs[0].extents))
            return badArgument("a convolution by cuBLASLt takes channels last, and windows of single elements");
        return libraryProduct(device(), productOf(layer, out, inputs[0].extents[1]), inputs, out, choices);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfLtConvolution(Problem const& problem)
{
    constexpr char kName[]{"cublaslt"};
    Convolution const& layer = problem.fields<Convolution>();
    if (std::string reason = convolutionRefusal(problem, layer.window(), layer.epilogue); !reason.empty())
        return refuse(kName, std::move(reason));
    std::vector<int64_t> const in = problem.typicalExtents(problem.input(0));
    if (!isOfSinglePixels(layer.window(), layer.nbGroups, in))
        return refuse(kName, "takes windows of single elements without strides, padding and groups");
    if (auto const library = cublasLt(); !library)
        return refuse(kName, library.error().message);
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    std::vector<Offer> offers = libraryOffers(problem, Layout::kChannelsLast, elements * static_cast<double>(in[1]));
    for (Offer& offer : offers)
    {
        std::fill(offer.inputs.begin() + 1, offer.inputs.end(), Layout::kLinear);
        putExtraLayouts(offer, problem, Layout::kChannelsLast);
    }
    return offers;
}

Result<KernelSpec> buildLtConvolution(Problem const& problem, Offer const& offer)
{
    LtChoices const choices{static_cast<int32_t>(offer.tactic)};
    return KernelSpec{.kernel = "cublaslt_convolution", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
}

constexpr Candidate kLtConvolutionCandidates[]{
    {.layer = Convolution::kName, .name = "cublaslt", .offers = offersOfLtConvolution, .build = buildLtConvolution}};
constexpr CudaKernelEntry kLtConvolutionKernels[]{
    {"cublaslt_convolution", &loadConvolutionKernel<LtConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CublasConvolution, kLtConvolutionCandidates, kLtConvolutionKernels);
