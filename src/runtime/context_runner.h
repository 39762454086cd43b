// Run: one run of a context, while its call lasts.
#pragma once

#include "runtime/context_state.h"

namespace tenon
{

class Run
{
  public:
    Run(ContextState& state, RunRequest const& request)
        : mState{state},
          mEngine{state.engine},
          mRequest{request},
          mApart{request.observer != nullptr && request.keepInputs},
          mIsCaptured{mEngine.device().isCapturing(request.stream)},
          mMark{request.consumed}
    {
    }
    Result<Done> run();

  private:
    // ---- What the run has and where.
    Result<Done> runAll();
    //! The error of a run that was ended while it waited for earlier work.
    static Error dropped();
    //! After a failure under way: whoever waits for the inputs goes on, and the outputs are made unusable.
    void giveUp();
    Result<Done> takeAddresses();
    void* addressOf(size_t io) const;
    Result<Done> takeArena();
    Result<Done> takeScratch(size_t bytes);
    //! A frame that no work uses. Recordings get one of their own.
    Result<Done> takeFrame();
    void startValues();
    Result<Done> runSegment(size_t index);
    Result<Done> selectTail(size_t index);
    //! Whether the call may return before the steps have run: nobody watches them, and they tell no sizes (R3).
    bool mayGoOn(Segment segment) const;
    nvinfer1::IOutputAllocator* allocatorOf(size_t io) const
    {
        return mRequest.bindings != nullptr ? nullptr : mState.allocators[io];
    }

    // ---- Pointers of the steps, and their launches.
    //! Pointers of the first segment are written again only when something has moved.
    bool isStale() const;
    void writePointers(Segment segment, PreparedTail const& tail);
    Result<RunEnd> launch(Segment segment, PreparedTail const& tail, bool mayGoOn);
    //! Steps of the segment, and the mark behind the last that reads an input.
    Result<RunEnd> launchParts(Segment segment, PreparedTail const& tail, bool mayGoOn);
    Result<Done> mark();
    Result<RunEnd> launchPart(Segment part, int32_t first, PreparedTail const& tail, bool mayGoOn);
    bool tell(Launch const& launch, PreparedStep const& step, double microseconds);
    //! Takes the values that the segment's last step tells, and all registers that follow from them.
    Result<Done> learn(Segment segment);
    Result<Done> learnStep(int32_t index);
    Attached* attached(int32_t step) const
    {
        return mState.attached.empty() ? nullptr : mState.attached[asSize(step)].get();
    }
    void* address(Slot const& slot) const
    {
        switch (slot.from)
        {
        case Slot::From::kBlock: return blockAddress(mApart ? slot.blockApart : slot.index);
        case Slot::From::kIO: return ioAddress(asSize(slot.index));
        case Slot::From::kWeight: return const_cast<void*>(mEngine.weights[asSize(slot.index)]); // Never written.
        case Slot::From::kNothing: break;
        }
        return nullptr;
    }
    void* blockAddress(int32_t block) const
    {
        return static_cast<char*>(mArena) + mState.run->offsets[asSize(block)];
    }
    //! An output of unknown size goes to the arena until its allocator can be asked for the true size.
    void* ioAddress(size_t io) const
    {
        IOFacts const& facts = mEngine.io[io];
        if (facts.staging >= 0 && mState.given[io] == 0 && allocatorOf(io) != nullptr)
            return blockAddress(mApart ? facts.stagingApart : facts.staging);
        return mState.now[io];
    }

    // ---- What the user's objects are told and asked.
    //! Custom layers hear of new shapes, profiles and addresses of network inputs before they run, and not without
    //! need (K3, L13).
    Result<Done> reshapeAttached(size_t index, Segment segment, PreparedTail const& tail);
    //! Custom layers are told of other shapes when nothing runs them, now or later.
    Result<Done> awaitAttached() const;
    //! Rule R3: outputs whose extents are known once step `after` has run get their memory.
    Result<Done> askAllocators(int32_t after);
    Result<Done> askAllocator(size_t io, int32_t after);
    //! A user's exception counts as null (R5), with what it says as the reason.
    void* reallocate(size_t io, uint64_t bytes);
    //! Outputs whose allocator has not been asked are not ours to write.
    void poison();

    ContextState& mState;
    EngineState const& mEngine;
    RunRequest const& mRequest;
    bool mApart;
    bool mIsCaptured;
    void* mMark; //!< Event to record when the inputs have been read; null: there is none, or it is recorded.
    bool mHasLaunched{false};
    std::shared_ptr<Frame> mFrame;
    bool mMoved{false};   //!< Custom layers have not heard of this run's shapes and addresses.
    bool mIsOther{false}; //!< More than addresses.
    void* mArena{nullptr};
};

} // namespace tenon
