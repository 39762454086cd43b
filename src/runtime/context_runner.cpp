// One run: addresses, memory, pointers of all steps, then the segments one after the other. The last may go on when the
// call has returned.
#include "runtime/run.h"

#include <algorithm>

namespace tenon
{

namespace
{
alignas(64) char gNothing[64]; //!< Address of an arena of no bytes: kernels never see null for an empty tensor.
} // namespace

Error Run::dropped()
{
    return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was ended while it waited for earlier work");
}

Result<Done> Run::run()
{
    Result<Done> done = runAll();
    if (mFrame != nullptr && !mIsCaptured)
        mFrame->settle();
    if (mRequest.hasBegun != nullptr)
        *mRequest.hasBegun = mHasLaunched;
    if (!done && mHasLaunched)
        giveUp();
    if (mState.temporary != nullptr)
    {
        mState.scratch = std::make_shared<DeviceMemory>(); // It serves within a run only (S9).
        if (mFrame != nullptr)
            mFrame->scratchMemory.reset();
    }
    return done;
}

void Run::giveUp()
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

Result<Done> Run::runAll()
{
    TENON_TRY(mState.attachKernels());
    if (mState.recordings.load() == 0 && mState.hasFailed.exchange(false))
        mState.reshapedRun.reset(); // Custom layers are told again, but not while a recording counts on what they know.
    TENON_TRY(takeAddresses());
    TENON_TRY(mState.selectRun(mApart, mState.now));
    TENON_TRY(takeArena());
    TENON_TRY(takeFrame());
    startValues();
    for (size_t i = 0; i < mEngine.segments.size(); ++i)
        TENON_TRY(runSegment(i));
    if (!mState.attached.empty() && mState.reshapedRun == nullptr)
    {
        mState.reshapedRun = mState.run;
        mState.reshapedInputs.assign(mState.now.begin(), mState.now.begin() + mEngine.inputs);
    }
    return Done{};
}

Result<Done> Run::takeAddresses()
{
    for (size_t i = 0; i < mState.now.size(); ++i)
    {
        PlanIO const& io = mEngine.plan->io[i];
        void* const address = addressOf(i);
        mState.now[i] = address;
        mState.given[i] = 0;
        if (io.isInput && !mState.hasShape(i))
            return errorOf(ErrorCode::kINVALID_STATE, "the shape of input '{}' is not set", io.name);
        if (io.isInput && address == nullptr && mEngine.io[i].isRead)
            return errorOf(ErrorCode::kINVALID_STATE, "the address of input '{}' is not set", io.name);
        if (!io.isInput && address == nullptr && allocatorOf(i) == nullptr)
            return errorOf(ErrorCode::kINVALID_STATE, "output '{}' has neither address nor allocator", io.name);
    }
    return Done{};
}

void* Run::addressOf(size_t io) const
{
    bool const isOwn = io < mState.ownValues.size() && mState.ownValues[io] != nullptr;
    if (mRequest.bindings == nullptr || isOwn)
        return mState.addresses[io];
    bool const isSpared = mRequest.bindings[io] == nullptr && !mState.spareValues[io].empty();
    return isSpared ? mState.spareValues[io].data() : mRequest.bindings[io];
}

Result<Done> Run::takeArena()
{
    int64_t const bytes = mState.run->arenaBytes;
    if (mApart && mState.apartMemory.bytes() < bytes)
        mState.apartMemory = TENON_TRY(DeviceMemory::allocate(
            {&mEngine.device(), mEngine.options.allocator}, bytes, "activations of an observed run"));
    bool const user = !mApart && mState.strategy == MemoryStrategy::kUSER_MANAGED;
    mArena = mApart ? mState.apartMemory.data() : user ? mState.userMemory : mState.memory->data();
    int64_t const room = mApart ? mState.apartMemory.bytes() : user ? mState.userBytes : mState.memory->bytes();
    if (bytes > 0 && (mArena == nullptr || room < bytes))
        return errorOf(ErrorCode::kINVALID_STATE, "the run needs {} bytes of device memory and has {}{}", bytes,
            mArena == nullptr ? 0 : room, user ? ": set them with setDeviceMemoryV2" : "");
    if (mArena == nullptr)
        mArena = gNothing;
    return Done{};
}

Result<Done> Run::takeScratch(size_t bytes)
{
    if (bytes > static_cast<size_t>(mState.scratch->bytes()))
    {
        MemorySource source{&mEngine.device(), mEngine.options.allocator};
        if (mState.temporary != nullptr)
            source = {&mEngine.device(), mState.temporary, mRequest.stream}; // Given back before the call returns.
        mState.scratch = std::make_shared<DeviceMemory>(
            TENON_TRY(DeviceMemory::allocate(source, static_cast<int64_t>(bytes), "scratch of kernels")));
        mState.settleFrames();
    }
    return Done{};
}

Result<Done> Run::takeFrame()
{
    if (!mIsCaptured)
    {
        mFrame = mState.freeFrame(mRequest.mayContinue);
        if (mFrame == nullptr)
            return dropped();
        return Done{};
    }
    if (mEngine.segments.size() > 1 || mRequest.observer != nullptr || mState.temporary != nullptr)
        return errorOf(ErrorCode::kINVALID_STATE, "a run of this context cannot be captured: {}",
            mEngine.segments.size() > 1       ? "sizes depend on data"
                : mState.temporary != nullptr ? "its temporary memory is given back when the call returns"
                                              : "it is observed");
    mFrame = std::make_shared<Frame>(mState);
    mFrame->startCapture();
    return Done{};
}

void Run::startValues()
{
    std::ranges::fill(mState.known, uint8_t{0});
    std::ranges::fill(mFrame->produced, int64_t{-1}); // A step that tells nothing is found out.
    std::ranges::copy(mState.run->head.registers, mState.registers.begin());
}

Result<Done> Run::runSegment(size_t index)
{
    Segment const segment = mEngine.segments[index];
    if (index > 0)
        TENON_TRY(selectTail(index));
    PreparedTail const& tail = index == 0 ? mState.run->head : *mState.tails[index];
    TENON_TRY(takeScratch(tail.scratch));
    TENON_TRY(askAllocators(segment.first - 1));
    TENON_TRY(reshapeAttached(index, segment, tail));
    if (index > 0 || isStale())
        writePointers(segment, tail);
    bool const isLast = index + 1 == mEngine.segments.size();
    if (TENON_TRY(launch(segment, tail, isLast && mayGoOn(segment))) == RunEnd::kLater)
        return Done{};
    TENON_TRY(learn(segment));
    return askAllocators(segment.last - 1);
}

Result<Done> Run::selectTail(size_t index)
{
    ShapeKey& key = mState.tailKey;
    key.clear();
    key.push_back(static_cast<int64_t>(index));
    key.insert(key.end(), mState.run->key.begin(), mState.run->key.end());
    for (size_t i = 0; i < mState.known.size(); ++i)
        if (mState.known[i] != 0)
            key.push_back(mState.registers[i].lo);
    auto& tail = mState.tails[index];
    if (tail != nullptr && tail->key == key)
        return Done{};
    tail = mEngine.tails.find(key);
    if (tail == nullptr)
    {
        std::span<Span const> const symbols{mState.registers.data(), mState.symbols.size()};
        auto made = TENON_TRY(prepareTail(mEngine, key, *mState.run, index, mState.known, symbols, mApart));
        size_t const bytes = made->bytes();
        tail = mEngine.tails.insert(key, std::move(made), bytes);
    }
    return Done{};
}

bool Run::mayGoOn(Segment segment) const
{
    if (mRequest.isSynchronous || mRequest.observer != nullptr || mState.temporary != nullptr)
        return false;
    if (segment.last > segment.first && !mEngine.program->steps[asSize(segment.last - 1)].produces.empty())
        return false;
    for (size_t i = asSize(mEngine.inputs); i < mState.now.size(); ++i)
        if (allocatorOf(i) != nullptr && mState.given[i] == 0)
            return false;
    return true;
}

Result<Done> runOnce(ContextState& state, RunRequest const& request)
{
    return Run{state, request}.run();
}

} // namespace tenon
