// planAgain: a plan that holds no program for a device gets one.
#pragma once

#include "backend/device_choice.h"
#include "base/log.h"
#include "device/plugin_source.h"
#include "plan/plan.h"

namespace tenon::api
{

//! A plan for the device alone, made from the portable graph: fusions that the device has no kernels for are undone,
//! then it is optimized and planned as a network is. Logs why. Its weights share the memory of `stored` where they can.
//! Custom layers are made again by their creators, and keep the formats and tactics that they were planned with.
Result<Plan> planAgain(Plan const& stored, DeviceChoice const& device, PluginSource const* plugins, Log const& log);

} // namespace tenon::api
