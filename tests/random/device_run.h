// DeviceRun: a graph through passes, planner and runtime, on the CPU device.
#pragma once

#include "ir/graph.h"
#include "ir/host_tensor.h"
#include "plan/plan.h"

#include <memory>
#include <string>
#include <vector>

namespace tenon::test
{

struct DeviceOptions
{
    int32_t threads{1};
    bool fusion{true};
    bool isStored{false}; //!< The plan is written and read before it is run.
};

//! A plan in an engine.
class DeviceRun
{
  public:
    static Result<std::unique_ptr<DeviceRun>> make(Graph&& graph, DeviceOptions const& options);
    virtual ~DeviceRun() = default;
    virtual Plan const& plan() const noexcept = 0;
    //! Outputs for inputs of these extents. `faulty`: steps of this kernel are off by a hundredth; empty: none.
    virtual Result<std::vector<HostTensor>> run(
        std::vector<HostTensor> const& inputs, std::string const& faulty = {}) = 0;
};

} // namespace tenon::test
