// RunningNetwork: the steps that a device runs of a graph, with memory for their tensors, before there is a program.
#pragma once

#include "device/measure.h"
#include "planner/trial.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace tenon::planner
{

//! Memory of a device as long as somebody holds it.
class DeviceBlock
{
  public:
    static Result<std::shared_ptr<DeviceBlock>> of(Device& device, size_t bytes);
    DeviceBlock(Device& device, void* memory)
        : mDevice{device},
          mMemory{memory}
    {
    }
    ~DeviceBlock()
    {
        mDevice.release(mMemory);
    }
    DeviceBlock(DeviceBlock const&) = delete;
    DeviceBlock& operator=(DeviceBlock const&) = delete;

    void* address() const noexcept
    {
        return mMemory;
    }

  private:
    Device& mDevice;
    void* mMemory;
};

//! Blocks that steps hand on when nobody reads them any more, as they do in a run's arena.
class StepMemory
{
  public:
    explicit StepMemory(Device& device)
        : mDevice{device}
    {
    }
    Result<void*> take(size_t bytes);
    void giveBack(void* memory);
    bool owns(void* memory) const
    {
        return mSizes.contains(memory);
    }

  private:
    Device& mDevice;
    std::vector<std::shared_ptr<DeviceBlock>> mBlocks;
    std::map<void*, size_t> mSizes;
    std::multimap<size_t, void*> mFree;
};

//! What a step reads and writes, whichever of its offers runs: null for constants and what is absent.
struct StepOperands
{
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
};

//! A step's kernel with the constants that it reads.
struct LoadedStep
{
    std::unique_ptr<LoadedTrial> trial;
    std::vector<std::shared_ptr<DeviceBlock>> constants;
    StepOperands operands;
    std::shared_ptr<DeviceBlock> scratch;
};
using LoadedSteps = std::map<size_t, LoadedStep>; //!< By position among the choices.

class RunningNetwork
{
  public:
    //! `steps`: positions among the choices, in order.
    RunningNetwork(
        TimingRequest const& request, Trials const& trials, Choices const& choices, std::vector<size_t> const& steps)
        : mRequest{request},
          mGraph{request.kernels.graph},
          mTrials{trials},
          mChoices{choices.all()},
          mSteps{steps},
          mArena{request.device},
          mNumbers{request.device}
    {
    }

    //! Memory, and the kernels of the offers that are selected now.
    Result<Done> load();
    //! Kernels of steps by other offers, of the same layouts.
    Result<LoadedSteps> loaded(
        std::vector<size_t> const& steps, std::function<Offer const&(size_t step)> const& offerOf);
    //! The steps one behind the other, `passes` times; those that `others` has, as they are there.
    std::vector<Launch> launches(LoadedSteps const& others, size_t passes) const;
    void take(LoadedSteps others);

  private:
    using Tensor = std::pair<ValueId, Layout>;

    ValueId ownerOf(ValueId value) const;
    Result<Done> giveMemory();
    //! `visit(input, arg, tensor)` for what a step reads and no constant is.
    template <typename Visit>
    Result<Done> forEachInput(size_t step, Visit const& visit) const;
    Result<void*> memoryOfOutput(size_t step, size_t output, std::vector<void*>& over);
    Result<LoadedStep> complete(std::unique_ptr<LoadedTrial> trial, StepOperands const& operands);
    Result<std::shared_ptr<DeviceBlock>> constant(WeightArg const& weight);

    TimingRequest const& mRequest;
    Graph const& mGraph;
    Trials const& mTrials;
    std::vector<Choice> const& mChoices;
    std::vector<size_t> const& mSteps;
    std::map<NodeId, ValueId> mViewed; //!< What views show.
    StepMemory mArena;
    TrialMemory mNumbers; //!< What no step here writes.
    std::map<std::pair<void const*, size_t>, std::weak_ptr<DeviceBlock>> mConstants;
    std::shared_ptr<DeviceBlock> mScratch; //!< All steps have it one after the other.
    size_t mScratchBytes{0};
    std::map<size_t, StepOperands> mOperands;
    LoadedSteps mLoaded;
};

} // namespace tenon::planner
