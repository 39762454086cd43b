// ContextRunner: does the runs of a context, one after the other.
#pragma once

#include "base/continue_check.h"
#include "runtime/context_state.h"

namespace tenon
{

//! What it needs for a run stays for the next: with the same shapes, running allocates nothing.
class ContextRunner
{
  public:
    explicit ContextRunner(ContextState& state);
    ContextRunner(ContextRunner const&) = delete;
    ContextRunner& operator=(ContextRunner const&) = delete;

    Result<Done> run(RunRequest const& request);

  private:
    // ---- What the run has and where.
    void begin(RunRequest const& request);
    Result<Done> runAll();
    //! The error of a run that was ended while it waited for earlier work.
    static Error dropped();
    //! After a failure under way: whoever waits for the inputs goes on, and the outputs are made unusable.
    void giveUp();
    Result<Done> takeAddresses();
    Result<Done> selectRun();
    //! A frame that no work uses. Recordings get one of their own.
    Result<Done> takeFrame();
    void startValues();
    Result<Done> runSegment(size_t index);
    // ---- Loops and conditionals (runner_control.cpp).
    //! Segments [first, last) and the controls [control, controlEnd) among them.
    Result<Done> runRange(size_t first, size_t last, size_t control, size_t controlEnd);
    Result<Done> runControl(size_t index);
    Result<Done> runLoop(size_t index);
    Result<Done> runConditional(size_t index);
    Result<int64_t> decision(PlanControl const& control, int32_t reg) const;
    //! Slices for a round. False: one lies outside; it stands at the first slice.
    bool moveParts(ControlFacts const& control, int64_t round);
    Error outsideOf(PlanControl const& control, ControlFacts const& facts, int64_t round) const;
    //! What steps of the control have told holds no longer.
    void forget(ControlFacts const& control);
    void forget(int32_t symbol);
    Result<Done> takeKnown(int32_t symbol, int64_t value, std::string const& who);
    //! Registers that follow from what was told.
    void follow();
    //! All that follows from the symbol is to be computed again.
    void fallBehind(int32_t symbol);
    bool isShort(size_t index) const noexcept;
    Result<Done> selectTail(size_t index);
    //! Whether the call may return before the steps have run: nobody watches them, and they tell no sizes (R3).
    bool mayGoOn(Segment segment) const;
    std::span<void* const> inputs() const noexcept
    {
        return {mIO.data(), asSize(mEngine.inputs)};
    }
    nvinfer1::IOutputAllocator* allocatorOf(size_t io) const
    {
        return mRequest->bindings != nullptr ? nullptr : mState.bindings.allocator(io);
    }

    // ---- Pointers of the steps, and their launches.
    //! Pointers of the first segment are written again only when something has moved.
    bool isStale() const;
    void writePointers(Segment segment, PreparedTail const& tail);
    //! What the frame's pointers were written for, up to this segment.
    void noteFrame(size_t index);
    //! Whether an output lies where an input does.
    bool writesInputs() const;
    Result<RunEnd> launch(Segment segment, PreparedTail const& tail, bool mayGoOn);
    //! Steps of the segment, and the mark behind the last that reads an input.
    Result<RunEnd> launchParts(Segment segment, PreparedTail const& tail, bool mayGoOn);
    Result<Done> mark();
    Result<RunEnd> launchPart(Segment part, int32_t first, PreparedTail const& tail, bool mayGoOn);
    bool tell(Launch const& launch, PreparedStep const& step, double microseconds);
    //! Takes the values that the segment's last step tells, and all registers that follow from them.
    Result<Done> learn(Segment segment);
    Result<Done> learnStep(int32_t index);
    void* address(Slot const& slot) const
    {
        if (slot.part < 0)
            return wholeAddress(slot);
        int64_t offset{0};
        for (int32_t part = slot.part; part >= 0; part = mEngine.parts[asSize(part)].outer)
            offset += mOffsets[asSize(part)];
        return static_cast<char*>(wholeAddress(slot)) + offset;
    }
    void* wholeAddress(Slot const& slot) const
    {
        switch (slot.from)
        {
        case Slot::From::kBlock: return blockAddress(mApart ? slot.blockApart : slot.index);
        case Slot::From::kIO: return ioAddress(asSize(slot.index));
        case Slot::From::kWeight:
            return const_cast<void*>(mRun->loaded->addresses[asSize(slot.index)]); // Never written.
        case Slot::From::kHostWeight: return const_cast<void*>(mRun->loaded->weights[asSize(slot.index)].data);
        case Slot::From::kNothing: break;
        }
        return nullptr;
    }
    void* blockAddress(int32_t block) const
    {
        Place const place = (mApart ? mEngine.apart : mEngine.shared).blocks[asSize(block)].place;
        return static_cast<char*>(mArena[static_cast<size_t>(place)]) + mRun->offsets[asSize(block)];
    }
    std::array<void*, kPlaceCount> scratch() const noexcept
    {
        return {mState.memory.scratch(Place::kDevice), mState.memory.scratch(Place::kHost)};
    }
    //! An output of unknown size goes to the arena until its allocator can be asked for the true size.
    void* ioAddress(size_t io) const
    {
        IOFacts const& facts = mEngine.io[io];
        if (facts.staging >= 0 && mGiven[io] == 0 && allocatorOf(io) != nullptr)
            return blockAddress(mApart ? facts.stagingApart : facts.staging);
        return mIO[io];
    }

    // ---- What the user's objects are asked.
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

    // ---- Of the latest run.
    ShapeKey mKey;
    ShapeKey mTailKey;
    std::shared_ptr<PreparedRun const> mRun;
    std::vector<std::shared_ptr<PreparedTail const>> mTails; //!< By segment; [0] is unused.
    InputShapes mShapes;
    std::vector<Span> mSymbols;
    std::vector<Span> mRegisters;
    std::vector<uint8_t> mKnown;   //!< Per symbol.
    std::vector<void*> mIO;        //!< Address of each I/O tensor.
    std::vector<uint8_t> mGiven;   //!< Per output: its allocator has been asked.
    std::vector<int64_t> mOffsets; //!< Per slice that a loop moves: bytes from the first one.
    //! By segment, for what repeats them: what was known when the tail was chosen, and the tail that pointers were
    //! written for.
    std::vector<uint64_t> mChosenAt;
    std::vector<PreparedTail const*> mWritten;
    uint64_t mKnowledge{0}; //!< Another number whenever other extents are known.
    Segment mBehind;        //!< The part of the order of registers that does not follow from what is known yet.
    bool mIsShort{false};   //!< The segment at hand: waking other threads for it would take longer than it does.
    int32_t mDepth{0};      //!< Controls around the segment at hand.
    PacedCheck mCheck{nullptr};

    // ---- Of the run at hand.
    RunRequest const* mRequest{nullptr};
    bool mApart{false};
    bool mIsCaptured{false};
    void* mMark{nullptr}; //!< Event to record when the inputs have been read; null: there is none, or it is recorded.
    bool mHasLaunched{false};
    std::shared_ptr<Frame> mFrame;
    std::array<void*, kPlaceCount> mArena{}; //!< By place.
};

} // namespace tenon
