// Backend: asking the table.
#include "backend/candidate.h"

#include "base/step_role.h"

#include <algorithm>

namespace tenon
{

namespace
{
//! Vectors and matrices have one order only, whatever an offer says of all operands together.
void orderVectors(Problem const& problem, Offer& offer)
{
    auto const order = [&](std::vector<Layout>& layouts, std::vector<ValueId> const& values) {
        for (size_t i = 0; i < std::min(layouts.size(), values.size()); ++i)
            if (values[i] != kNone && problem.graph->typeOf(values[i]).rank() < 3)
                layouts[i] = Layout::kLinear;
    };
    order(offer.inputs, problem.node->inputs);
    order(offer.outputs, problem.node->outputs);
}

void ask(Candidate const& candidate, Problem const& problem, Offers& offers)
{
    auto answer = candidate.offers(problem);
    if (auto* refusal = std::get_if<Refusal>(&answer))
    {
        refusal->candidate = candidate.name;
        offers.refused.push_back(std::move(*refusal));
        return;
    }
    for (Offer& offer : std::get<std::vector<Offer>>(answer))
    {
        offer.candidate = candidate.name;
        orderVectors(problem, offer);
        offer.place = problem.target != nullptr && problem.target->hasOwnMemory ? candidate.place : Place::kDevice;
        offers.accepted.push_back(std::move(offer));
    }
}

//! An offer that the planner could not carry out must not reach it.
bool isSound(Problem const& problem, Offer const& offer)
{
    return offer.inputs.size() == problem.node->inputs.size() && offer.outputs.size() == problem.node->outputs.size()
        && offer.cost >= 0.0;
}
} // namespace

double bytesOf(Problem const& problem)
{
    double bytes{0.0};
    auto const add = [&](TensorType const& type) {
        bytes += static_cast<double>(bytesOf(type.dtype, volumeOf(problem.typicalExtents(type))));
    };
    for (size_t i = 0; i < problem.node->inputs.size(); ++i)
        if (problem.hasInput(i))
            add(problem.input(i));
    for (size_t i = 0; i < problem.node->outputs.size(); ++i)
        add(problem.output(i));
    return bytes;
}

double costOf(Problem const& problem, double multiplications, double bytes)
{
    TargetRates const& rates = problem.target->rates;
    return rates.startMicroseconds + multiplications / rates.multiplicationsPerMicrosecond
        + bytes / rates.bytesPerMicrosecond;
}

Backend& Backend::append(std::span<Candidate const> candidates, Place place)
{
    for (Candidate const& candidate : candidates)
        mCandidates.emplace_back(candidate).place = place;
    return *this;
}

Offers Backend::offers(Problem const& problem) const
{
    Offers offers;
    for (std::string_view const kind : {problem.layer().name(), std::string_view{"*"}})
        for (Candidate const& candidate : mCandidates)
            if (candidate.layer == kind)
                ask(candidate, problem, offers);
    std::erase_if(offers.accepted, [&](Offer const& offer) {
        if (isSound(problem, offer))
            return false;
        offers.refused.push_back(refuse(offer.candidate, "its offer does not fit the node's operands"));
        return true;
    });
    return offers;
}

Result<KernelSpec> Backend::build(Problem const& problem, Offer const& offer) const
{
    for (std::string_view const kind : {problem.layer().name(), std::string_view{"*"}})
        for (Candidate const& candidate : mCandidates)
            if (candidate.layer == kind && candidate.name == offer.candidate)
                return candidate.build(problem, offer);
    return errorOf(ErrorCode::kINTERNAL_ERROR, "backend '{}' has no candidate '{}' for layer kind {}", mName,
        offer.candidate, problem.layer().name());
}

KernelSpec Backend::reorder() const
{
    return {.kernel = std::string{kernelOf(StepRole::kReorder)}, .args = {}, .packed = {}};
}

} // namespace tenon
