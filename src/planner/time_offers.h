// timeOffers: what offers cost when a device runs them, in place of what they are estimated to.
#pragma once

#include "planner/trial.h"

namespace tenon::planner
{

//! Measures each offer of the nodes that have several, on random operands of the typical shapes, and copies into other
//! layouts. Like steps are measured once. Offers that cannot be built or run drop out with their reason, unless it is
//! all of a node's. Nodes whose results only running tells keep their estimates.
Result<Done> timeOffers(
    TimingRequest const& request, Choices& choices, SeamCosts& seams, TrialListener const& listener);

} // namespace tenon::planner
