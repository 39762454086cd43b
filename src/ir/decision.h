// Decision: a fusion, refusal, tactic or reformat with its reason, as the decision log of a build lists it.
#pragma once

#include <string>
#include <vector>

namespace tenon
{

struct Decision
{
    std::string kind;  //!< "fuse", "fold", "skip", "tactic", "refuse", "reorder", …
    std::string layer; //!< Name of the node that it is about.
    std::string text;
};

using Decisions = std::vector<Decision>;

} // namespace tenon
