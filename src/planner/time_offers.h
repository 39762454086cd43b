// timeOffers: what offers cost when a device runs them, in place of what they are estimated to.
#pragma once

#include "base/timed_tactics.h"
#include "device/device.h"
#include "planner/build_kernels.h"

#include <functional>

namespace tenon::planner
{

struct TimingRequest
{
    KernelRequest kernels;
    Device& device;
    int32_t rounds{1};      //!< Of which the fastest counts.
    int32_t runs{1};        //!< Per round.
    int32_t hostThreads{1}; //!< For kernels that run on the host.
    KnownTimes known;       //!< What it holds is not measured, and it gets what is.
};

//! Called on the thread that asked.
struct TrialListener
{
    std::function<void(size_t trials)> start;
    std::function<bool()> afterTrial; //!< False cancels.
};

//! Measures each offer of the nodes that have several, on random operands of the typical shapes, and copies into other
//! layouts. Like steps are measured once. Offers that cannot be built or run drop out with their reason, unless it is
//! all of a node's. Nodes whose results only running tells keep their estimates.
Result<Done> timeOffers(
    TimingRequest const& request, Choices& choices, SeamCosts& seams, TrialListener const& listener);

} // namespace tenon::planner
