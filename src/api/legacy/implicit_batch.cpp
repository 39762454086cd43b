// The calls of 8.x that run a number of samples: on engines whose dims leave the batch out, and what they mean on
// others.
#include "api/boundary.h"
#include "api/run/execution_context.h"

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
Dims withoutFront(Dims const& dims)
{
    if (dims.nbDims < 1)
        return dims;
    Dims rest{dims.nbDims - 1, {}};
    std::copy(dims.d + 1, dims.d + dims.nbDims, rest.d);
    return rest;
}
} // namespace

bool CudaEngine::isImplicit() const noexcept
{
    return mEngine->plan().batch.mode == PlanBatchMode::kImplicit;
}

Dims CudaEngine::dimsOfSample(Dims const& dims) const noexcept
{
    return isImplicit() ? withoutFront(dims) : dims;
}

bool CudaEngine::hasImplicitBatchDimension() const noexcept
{
    return isImplicit();
}

int32_t CudaEngine::getMaxBatchSize() const noexcept
{
    return isImplicit() ? mEngine->plan().batch.most : 1; // 1: what 8.x answers where the batch is explicit.
}

Result<Done> ExecutionContext::needsExplicit(char const* instead) const
{
    if (mEngine->isImplicit())
        return errorOf(ErrorCode::kINVALID_STATE, "the engine's batch is implicit (at most {}): use {}",
            mEngine->getMaxBatchSize(), instead);
    return Done{};
}

Result<Done> ExecutionContext::setBatch(int32_t batchSize) const
{
    for (int32_t i = 0; i < mEngine->engine().inputCount(); ++i)
    {
        PlanIO const& io = mEngine->engine().io(i);
        if (io.dims.d[0] >= 0)
            continue; // All samples share it.
        Dims dims = io.dims;
        dims.d[0] = batchSize;
        return mContext->setInputShape(io.name.c_str(), dims); // The others have the batch by its name.
    }
    return Done{};
}

Result<Done> ExecutionContext::takeBatch(int32_t batchSize)
{
    PlanBatch const& batch = mEngine->engine().plan().batch;
    if (batch.mode == PlanBatchMode::kExplicit)
    {
        if (!std::exchange(mSaidBatchIsExplicit, true))
            mReporting.log().warning(
                fmt::format("the network was made with kEXPLICIT_BATCH: the batch size, {}, has no effect", batchSize));
        return Done{};
    }
    if (batchSize < 1)
        return badArgument("a batch of {} samples", batchSize);
    if (batch.mode == PlanBatchMode::kUndeclared && batchSize > 1)
        return badArgument("a batch of {} samples: the engine's batch is not implicit. Call setMaxBatchSize() of the "
                           "builder before the build (or set TENON_IMPLICIT_BATCH=1), or make the network with "
                           "kEXPLICIT_BATCH",
            batchSize);
    if (batch.mode == PlanBatchMode::kUndeclared)
        return Done{};
    if (batchSize > batch.most)
        return badArgument("a batch of {} samples: the engine was built for {} at most, the builder's max batch size",
            batchSize, batch.most);
    return setBatch(batchSize);
}

Result<Done> ExecutionContext::runBatch(int32_t batchSize, RunRequest const& request)
{
    if (request.bindings == nullptr)
        return badArgument("the array of addresses is null");
    TENON_TRY(takeBatch(batchSize));
    return start(request);
}

void* const* ExecutionContext::ofProfile(void* const* bindings) const noexcept
{
    auto const count = static_cast<std::ptrdiff_t>(mContext->engine().ioCount());
    return bindings == nullptr ? nullptr : bindings + mContext->profile() * count;
}

Result<void*> ExecutionContext::eventOf(cudaEvent_t const* event) const
{
    void* const handle = event == nullptr ? nullptr : *event;
    if (handle != nullptr)
        TENON_TRY(mContext->engine().device().checkEvent(handle));
    return handle;
}

bool ExecutionContext::execute(int32_t batchSize, void* const* bindings) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::execute",
        [&] { return runBatch(batchSize, {.isSynchronous = true, .bindings = ofProfile(bindings)}); });
}

bool ExecutionContext::enqueue(
    int32_t batchSize, void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::enqueue", [&]() -> Result<Done> {
        void* const event = TENON_TRY(eventOf(inputConsumed));
        return runBatch(batchSize, {.stream = stream, .consumed = event, .bindings = ofProfile(bindings)});
    });
}

} // namespace tenon::api
