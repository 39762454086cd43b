// A backend for tests: its table.
#include "planner/fake_backend.h"

#include "backend/layer_args.h"
#include "layers/shuffle.h"

namespace tenon::test
{

namespace
{
using Answer = std::variant<std::vector<Offer>, Refusal>;

Offer offerIn(Problem const& problem, Layout layout, double cost)
{
    Offer offer;
    for (ValueId const input : problem.node->inputs)
        offer.inputs.push_back(input != kNone && problem.graph->typeOf(input).rank() >= 3 ? layout : Layout::kLinear);
    offer.outputs.assign(problem.node->outputs.size(), layout);
    offer.cost = cost;
    return offer;
}

Answer convolution(Problem const& problem)
{
    return std::vector{offerIn(problem, Layout::kLinear, 1000.0), offerIn(problem, Layout::kChannelsLast, 10.0)};
}

Answer pointwise(Problem const& problem)
{
    std::vector<Offer> offers{offerIn(problem, Layout::kLinear, 5.0)};
    if (problem.output().rank() >= 3)
        offers.push_back(offerIn(problem, Layout::kChannelsLast, 5.0));
    for (Offer& offer : offers)
        offer.inPlace = {{0, 0}};
    return offers;
}

Answer shuffle(Problem const& problem)
{
    Offer offer = offerIn(problem, Layout::kLinear, 0.0);
    offer.unread = problem.node->inputs.size() > 1 ? 2U : 0U;
    offer.isView = problem.fields<Shuffle>().isReshape(problem.input(0).shape);
    return std::vector{offer};
}

Answer slice(Problem const& problem)
{
    Offer offer = offerIn(problem, Layout::kLinear, 5.0);
    offer.unread = 0xEU;
    return std::vector{offer};
}

Answer concatenation(Problem const& problem)
{
    Offer offer = offerIn(problem, Layout::kLinear, 5.0);
    offer.unread = 1U;
    return std::vector{offer};
}

Answer refused(Problem const&)
{
    return refuse("never", "it never does");
}

Answer any(Problem const& problem)
{
    return std::vector{offerIn(problem, Layout::kLinear, 100.0)};
}

Result<KernelSpec> build(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "fake", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

Result<KernelSpec> buildConvolution(Problem const& problem, Offer const& offer)
{
    KernelSpec spec{.kernel = "fake", .args = encodeLayerArgs(problem, offer), .packed = {}};
    std::shared_ptr<Constant const> const weights = problem.graph->value(problem.node->input(1)).constant;
    if (offer.inputs[0] == Layout::kChannelsLast)
        spec.packed.push_back({1, "fake packing", weights, static_cast<size_t>(weights->bytes())});
    return spec;
}

constexpr Candidate kCandidates[]{
    {"Convolution", "conv", convolution, buildConvolution},
    {"Unary", "pointwise", pointwise, build},
    {"ElementWise", "pointwise", pointwise, build},
    {"Activation", "pointwise", pointwise, build},
    {"Shuffle", "shuffle", shuffle, build},
    {"Slice", "slice", slice, build},
    {"Concatenation", "concatenation", concatenation, build},
    {"SoftMax", "never", refused, build},
    {"*", "reference", any, build},
};
} // namespace

Backend fakeBackend()
{
    return Backend{"fake", {std::begin(kCandidates), std::end(kCandidates)}};
}

Target fakeTarget()
{
    Target target;
    target.device = "fake";
    target.reorder = {.startMicroseconds = 1.0, .bytesPerMicrosecond = 8e3};
    target.layouts = {Layout::kLinear, Layout::kChannelsLast};
    return target;
}

} // namespace tenon::test
