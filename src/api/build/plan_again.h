// planAgain: a plan that holds no program for a device gets one.
#pragma once

#include "backend/device_choice.h"
#include "base/log.h"
#include "device/plugin_source.h"
#include "ir/layer.h"
#include "plan/plan.h"
#include "planner/planner.h"

#include "NvInfer.h"

#include <optional>
#include <string>

namespace tenon::api
{

//! What plans of this level of compatibility are made for on the device.
Result<Target> targetFor(DeviceChoice const& device, nvinfer1::HardwareCompatibilityLevel level);

//! Why the plan has to be planned again for the device, as the end of a sentence about it; none: its program runs
//! there.
std::optional<std::string> whyPlannedAgain(Plan const& plan, DeviceChoice const& device);

//! A plan for the device alone, made from the portable graph: fusions that the device has no kernels for are undone,
//! then it is optimized and planned as a network is. Logs why. Its weights share the memory of `stored` where they can.
//! Custom layers are made again by their creators, and keep the formats and tactics that they were planned with.
Result<Plan> planAgain(Plan const& stored, DeviceChoice const& device, PluginSource const* plugins, Log const& log);

//! The backend whose program packed the weights; null: this build has none that the plan names.
BackendEntry const* packerOf(Plan const& plan);
//! The layer of a node; of a custom layer with its object, which answers for the shapes.
Result<LayerPtr> storedLayer(PlanNode const& node, PluginSource const* plugins);
//! What a plan says of itself, to be planned again. Not its code: that is of the programs that it holds. Custom layers
//! that are code have been refused.
PlanOptions planOptionsOf(Plan const& stored);

} // namespace tenon::api
