// Measure: how long prepared steps take on a device, on operands made for the purpose.
#pragma once

#include "device/device.h"

#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace tenon
{

//! Memory that one trial after the other takes its operands from: of large ones, allocating and filling them anew would
//! take longer than what is measured. One trial at a time.
class TrialMemory
{
  public:
    explicit TrialMemory(Device& device)
        : mDevice{device}
    {
    }
    ~TrialMemory();
    TrialMemory(TrialMemory const&) = delete;
    TrialMemory& operator=(TrialMemory const&) = delete;

    //! The next trial may have all of it.
    void begin();
    //! Memory of its own within the trial, with numbers that each element type can have, the same ones in every
    //! process: reals between −1 and 1, integers 0 and 1, so that indices stay in range.
    Result<void*> numbers(Place place, DType dtype, size_t bytes);
    //! The same with whatever stood there.
    Result<void*> room(Place place, size_t bytes);
    //! Numbers that a step has written over: they are room from here on.
    void overwritten(void* numbers);
    Result<Done> copyIn(Place place, void* to, void const* from, size_t bytes);

  private:
    struct Block
    {
        void* memory;
        size_t bytes;
        Place place;
        std::optional<DType> numbers; //!< What stands there; none: anything.
        bool isTaken;
    };

    //! A block that is taken now, and whether it was there before.
    Result<std::pair<void*, bool>> take(Place place, std::optional<DType> numbers, size_t bytes);
    void* allocate(Place place, size_t bytes);
    void release(Block const& block);
    Result<Done> fill(Place place, void* memory, DType dtype, size_t bytes);

    Device& mDevice;
    std::vector<Block> mBlocks;
    std::mt19937 mRandom{20261121};
};

//! The operands of one step, in memory of the device or, for steps that run there, of the host. Launches point into
//! it: it outlives them, and operands come first.
class TrialOperands
{
  public:
    explicit TrialOperands(Device& device, Place place = Place::kDevice)
        : mOwn{std::make_unique<TrialMemory>(device)},
          mMemory{*mOwn},
          mPlace{place}
    {
    }
    //! The memory is the trial's until the next one begins.
    explicit TrialOperands(TrialMemory& memory, Place place = Place::kDevice)
        : mMemory{memory},
          mPlace{place}
    {
        memory.begin();
    }
    TrialOperands(TrialOperands const&) = delete;
    TrialOperands& operator=(TrialOperands const&) = delete;

    //! Numbers (TrialMemory::numbers). An absent input has no address.
    Result<Done> addInput(TensorArg const& arg);
    //! The contents of a constant as its reader wants them; they outlive this.
    Result<Done> addConstant(ByteView contents);
    Result<Done> addOutput(TensorArg const& arg);
    //! The next output, in the memory of an input.
    void addOutputOver(size_t input);
    //! The step on what has been added, with scratch memory of its own and room for values that only running tells.
    Result<Launch> launch(Prepared const& prepared, size_t produces = 0);

  private:
    std::unique_ptr<TrialMemory> mOwn;
    TrialMemory& mMemory;
    Place mPlace;
    std::vector<void*> mInputs;
    std::vector<void const*> mInputAddresses;
    std::vector<void*> mOutputs;
    std::vector<std::vector<int64_t>> mProduced;
};

struct MeasureOptions
{
    int32_t warmUps{1};     //!< Runs before the first that counts: caches and pages are warm then.
    int32_t rounds{1};      //!< Of which the fastest counts.
    int32_t runs{1};        //!< Per round. From four on, the fastest and the slowest quarter do not count.
    int32_t hostThreads{0}; //!< 0: the device's default.
    ContinueCheck const* mayContinue{nullptr};
};

//! Microseconds of the launches as a run of theirs: they may overlap, and be one graph. The first two runs of the same
//! launches take longer.
Result<double> measureRun(Device& device, std::span<Launch const> launches, int32_t hostThreads);

//! Microseconds that the device works on the launches, one after the other and beside all streams.
Result<double> measure(Device& device, std::span<Launch const> launches, MeasureOptions const& options);

} // namespace tenon
