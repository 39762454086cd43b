// LoadedProgram: the kernels of a program and the weights that they run on; a refit puts another one in its place.
#pragma once

#include "device/device.h"
#include "plan/paged_memory.h"
#include "plan/plan.h"
#include "runtime/device_memory.h"

#include <memory>
#include <vector>

namespace tenon
{

struct EngineState;

//! Never changes: runs that are prepared with one keep it until they end.
struct LoadedProgram
{
    int64_t generation{0};           //!< How many came before.
    std::vector<PlanWeight> weights; //!< In the places of the plan's; all have data.
    std::vector<int64_t> lacking;    //!< Those that the plan came without: nothing runs before a refit gives them.
    std::vector<std::shared_ptr<PagedMemory const>> pages; //!< Of streamed weights, in the same places; else null.
    std::vector<std::shared_ptr<Kernel>> kernels;          //!< One per step.
    std::vector<void const*> addresses; //!< Of weights on the device; null: the program does not read it.
    DeviceMemory uploaded;              //!< Holds them where kernels cannot read the plan's memory.
};

//! Kernels whose weights are those of `before`, and those of custom layers, are shared with it.
Result<std::shared_ptr<LoadedProgram const>> loadProgram(
    EngineState const& engine, std::vector<PlanWeight> weights, LoadedProgram const* before);

} // namespace tenon
