// Measure: how long prepared steps take on a device, on operands made for the purpose.
#pragma once

#include "device/device.h"

#include <random>

namespace tenon
{

//! Memory for the operands of one step, of the device or, for steps that run there, of the host. Launches point into
//! it: it outlives them, and operands come first.
class TrialOperands
{
  public:
    explicit TrialOperands(Device& device, Place place = Place::kDevice)
        : mDevice{device},
          mPlace{place}
    {
    }
    ~TrialOperands();
    TrialOperands(TrialOperands const&) = delete;
    TrialOperands& operator=(TrialOperands const&) = delete;

    //! Numbers that each element type can have, the same ones in every trial: reals between −1 and 1, integers 0 and 1,
    //! so that indices stay in range. An absent input has no address.
    Result<Done> addInput(TensorArg const& arg);
    //! The contents of a constant as its reader wants them; they outlive this.
    Result<Done> addConstant(ByteView contents);
    Result<Done> addOutput(TensorArg const& arg);
    //! The next output, in the memory of an input.
    void addOutputOver(size_t input);
    //! The step on what has been added, with scratch memory of its own and room for values that only running tells.
    Result<Launch> launch(Prepared const& prepared, size_t produces = 0);

  private:
    Result<void*> allocate(size_t bytes);
    Result<Done> fill(void* memory, DType dtype, size_t bytes);
    Result<Done> copyIn(void* to, void const* from, size_t bytes);

    Device& mDevice;
    Place mPlace;
    std::vector<void*> mAll;
    std::vector<void*> mInputs;
    std::vector<void const*> mInputAddresses;
    std::vector<void*> mOutputs;
    std::vector<std::vector<int64_t>> mProduced;
    std::mt19937 mRandom{20261121};
};

struct MeasureOptions
{
    int32_t warmUps{1};     //!< Runs before the first that counts: caches and pages are warm then.
    int32_t rounds{1};      //!< Of which the fastest counts.
    int32_t runs{1};        //!< Per round. From four on, the fastest and the slowest quarter do not count.
    int32_t hostThreads{0}; //!< 0: the device's default.
    ContinueCheck const* mayContinue{nullptr};
};

//! Microseconds that the device works on the launches, one after the other and beside all streams.
Result<double> measure(Device& device, std::span<Launch const> launches, MeasureOptions const& options);

} // namespace tenon
