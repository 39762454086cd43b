// ContextRunner: what custom layers, output allocators and failed runs' outputs are told, asked and given.
#include "runtime/context_runner.h"

#include "base/explanation.h"

#include <algorithm>

namespace tenon
{

Result<Done> ContextRunner::awaitAttached() const
{
    if (mState.frames.recordings() > (mIsCaptured ? 1 : 0))
        return errorOf(ErrorCode::kINVALID_STATE,
            "a recording of this context's runs exists, and its custom layers know the shapes and addresses of one "
            "run: destroy the graphs that were captured from it before it runs others, or use another context");
    if (mEngine.device().isWorking() && mState.frames.areUnderWay())
        return errorOf(ErrorCode::kINVALID_STATE,
            "custom layers hear of other shapes and addresses when earlier runs of the context are over, and work "
            "of a stream cannot wait for those");
    if (!mState.frames.wait(mRequest->mayContinue))
        return dropped();
    return Done{};
}

Result<Done> ContextRunner::askAllocators(int32_t after)
{
    for (size_t i = asSize(mEngine.inputs); i < mIO.size(); ++i)
        if (mGiven[i] == 0 && mEngine.io[i].knownAfter <= after && allocatorOf(i) != nullptr)
            TENON_TRY(askAllocator(i, after));
    return Done{};
}

Result<Done> ContextRunner::askAllocator(size_t io, int32_t after)
{
    IOFacts const& facts = mEngine.io[io];
    char const* const name = mEngine.plan->io[io].name.c_str();
    TensorArg const arg = TENON_TRY(argOf(mEngine, facts.tensor, mRegisters));
    int64_t const bytes = arg.bytes();
    void* const staged = ioAddress(io);
    int64_t const asked = std::max<int64_t>(bytes, 1); // Nobody gives memory of no bytes.
    void* const memory = reallocate(io, static_cast<uint64_t>(asked));
    if (memory == nullptr)
        return errorOf(
            ErrorCode::kFAILED_ALLOCATION, "the allocator of output '{}' gave no {} bytes{}", name, asked, because());
    if (facts.staging >= 0 && facts.writer <= after)
        TENON_TRY(mEngine.device().copyOnDevice(memory, staged, static_cast<size_t>(bytes), mRequest->stream));
    mIO[io] = memory;
    mGiven[io] = 1;
    std::ranges::fill(mWritten, nullptr);
    nvinfer1::Dims64 dims{};
    dims.nbDims = static_cast<int32_t>(arg.extents.size());
    std::ranges::copy(arg.extents, dims.d);
    allocatorOf(io)->notifyShape(name, dims);
    forgetExplanation(); // Nothing fails with it.
    return Done{};
}

void* ContextRunner::reallocate(size_t io, uint64_t bytes)
{
    try
    {
        char const* const name = mEngine.plan->io[io].name.c_str();
        forgetExplanation();
        return allocatorOf(io)->reallocateOutputAsync(name, mState.bindings.addresses()[io], bytes,
            mEngine.device().alignment(), static_cast<cudaStream_t>(mRequest->stream));
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

void ContextRunner::poison()
{
    for (size_t i = asSize(mEngine.inputs); i < mIO.size(); ++i)
        if (allocatorOf(i) != nullptr && mGiven[i] == 0)
            mIO[i] = nullptr;
    poisonOutputs(mEngine, mIO, mRegisters);
}

} // namespace tenon
