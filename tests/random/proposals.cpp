// Proposals: the table.
#include "random/proposals.h"

namespace tenon::test
{

std::span<std::pair<std::string_view, Proposal> const> allProposals() noexcept
{
    static constexpr std::pair<std::string_view, Proposal> kProposals[]{
#define TENON_RANDOM_PROPOSAL(Name) {#Name, &propose##Name},
        TENON_RANDOM_PROPOSALS(TENON_RANDOM_PROPOSAL)
#undef TENON_RANDOM_PROPOSAL
    };
    return kProposals;
}

} // namespace tenon::test
