// Custom layers in plans: candidates for every backend, and a table of kernels for each kind of device that runs them.
#pragma once

#include "backend/candidate.h"
#include "device/cuda/cuda_kernel.h"
#include "device/device.h"

#include <memory>
#include <span>

namespace tenon::plugins
{
class Plugin;
struct TimedObject;
using StepOf = std::unique_ptr<Prepared> (*)(TimedObject object); // As in plugins/timing.h.
} // namespace tenon::plugins

namespace tenon
{

//! The one object or the one kernel behind a custom layer. Appended to every backend whose device runs host code.
std::span<Candidate const> pluginCandidates() noexcept;
//! For CUDA: what runs with the GPU's memory, and, behind it, what only the host can run.
std::span<Candidate const> cudaPluginCandidates() noexcept;
std::span<Candidate const> besideCudaPluginCandidates() noexcept;
//! The kernels of these candidates on devices that run host code.
std::span<KernelEntry const> hostPluginKernels() noexcept;
//! The same on CUDA.
std::span<CudaKernelEntry const> cudaPluginKernels() noexcept;
//! How a device runs a plugin that a build measures; null: it is not measured there.
plugins::StepOf timedStepOf(Device const& device, plugins::Plugin& plugin);

} // namespace tenon
