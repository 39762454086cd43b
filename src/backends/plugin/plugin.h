// Custom layers in plans: candidates for every backend, and a table of kernels for each kind of device that runs them.
#pragma once

#include "backend/candidate.h"
#include "device/device.h"

#include <memory>
#include <span>

namespace tenon::plugins
{
struct TimedObject;
using StepOf = std::unique_ptr<Prepared> (*)(TimedObject object); // As in plugins/timing.h.
} // namespace tenon::plugins

namespace tenon
{

//! The one object or the one kernel behind a custom layer. Appended to every backend.
std::span<Candidate const> pluginCandidates() noexcept;
//! The kernels of these candidates on devices that run host code.
std::span<KernelEntry const> hostPluginKernels() noexcept;
//! How a device runs plugins that a build measures.
plugins::StepOf timedStepOf(Device const& device) noexcept;

} // namespace tenon
