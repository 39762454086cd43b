// refittedWeights: what a plan's weights become with other weights of the user.
#pragma once

#include "backend/device_choice.h"
#include "base/log.h"
#include "device/plugin_source.h"
#include "plan/plan.h"

#include <map>

namespace tenon::api
{

//! New values by entry of PlanRefit::weights, in memory of their own.
using GivenWeights = std::map<int32_t, std::shared_ptr<void const>>;

struct RefitRequest
{
    Plan const& plan;
    std::vector<PlanWeight> const& now; //!< The plan's weights as they are at present.
    DeviceChoice const& device;
    PluginSource const* plugins{nullptr};
    int32_t threads{1};
    bool warnsOfOverflow{true}; //!< Where weights are finite, and not in the narrower type that the engine has them in.
    Log const& log;
};

//! How messages call the user's weights: by their name, or by the layer.
std::string labelOf(PlanRefitWeights const& weights);

//! Entries of PlanRefit::weights that must be given with these: what becomes of them in the plan comes from both (U4),
//! or the plan lacks it. In order; those that are given already are not among them.
std::vector<int32_t> missingWeights(Plan const& plan, std::vector<PlanWeight> const& now, GivenWeights const& given);

//! The plan's weights where all that hangs together is given. Optimizes and plans the graph again as the build did.
Result<std::vector<PlanWeight>> refittedWeights(RefitRequest const& request, GivenWeights const& given);

} // namespace tenon::api
