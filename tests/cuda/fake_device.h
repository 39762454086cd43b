// The device "cuda" on the fake driver, memory of it, and steps of the planner's own that are ready to run there.
#pragma once

#include "backends/cuda/cuda.h"
#include "backends/rows.h"
#include "base/step_role.h"
#include "device/cuda/cuda_device.h"
#include "devices/fake_cuda/fake_cuda.h"

namespace tenon::test
{

inline constexpr int64_t kCount{24};

inline CudaDevice& fake()
{
    return static_cast<CudaDevice&>(cudaWithKernels(0));
}

struct Silent final : RunListener
{
    Error failed(RunFailure const& failure) override
    {
        return failure.error;
    }
};

//! Memory that goes with its owner.
class Owned
{
  public:
    Owned(Device& device, bool isHost)
        : mDevice{device},
          mIsHost{isHost},
          data{static_cast<float*>(
              isHost ? device.allocateHost(kCount * sizeof(float)) : device.allocate(kCount * sizeof(float)))}
    {
    }
    ~Owned()
    {
        mIsHost ? mDevice.releaseHost(data) : mDevice.release(data);
    }
    Owned(Owned const&) = delete;
    Owned& operator=(Owned const&) = delete;

  private:
    Device& mDevice;
    bool mIsHost;

  public:
    float* data;
};

//! One step of the planner's, ready to run.
struct OwnStep
{
    std::unique_ptr<Kernel> kernel;
    std::shared_ptr<Prepared const> prepared;
    void const* from{nullptr};
    void* to{nullptr};
    Launch launch;
};

inline Result<Done> prepare(
    Device& device, OwnStep& step, StepRole role, Place place, void const* from, void* to, Layout toLayout)
{
    step.kernel = TENON_TRY(device.load({.kernel = kernelOf(role), .args = {}, .weights = {{}}, .place = place}));
    TensorArg const in{DType::kFLOAT, Layout::kLinear, {1, 6, 2, 2}};
    TensorArg const out{DType::kFLOAT, toLayout, {1, 6, 2, 2}};
    step.prepared = TENON_TRY(step.kernel->prepare({&in, 1}, {&out, 1}, 1));
    step.from = from;
    step.to = to;
    step.launch.prepared = step.prepared.get();
    step.launch.call.inputs = &step.from;
    step.launch.call.outputs = &step.to;
    step.launch.inputCount = 1;
    step.launch.outputCount = 1;
    step.launch.place = place;
    return Done{};
}

} // namespace tenon::test
