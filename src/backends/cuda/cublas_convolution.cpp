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
        int32_t const tactic = TENON_TRY(chosenTactic());
        ConvolutionShape const layer = TENON_TRY(convolutionShape(inputs, outputs));
        StepProduct const product = TENON_TRY(pixelProduct(layer, inputs[0], outputs[0]));
        return libraryProduct(device(), product, inputs, outputs[0], tactic);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfLtConvolution(Problem const& problem)
{
    constexpr char kName[]{"cublaslt"};
    if (std::string reason = pixelProductRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    if (auto const library = cublasLt(); !library)
        return refuse(kName, library.error().message);
    std::vector<Offer> offers = libraryOffers(problem, Layout::kChannelsLast, convolutionWork(problem, false));
    for (Offer& offer : offers)
    {
        std::fill(offer.inputs.begin() + 1, offer.inputs.end(), Layout::kLinear);
        putExtraLayouts(offer, problem, Layout::kChannelsLast);
    }
    return offers;
}

Result<KernelSpec> buildLtConvolution(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "cublaslt_convolution");
}

constexpr Candidate kLtConvolutionCandidates[]{
    {.layer = Convolution::kName, .name = "cublaslt", .offers = offersOfLtConvolution, .build = buildLtConvolution}};
constexpr CudaKernelEntry kLtConvolutionKernels[]{{"cublaslt_convolution", &loadPackableKernel<LtConvolutionKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CublasConvolution, kLtConvolutionCandidates, kLtConvolutionKernels);
