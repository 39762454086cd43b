// buildKernels: what a plan stores for each step, with its constants packed; made side by side.
#pragma once

#include "planner/choices.h"
#include "planner/needed.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tenon::planner
{

//! By position among the choices; none where no kernel runs.
using Kernels = std::vector<std::optional<KernelSpec>>;

struct KernelRequest
{
    Graph const& graph;
    Backend const& backend;
    Target const& target;
    std::span<int64_t const> typical;
    int32_t threads{1};
};

//! One kernel; what is thrown meanwhile becomes an error that names the layer.
Result<KernelSpec> buildKernel(KernelRequest const& request, Node const& node, Offer const& offer);

//! Those of the offers that are selected. Whatever the number of threads, the kernels are the same, and of several
//! errors the first node's is told. `afterNode` is called on this thread once per choice; false cancels.
Result<Kernels> buildKernels(
    KernelRequest const& request, Choices const& choices, Needed const& needed, std::function<bool()> const& afterNode);

} // namespace tenon::planner
