// One run: addresses, memory, pointers of all steps, then the segments one after the other. The last may go on when the
// call has returned.
#include "runtime/context_state.h"

#include <algorithm>

namespace tenon
{

namespace
{
size_t asSize(int32_t index)
{
    return static_cast<size_t>(index);
}

alignas(64) char gNothing[64]; //!< Address of an arena of no bytes: kernels never see null for an empty tensor.

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

    Result<Done> run()
    {
        Result<Done> done = runAll();
        if (mState.temporary != nullptr)
        {
            mState.scratch = std::make_shared<DeviceMemory>(); // It serves within a run only (S9).
            if (mFrame != nullptr)
                mFrame->scratchMemory.reset();
        }
        return done;
    }

  private:
    Result<Done> runAll()
    {
        TENON_TRY(mState.attachKernels());
        if (mState.hasFailed.exchange(false))
            mState.reshapedRun.reset(); // Custom layers are told again.
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

    Result<Done> takeAddresses()
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

    void* addressOf(size_t io) const
    {
        bool const isOwn = io < mState.ownValues.size() && mState.ownValues[io] != nullptr;
        if (mRequest.bindings == nullptr || isOwn)
            return mState.addresses[io];
        bool const isSpared = mRequest.bindings[io] == nullptr && !mState.spareValues[io].empty();
        return isSpared ? mState.spareValues[io].data() : mRequest.bindings[io];
    }

    nvinfer1::IOutputAllocator* allocatorOf(size_t io) const
    {
        return mRequest.bindings != nullptr ? nullptr : mState.allocators[io];
    }

    Result<Done> takeArena()
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

    Result<Done> takeScratch(size_t bytes)
    {
        if (bytes > static_cast<size_t>(mState.scratch->bytes()))
        {
            MemorySource source{&mEngine.device(), mEngine.options.allocator};
            if (mState.temporary != nullptr)
                source = {&mEngine.device(), mState.temporary, mRequest.stream}; // Given back before the call returns.
            mState.scratch = std::make_shared<DeviceMemory>(
                TENON_TRY(DeviceMemory::allocate(source, static_cast<int64_t>(bytes), "scratch of kernels")));
        }
        return Done{};
    }

    //! A frame that no work uses. Recordings get one of their own.
    Result<Done> takeFrame()
    {
        if (!mIsCaptured)
        {
            mFrame = mState.freeFrame();
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

    void startValues()
    {
        std::ranges::fill(mState.known, uint8_t{0});
        std::ranges::fill(mFrame->produced, int64_t{-1}); // A step that tells nothing is found out.
        std::ranges::copy(mState.run->head.registers, mState.registers.begin());
    }

    Result<Done> runSegment(size_t index)
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

    Result<Done> selectTail(size_t index)
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
            tail = mEngine.tails.insert(key, std::move(made));
        }
        return Done{};
    }

    //! Whether the call may return before the steps have run: nobody watches them, and they tell no sizes (R3).
    bool mayGoOn(Segment segment) const
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

    Attached* attached(int32_t step) const
    {
        return mState.attached.empty() ? nullptr : mState.attached[asSize(step)].get();
    }

    //! Custom layers hear of new shapes, profiles and addresses of network inputs before they run, and not without
    //! need (K3, L13).
    Result<Done> reshapeAttached(size_t index, Segment segment, PreparedTail const& tail)
    {
        if (mState.attached.empty())
            return Done{};
        if (index == 0)
        {
            mIsOther = mState.reshapedRun != mState.run;
            mMoved = mIsOther
                || !std::equal(mState.now.begin(), mState.now.begin() + mEngine.inputs, mState.reshapedInputs.begin(),
                    mState.reshapedInputs.end());
        }
        bool const isNew = index > 0 && mState.reshapedFor[index] != mState.tails[index];
        if (!mMoved && !isNew)
            return Done{};
        bool const isOther = isNew || mIsOther;
        TENON_TRY(awaitAttached());
        mState.reshapedRun.reset(); // Until the run has succeeded: after a failure all are told again.
        for (int32_t i = segment.first; i < segment.last; ++i)
            if (Attached* const kernel = attached(i); kernel != nullptr && (isOther || kernel->hearsAddresses()))
            {
                PreparedStep const& step = tail.steps[asSize(i - segment.first)];
                auto told = kernel->reshape(step.inputs, step.outputs);
                if (!told)
                    return std::move(told).error().in(stepLabel(mEngine, i));
            }
        mState.reshapedFor[index] = index > 0 ? mState.tails[index] : nullptr;
        return Done{};
    }

    //! Custom layers are told of other shapes when nothing runs them, now or later.
    Result<Done> awaitAttached() const
    {
        if (mState.recordings.load() > (mIsCaptured ? 1 : 0))
            return errorOf(ErrorCode::kINVALID_STATE,
                "a recording of this context's runs exists, and its custom layers know the shapes and addresses of one "
                "run: destroy the graphs that were captured from it before it runs others, or use another context");
        if (mEngine.device().isWorking() && mState.hasFramesUnderWay())
            return errorOf(ErrorCode::kINVALID_STATE,
                "custom layers hear of other shapes and addresses when earlier runs of the context are over, and work "
                "of a stream cannot wait for those");
        mState.waitForFrames();
        return Done{};
    }

    //! Pointers of the first segment are written again only when something has moved.
    bool isStale() const
    {
        return mFrame->run != mState.run || mFrame->arena != mArena || mFrame->scratch != mState.scratch->data()
            || mFrame->io != mState.now || mFrame->stream != mRequest.stream || mEngine.segments.size() > 1;
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

    void writePointers(Segment segment, PreparedTail const& tail)
    {
        for (int32_t i = segment.first; i < segment.last; ++i)
        {
            PlanStep const& step = mEngine.program->steps[asSize(i)];
            StepSlots const& slots = mEngine.stepSlots[asSize(i)];
            for (size_t j = slots.firstInput; j < slots.firstInput + step.inputs.size(); ++j)
                mFrame->inputs[j] = address(mEngine.inputSlots[j]);
            for (size_t j = slots.firstOutput; j < slots.firstOutput + step.outputs.size(); ++j)
                mFrame->outputs[j] = address(mEngine.outputSlots[j]);
            Launch& launch = mFrame->launches[asSize(i)];
            launch.prepared =
                attached(i) != nullptr ? attached(i) : tail.steps[asSize(i - segment.first)].prepared.get();
            launch.call.scratch = mState.scratch->data();
            launch.call.stream = mRequest.stream;
        }
        mFrame->run = mState.run;
        mFrame->tails = mState.tails;
        mFrame->stream = mRequest.stream;
        mFrame->arena = mArena;
        mFrame->scratch = mState.scratch->data();
        std::ranges::copy(mState.now, mFrame->io.begin());
    }

    Result<RunEnd> launch(Segment segment, PreparedTail const& tail, bool mayGoOn)
    {
        if (!mayGoOn)
            return launchParts(segment, tail, false);
        mFrame->start(mRequest.timer);
        Result<RunEnd> end = launchParts(segment, tail, true);
        mFrame->partIsOver(); // The caller's own: from here on only work that goes on holds the frame.
        return end;
    }

    //! Steps of the segment, and the mark behind the last that reads an input.
    Result<RunEnd> launchParts(Segment segment, PreparedTail const& tail, bool mayGoOn)
    {
        int32_t const cut = std::clamp(mEngine.inputsReadUntil, segment.first, segment.last);
        bool const marks = mMark != nullptr && mEngine.inputsReadUntil <= segment.last;
        bool const parted = marks && cut > segment.first && cut < segment.last;
        if (parted)
            TENON_TRY(launchPart({segment.first, cut}, segment.first, tail, mayGoOn));
        if (marks && cut < segment.last)
            TENON_TRY(mark());
        RunEnd const end =
            TENON_TRY(launchPart({parted ? cut : segment.first, segment.last}, segment.first, tail, mayGoOn));
        if (marks && mMark != nullptr)
            TENON_TRY(mark());
        return end;
    }

    Result<Done> mark()
    {
        TENON_TRY(mEngine.device().recordEvent(mMark, mRequest.stream));
        mMark = nullptr;
        return Done{};
    }

    Result<RunEnd> launchPart(Segment part, int32_t first, PreparedTail const& tail, bool mayGoOn)
    {
        RunOptions options{mRequest.stream, mState.threads, mRequest.timer.get(), mRequest.goesOn, nullptr};
        if (mayGoOn)
        {
            options.ticket = mFrame;
            mFrame->addPart();
        }
        StepObserver observe;
        bool stopped{false};
        if (mRequest.observer != nullptr)
        {
            observe = [&](Launch const& each, double microseconds) {
                stopped = !tell(each, tail.steps[asSize(each.step - first)], microseconds);
                return !stopped;
            };
            options.observer = &observe;
        }
        RunFailure failure;
        auto const launches =
            std::span<Launch const>{mFrame->launches}.subspan(asSize(part.first), asSize(part.last - part.first));
        auto end = mEngine.device().run(launches, options, failure);
        if (mayGoOn && !(end && *end == RunEnd::kLater))
            mFrame->partIsOver();
        if (end && !stopped)
            return *end;
        poison();
        if (end)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the observer stopped the run");
        failure.error = std::move(end).error();
        return failedRun(mEngine, std::move(failure));
    }

    bool tell(Launch const& launch, PreparedStep const& step, double microseconds)
    {
        PlanStep const& stored = mEngine.program->steps[asSize(launch.step)];
        ObservedStep seen{launch.step, &stored, step.inputs, step.outputs, {launch.call.inputs, step.inputs.size()},
            {launch.call.outputs, step.outputs.size()}, microseconds};
        std::vector<TensorArg> outputs;
        if (!stored.produces.empty() && learnStep(launch.step))
        {
            for (int32_t const output : stored.outputs)
                if (auto arg = argOf(mEngine, output, mState.registers))
                    outputs.push_back(*std::move(arg));
            seen.outputs = outputs;
        }
        return (*mRequest.observer)(seen);
    }

    //! Takes the values that the segment's last step tells, and all registers that follow from them.
    Result<Done> learn(Segment segment)
    {
        if (segment.first == segment.last || mEngine.program->steps[asSize(segment.last - 1)].produces.empty())
            return Done{};
        return learnStep(segment.last - 1);
    }

    Result<Done> learnStep(int32_t index)
    {
        Program const& program = *mEngine.program;
        PlanStep const& step = program.steps[asSize(index)];
        for (size_t i = 0; i < step.produces.size(); ++i)
        {
            auto const symbol = asSize(step.produces[i]);
            int64_t const value = mFrame->produced[mEngine.stepSlots[asSize(index)].firstProduced + i];
            int64_t const bound = mState.registers[asSize(program.symbols[symbol].upper)].hi;
            if (value < 0 || value > std::max<int64_t>(bound, 0))
                return errorOf(ErrorCode::kFAILED_EXECUTION, "{} tells the extent {}, which is not within [0, {}]",
                    stepLabel(mEngine, index), value, bound);
            mState.registers[symbol] = {value, value};
            mState.known[symbol] = 1;
        }
        evaluate(program, mEngine.order, DataSymbols::kAtBound, mState.known, mState.registers);
        return Done{};
    }

    //! Rule R3: outputs whose extents are known once step `after` has run get their memory.
    Result<Done> askAllocators(int32_t after)
    {
        for (size_t i = asSize(mEngine.inputs); i < mState.now.size(); ++i)
            if (mState.given[i] == 0 && mEngine.io[i].knownAfter <= after && allocatorOf(i) != nullptr)
                TENON_TRY(askAllocator(i, after));
        return Done{};
    }

    Result<Done> askAllocator(size_t io, int32_t after)
    {
        IOFacts const& facts = mEngine.io[io];
        char const* const name = mEngine.plan->io[io].name.c_str();
        TensorArg const arg = TENON_TRY(argOf(mEngine, facts.tensor, mState.registers));
        int64_t const bytes = arg.bytes();
        void* const staged = ioAddress(io);
        void* const memory = reallocate(io, static_cast<uint64_t>(std::max<int64_t>(bytes, 1)));
        if (memory == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "the allocator of output '{}' gave no {} bytes", name, bytes);
        if (facts.staging >= 0 && facts.writer <= after)
            mEngine.device().copyOnDevice(memory, staged, static_cast<size_t>(bytes), mRequest.stream);
        mState.now[io] = memory;
        mState.given[io] = 1;
        nvinfer1::Dims64 dims{};
        dims.nbDims = static_cast<int32_t>(arg.extents.size());
        std::ranges::copy(arg.extents, dims.d);
        allocatorOf(io)->notifyShape(name, dims);
        return Done{};
    }

    //! A user's exception counts as null (R5).
    void* reallocate(size_t io, uint64_t bytes) noexcept
    {
        try
        {
            char const* const name = mEngine.plan->io[io].name.c_str();
            return allocatorOf(io)->reallocateOutputAsync(name, mState.addresses[io], bytes,
                mEngine.device().alignment(), static_cast<cudaStream_t>(mRequest.stream));
        }
        catch (...)
        {
            return nullptr;
        }
    }

    //! Outputs whose allocator has not been asked are not ours to write.
    void poison()
    {
        for (size_t i = asSize(mEngine.inputs); i < mState.now.size(); ++i)
            if (allocatorOf(i) != nullptr && mState.given[i] == 0)
                mState.now[i] = nullptr;
        poisonOutputs(mEngine, mState.now, mState.registers);
    }

    ContextState& mState;
    EngineState const& mEngine;
    RunRequest const& mRequest;
    bool mApart;
    bool mIsCaptured;
    void* mMark; //!< Event to record when the inputs have been read; null: there is none, or it is recorded.
    std::shared_ptr<Frame> mFrame;
    bool mMoved{false};   //!< Custom layers have not heard of this run's shapes and addresses.
    bool mIsOther{false}; //!< More than addresses.
    void* mArena{nullptr};
};
} // namespace

Result<Done> runOnce(ContextState& state, RunRequest const& request)
{
    return Run{state, request}.run();
}

} // namespace tenon
