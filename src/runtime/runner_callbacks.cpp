// Run: what custom layers, output allocators and failed runs' outputs are told, asked and given.
#include "runtime/run.h"

#include "base/explanation.h"

#include <algorithm>

namespace tenon
{

Result<Done> Run::reshapeAttached(size_t index, Segment segment, PreparedTail const& tail)
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
    auto const hears = [&](int32_t step) {
        return attached(step) != nullptr && (isOther || attached(step)->hearsAddresses());
    };
    int32_t first{segment.first};
    while (first < segment.last && !hears(first))
        ++first;
    if (first == segment.last)
        return Done{}; // Nobody to tell, and nothing to wait for.
    TENON_TRY(awaitAttached());
    mState.reshapedRun.reset(); // Until the run has succeeded: after a failure all are told again.
    for (int32_t i = first; i < segment.last; ++i)
        if (hears(i))
        {
            PreparedStep const& step = tail.steps[asSize(i - segment.first)];
            auto told = attached(i)->reshape(step.inputs, step.outputs);
            if (!told)
                return std::move(told).error().in(stepLabel(mEngine, i));
        }
    mState.reshapedFor[index] = index > 0 ? mState.tails[index] : nullptr;
    return Done{};
}

Result<Done> Run::awaitAttached() const
{
    if (mState.recordings.load() > (mIsCaptured ? 1 : 0))
        return errorOf(ErrorCode::kINVALID_STATE,
            "a recording of this context's runs exists, and its custom layers know the shapes and addresses of one "
            "run: destroy the graphs that were captured from it before it runs others, or use another context");
    if (mEngine.device().isWorking() && mState.hasFramesUnderWay())
        return errorOf(ErrorCode::kINVALID_STATE,
            "custom layers hear of other shapes and addresses when earlier runs of the context are over, and work "
            "of a stream cannot wait for those");
    if (!mState.waitForFrames(mRequest.mayContinue))
        return dropped();
    return Done{};
}

Result<Done> Run::askAllocators(int32_t after)
{
    for (size_t i = asSize(mEngine.inputs); i < mState.now.size(); ++i)
        if (mState.given[i] == 0 && mEngine.io[i].knownAfter <= after && allocatorOf(i) != nullptr)
            TENON_TRY(askAllocator(i, after));
    return Done{};
}

Result<Done> Run::askAllocator(size_t io, int32_t after)
{
    IOFacts const& facts = mEngine.io[io];
    char const* const name = mEngine.plan->io[io].name.c_str();
    TensorArg const arg = TENON_TRY(argOf(mEngine, facts.tensor, mState.registers));
    int64_t const bytes = arg.bytes();
    void* const staged = ioAddress(io);
    int64_t const asked = std::max<int64_t>(bytes, 1); // Nobody gives memory of no bytes.
    void* const memory = reallocate(io, static_cast<uint64_t>(asked));
    if (memory == nullptr)
        return errorOf(
            ErrorCode::kFAILED_ALLOCATION, "the allocator of output '{}' gave no {} bytes{}", name, asked, because());
    if (facts.staging >= 0 && facts.writer <= after)
        TENON_TRY(mEngine.device().copyOnDevice(memory, staged, static_cast<size_t>(bytes), mRequest.stream));
    mState.now[io] = memory;
    mState.given[io] = 1;
    nvinfer1::Dims64 dims{};
    dims.nbDims = static_cast<int32_t>(arg.extents.size());
    std::ranges::copy(arg.extents, dims.d);
    allocatorOf(io)->notifyShape(name, dims);
    forgetExplanation(); // Nothing fails with it.
    return Done{};
}

void* Run::reallocate(size_t io, uint64_t bytes)
{
    try
    {
        char const* const name = mEngine.plan->io[io].name.c_str();
        forgetExplanation();
        return allocatorOf(io)->reallocateOutputAsync(name, mState.addresses[io], bytes, mEngine.device().alignment(),
            static_cast<cudaStream_t>(mRequest.stream));
    }
    catch (std::exception const& problem)
    {
        explain(fmt::format("it threw an exception: {}", problem.what()));
    }
    catch (...)
    {
        explain("it threw an exception that is no std::exception");
    }
    return nullptr;
}

void Run::poison()
{
    for (size_t i = asSize(mEngine.inputs); i < mState.now.size(); ++i)
        if (allocatorOf(i) != nullptr && mState.given[i] == 0)
            mState.now[i] = nullptr;
    poisonOutputs(mEngine, mState.now, mState.registers);
}

} // namespace tenon
