// The reference backend: its candidates and its table of kernels.
#include "backends/ref/ref.h"

#include "backend/layer_args.h"
#include "backends/ref/kernels.h"
#include "layers/debug_tensor.h"
#include "layers/plugin.h"

namespace tenon
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offerReference(Problem const& problem)
{
    if (as<CustomLayer>(problem.layer()) != nullptr)
        return refuse("reference", "only the object behind a custom layer knows its meaning");
    // Far above what any kernel written for the machine asks for, so that it is taken only when nothing else fits.
    double cost{1e6};
    for (size_t i = 0; i < problem.node->outputs.size(); ++i)
        cost += static_cast<double>(volumeOf(problem.typicalExtents(problem.output(i))));
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs.assign(problem.node->outputs.size(), Layout::kLinear);
    offer.cost = cost;
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildReference(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "reference", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kCandidates[]{
    {.layer = DebugTensor::kName,
        .name = "debug_tensor",
        .offers = ref::offerDebugTensor,
        .build = ref::buildDebugTensor},
    {.layer = "*", .name = "reference", .offers = offerReference, .build = buildReference},
};

constexpr KernelEntry kKernels[]{
    {"debug_tensor", &ref::loadDebugTensor},
    {"reference", &ref::loadReference},
    {"reorder", &ref::loadReorder},
    {"transfer", &ref::loadReorder},
    {"shape_values", &ref::loadShapeValues},
    {"tell", &ref::loadTell},
};
} // namespace

std::span<Candidate const> refCandidates() noexcept
{
    return kCandidates;
}

std::span<KernelEntry const> refKernels() noexcept
{
    return kKernels;
}

Backend refBackend()
{
    return Backend{"ref", {std::begin(kCandidates), std::end(kCandidates)}};
}

Target refTarget()
{
    Target target;
    target.device = "ref";
    target.architecture = "x86-64";
    return target;
}

} // namespace tenon
