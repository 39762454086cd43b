// ContextRunner: addresses, memory, pointers of all steps, then the segments one after the other. The last may go on
// when the call has returned.
#include "runtime/context_runner.h"

#include <algorithm>

namespace tenon
{

namespace
{
//! Where inputs of no elements lie that the caller keeps no memory for: kernels and plugins are given no null.
alignas(256) std::byte gNoElements[256];

bool isEmpty(nvinfer1::Dims64 const& dims)
{
    return std::find(dims.d, dims.d + dims.nbDims, 0) != dims.d + dims.nbDims;
}
} // namespace

ContextRunner::ContextRunner(ContextState& state)
    : mState{state},
      mEngine{state.engine},
      mShapes{state.engine}
{
    Program const& program = *mEngine.program;
    size_t const ioCount = mEngine.plan->io.size();
    mKey.reserve(8 + ioCount * nvinfer1::Dims64::MAX_DIMS + program.symbols.size());
    size_t told{0};
    for (std::vector<int32_t> const& registers : mEngine.toldRegisters)
        told = std::max(told, registers.size());
    mTailKey.reserve(mKey.capacity() + 1 + told);
    mTails.resize(mEngine.segments.size());
    mSymbols.resize(program.symbols.size());
    mKnown.resize(program.symbols.size());
    mRegisters.resize(program.symbols.size() + program.shapes.size());
    mIO.assign(ioCount, nullptr);
    mGiven.assign(ioCount, 0);
    mOffsets.assign(mEngine.parts.size(), 0);
    mChosenAt.assign(mEngine.segments.size(), 0);
    mWritten.assign(mEngine.segments.size(), nullptr);
}

Error ContextRunner::dropped()
{
    return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was ended while it waited for earlier work");
}

void ContextRunner::begin(RunRequest const& request)
{
    mRequest = &request;
    mApart = request.observer != nullptr && request.keepInputs;
    mIsCaptured = mEngine.device().isCapturing(request.stream);
    mMark = request.consumed;
    mHasLaunched = false;
    mFrame.reset();
    ++mKnowledge;
    mDepth = 0;
    std::ranges::fill(mWritten, nullptr);
    mCheck = PacedCheck{request.mayContinue};
}

Result<Done> ContextRunner::run(RunRequest const& request)
{
    begin(request);
    Result<Done> done = runAll();
    // Of a device that does not run in this process the answer is a call of its driver's, and hardly ever yes.
    if (mFrame != nullptr && !mIsCaptured && (!done || mEngine.device().runsHostCode()))
        mFrame->settle();
    if (request.hasBegun != nullptr)
        *request.hasBegun = mHasLaunched;
    if (!done && mHasLaunched)
        giveUp();
    if (mState.memory.temporary() != nullptr)
    {
        mState.memory.dropScratch(); // It serves within a run only (S9).
        if (mFrame != nullptr)
            mFrame->memory.fill(nullptr);
    }
    mFrame.reset();
    return done;
}

void ContextRunner::giveUp()
{
    if (mMark != nullptr)
        static_cast<void>(mark()); // Nothing of the failed run reads the inputs any more; its error is the answer.
    if (mIsCaptured)
        return; // Nothing has run.
    if (mFrame->isUnderWay() && mEngine.device().isWorking())
        return; // What may be the caller's own stream still writes them.
    mFrame->wait();
    poison();
}

Result<Done> ContextRunner::runAll()
{
    TENON_TRY(mState.attached.attach());
    if (mState.frames.recordings() == 0 && mState.frames.takeFailure())
        mState.attached.forget(); // They are told again, but not while a recording counts on what they know.
    TENON_TRY(takeAddresses());
    TENON_TRY(selectRun());
    mArena = {TENON_TRY(mState.memory.arena(mRun->arenaBytes, mApart)),
        TENON_TRY(mState.memory.hostArena(mRun->hostBytes, mApart))};
    if (!mEngine.device().usesHostMemory()) // A custom layer may ask whose memory it is.
        std::ranges::replace(mIO, static_cast<void*>(gNoElements), mArena[0] != nullptr ? mArena[0] : gNoElements);
    TENON_TRY(takeFrame());
    startValues();
    if (!TENON_TRY(mState.aux.enter(mRequest->stream, mIsCaptured, mRequest->mayContinue)))
        return dropped();
    TENON_TRY(runRange(0, mEngine.segments.size(), 0, mEngine.controls.size()));
    if (mMark != nullptr && mHasLaunched) // No step behind the last branch or round.
        TENON_TRY(mark());
    TENON_TRY(mState.aux.leave(mRequest->stream, mIsCaptured));
    mState.attached.ranWith(mRun, inputs());
    return Done{};
}

Result<Done> ContextRunner::takeAddresses()
{
    mState.shapes.copyTo(mShapes);
    for (size_t i = 0; i < mIO.size(); ++i)
    {
        PlanIO const& io = mEngine.plan->io[i];
        void* address = mState.bindings.addressIn(mRequest->bindings, i);
        if (io.isInput && !mShapes.isSet(i))
            return errorOf(ErrorCode::kINVALID_STATE, "the shape of input '{}' is not set", io.name);
        if (io.isInput && address == nullptr && isEmpty(mShapes.dims()[i]))
            address = gNoElements;
        mIO[i] = address;
        mGiven[i] = 0;
        if (io.isInput && address == nullptr && mEngine.io[i].isRead)
            return errorOf(ErrorCode::kINVALID_STATE, "the address of input '{}' is not set", io.name);
        if (!io.isInput && address == nullptr && allocatorOf(i) == nullptr)
            return errorOf(ErrorCode::kINVALID_STATE, "output '{}' has neither address nor allocator", io.name);
    }
    return Done{};
}

Result<Done> ContextRunner::selectRun()
{
    mShapes.findSymbols(mIO, mSymbols);
    RunShapes const asked{mShapes, mSymbols, mState.host.threads, mApart};
    mState.writeRunKey(asked, mKey);
    if (mRun == nullptr || mRun->key != mKey)
        mRun = TENON_TRY(mState.findRun(asked, mKey));
    return Done{};
}

Result<Done> ContextRunner::takeFrame()
{
    if (!mIsCaptured)
    {
        mFrame = mState.frames.takeFree(mRequest->mayContinue);
        if (mFrame == nullptr)
            return dropped();
        return Done{};
    }
    if (mEngine.segments.size() > 1 || mRequest->observer != nullptr || mState.memory.temporary() != nullptr)
        return errorOf(ErrorCode::kINVALID_STATE, "a run of this context cannot be captured: {}",
            !mEngine.controls.empty()                  ? "it has loops or conditionals"
                : mEngine.segments.size() > 1          ? "sizes depend on data"
                : mState.memory.temporary() != nullptr ? "its temporary memory is given back when the call returns"
                                                       : "it is observed");
    mFrame = mState.frames.takeRecording();
    return Done{};
}

void ContextRunner::startValues()
{
    std::ranges::fill(mKnown, uint8_t{0});
    std::ranges::fill(mFrame->produced, int64_t{-1}); // A step that tells nothing is found out.
    std::ranges::copy(mRun->registers, mRegisters.begin());
    mBehind = {};
}

Result<Done> ContextRunner::runSegment(size_t index)
{
    Segment const segment = mEngine.segments[index];
    if (index > 0)
        TENON_TRY(selectTail(index));
    PreparedTail const& tail = index == 0 ? mRun->head : *mTails[index];
    for (Place const place : {Place::kDevice, Place::kHost})
        if (TENON_TRY(
                mState.memory.takeScratch(place, tail.scratchBytes[static_cast<size_t>(place)], mRequest->stream)))
        {
            mState.frames.settle();
            std::ranges::fill(mWritten, nullptr);
        }
    TENON_TRY(askAllocators(segment.first - 1));
    TENON_TRY(mState.attached.tell(mRun, {index, tail, mTails[index]}, inputs(), [&] { return awaitAttached(); }));
    if (mDepth > 0 && mWritten[index] == &tail && mEngine.hasParts[index] == 0)
        mFrame->stream = mRequest->stream; // All stands as in the round before.
    else if (index > 0 || isStale())
        writePointers(segment, tail);
    mWritten[index] = &tail;
    mIsShort = isShort(index);
    if (mDepth == 0)
        noteFrame(index);
    bool const isLast = index + 1 == mEngine.segments.size() && mDepth == 0;
    if (TENON_TRY(launch(segment, tail, isLast && mayGoOn(segment))) == RunEnd::kLater)
        return Done{};
    TENON_TRY(learn(segment));
    if (mDepth > 0)
        return Done{}; // What a branch tells is known when the conditional is over.
    return askAllocators(segment.last - 1);
}

//! In a loop the other threads are awake still; else they are woken, or spin for nothing between runs.
bool ContextRunner::isShort(size_t index) const noexcept
{
    constexpr float kShortRound{5.0F};
    constexpr float kShortRun{30.0F};
    float const cost = mEngine.costs[index];
    if (mDepth > 0)
        return cost < kShortRound;
    // Work may grow with the square of an extent. Plans of early versions have no costs.
    return !mEngine.hasSizesOfData && cost > 0.0F && cost * mRun->growth * mRun->growth < kShortRun;
}

Result<Done> ContextRunner::selectTail(size_t index)
{
    if (mTails[index] != nullptr && mChosenAt[index] == mKnowledge)
        return Done{};
    ShapeKey& key = mTailKey;
    key.clear();
    key.push_back(static_cast<int64_t>(index));
    key.insert(key.end(), mRun->key.begin(), mRun->key.end());
    for (int32_t const reg : mEngine.toldRegisters[index])
        key.push_back(mRegisters[asSize(reg)].lo);
    auto& tail = mTails[index];
    mChosenAt[index] = mKnowledge;
    if (tail != nullptr && tail->key == key)
        return Done{};
    std::shared_ptr<PreparedTail const> former = std::move(tail);
    tail = mEngine.tails.find(key);
    if (tail == nullptr)
    {
        auto made = TENON_TRY(prepareTail(mEngine, key, *mRun, {index, mRegisters, mApart}, former));
        size_t const bytes = made->bytes();
        tail = mEngine.tails.insert(key, std::move(made), bytes);
    }
    return Done{};
}

bool ContextRunner::mayGoOn(Segment segment) const
{
    if (mRequest->isSynchronous || mRequest->observer != nullptr || mState.memory.temporary() != nullptr)
        return false;
    if (segment.last > segment.first && !mEngine.program->steps[asSize(segment.last - 1)].produces.empty())
        return false;
    for (size_t i = asSize(mEngine.inputs); i < mIO.size(); ++i)
        if (allocatorOf(i) != nullptr && mGiven[i] == 0)
            return false;
    return true;
}

} // namespace tenon
