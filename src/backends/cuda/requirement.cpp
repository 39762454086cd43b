// Requirement: extents are looked at when a run is prepared. Values are not: a kernel cannot end the run, and those
// that read them say what becomes of such.
#include "layers/requirement.h"
#include "backends/cuda/layer_kernel.h"

namespace tenon::cuda
{

namespace
{
class RequirementKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(std::span<TensorArg const>, std::span<TensorArg const>) const override
    {
        return std::shared_ptr<Prepared const>{std::make_shared<NothingToDo>()};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfRequirement(Problem const& problem)
{
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildRequirement(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "requirement", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kRequirementCandidates[]{
    {.layer = Requirement::kName, .name = "extents", .offers = offersOfRequirement, .build = buildRequirement}};
constexpr CudaKernelEntry kRequirementKernels[]{{"requirement", &loadLayerKernel<RequirementKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Requirement, kRequirementCandidates, kRequirementKernels);
