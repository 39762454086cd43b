// ExecutionContext: shapes, addresses and runs; errors become the public answers.
#include "api/run/execution_context.h"

#include "api/boundary.h"

#include <algorithm>

namespace tenon::api
{

using namespace nvinfer1;

ExecutionContext::ExecutionContext(
    std::shared_ptr<CudaEngine> engine, std::unique_ptr<Context> context, std::shared_ptr<RuntimeConfig> config)
    : mEngine{std::move(engine)},
      mReporting{mEngine->reporting()},
      mContext{std::move(context)},
      mConfig{std::move(config)},
      mWatch{*mEngine}
{
    mEngine->countContext(1);
    mContext->setLog(mReporting.log());
    if (mConfig != nullptr)
        mContext->setSpin(mConfig->spin());
    if (Result<Done> const set = mEngine->isImplicit() ? setBatch(mEngine->getMaxBatchSize()) : Done{}; !set)
        mReporting.log().error(set.error());
}

ExecutionContext::~ExecutionContext()
{
    mEngine->countContext(-1);
}

IExecutionContext* ExecutionContext::getPImpl() noexcept
{
    return &front();
}

ICudaEngine const& ExecutionContext::getEngine() const noexcept
{
    return mEngine->front();
}

bool ExecutionContext::setCommunicator(void* communicator) noexcept
{
    return mReporting.fail(
        badArgument("IExecutionContext::setCommunicator: the engine has no collective layers, which {} could serve",
            communicator == nullptr ? "a communicator" : "the communicator"));
}

void ExecutionContext::setName(char const* name) noexcept
{
    fencedDone(mReporting.log(), "IExecutionContext::setName", [&]() -> Result<Done> {
        mWatch.setName(TENON_TRY(checkedName(name, "the context")));
        return Done{};
    });
}

char const* ExecutionContext::getName() const noexcept
{
    return mWatch.name();
}

void ExecutionContext::setDeviceMemory(void* memory) noexcept
{
    fencedDone(mReporting.log(), "IExecutionContext::setDeviceMemory",
        [&] { return mContext->setDeviceMemory(memory, std::nullopt); });
}

void ExecutionContext::setDeviceMemoryV2(void* memory, int64_t size) noexcept
{
    fencedDone(mReporting.log(), "IExecutionContext::setDeviceMemoryV2",
        [&] { return mContext->setDeviceMemory(memory, size); });
}

size_t ExecutionContext::updateDeviceMemorySizeForShapes() noexcept
{
    return static_cast<size_t>(fenced(mReporting.log(), "IExecutionContext::updateDeviceMemorySizeForShapes",
        int64_t{0}, [&]() -> Result<int64_t> { return mContext->updateDeviceMemorySizeForShapes(); }));
}

int32_t ExecutionContext::getOptimizationProfile() const noexcept
{
    return mContext->profile();
}

bool ExecutionContext::setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setOptimizationProfileAsync",
        [&] { return mContext->setProfile(profileIndex, stream); });
}

bool ExecutionContext::allInputDimensionsSpecified() const noexcept
{
    return mContext->allInputShapesSet();
}

bool ExecutionContext::allInputShapesSpecified() const noexcept
{
    return mContext->allShapeValuesSet();
}

void ExecutionContext::setErrorRecorder(IErrorRecorder* recorder) noexcept
{
    mReporting.setRecorder(recorder);
    mContext->setRecorder(mReporting.log().recorder());
}

IErrorRecorder* ExecutionContext::getErrorRecorder() const noexcept
{
    return mReporting.recorder();
}

Result<Done> ExecutionContext::run(RunRequest request)
{
    TENON_TRY(needsExplicit("execute() or enqueue() with a batch size"));
    return start(std::move(request));
}

Result<Done> ExecutionContext::start(RunRequest request)
{
    return mWatch.run(*mContext, std::move(request));
}

bool ExecutionContext::executeV2(void* const* bindings) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::executeV2", [&]() -> Result<Done> {
        if (bindings == nullptr)
            return badArgument("the array of addresses is null");
        return run({.isSynchronous = true, .bindings = bindings});
    });
}

bool ExecutionContext::enqueueV3(cudaStream_t stream) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::enqueueV3",
        [&] { return run({.stream = stream, .consumed = mContext->inputConsumedEvent()}); });
}

bool ExecutionContext::setInputShape(char const* tensorName, Dims const& dims) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setInputShape", [&]() -> Result<Done> {
        TENON_TRY(needsExplicit("the batch size of execute() or enqueue(), all other extents are fixed"));
        return mContext->setInputShape(tensorName, dims);
    });
}

Dims ExecutionContext::getTensorShape(char const* tensorName) const noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::getTensorShape", kInvalidDims,
        [&]() -> Result<Dims> { return mEngine->dimsOfSample(TENON_TRY(mContext->tensorShape(tensorName))); });
}

Dims ExecutionContext::getTensorStrides(char const* tensorName) const noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::getTensorStrides", kInvalidDims,
        [&]() -> Result<Dims> { return mEngine->dimsOfSample(TENON_TRY(mContext->tensorStrides(tensorName))); });
}

bool ExecutionContext::setTensorAddress(char const* tensorName, void* data) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setTensorAddress",
        [&] { return mContext->setTensorAddress(tensorName, data); });
}

void const* ExecutionContext::getTensorAddress(char const* tensorName) const noexcept
{
    return knows("IExecutionContext::getTensorAddress", tensorName) ? mContext->tensorAddress(tensorName) : nullptr;
}

bool ExecutionContext::knows(char const* call, char const* tensorName) const noexcept
{
    return fencedDone(mReporting.log(), call, [&]() -> Result<Done> {
        TENON_TRY(mContext->engine().ioOf(tensorName));
        return Done{};
    });
}

bool ExecutionContext::setInputTensorAddress(char const* tensorName, void const* data) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setInputTensorAddress",
        [&] { return mContext->setInputAddress(tensorName, data); });
}

bool ExecutionContext::setOutputTensorAddress(char const* tensorName, void* data) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setOutputTensorAddress",
        [&] { return mContext->setOutputAddress(tensorName, data); });
}

void* ExecutionContext::getOutputTensorAddress(char const* tensorName) const noexcept
{
    return knows("IExecutionContext::getOutputTensorAddress", tensorName) ? mContext->outputAddress(tensorName)
                                                                          : nullptr;
}

int32_t ExecutionContext::inferShapes(int32_t nbMaxNames, char const** tensorNames) noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::inferShapes", int32_t{-1}, [&]() -> Result<int32_t> {
        if (nbMaxNames < 0 || (tensorNames == nullptr && nbMaxNames != 0))
            return badArgument("{} for {} names", tensorNames == nullptr ? "a null array" : "an array", nbMaxNames);
        std::vector<char const*> const lacking = TENON_TRY(mContext->inferShapes());
        for (size_t i = 0; i < lacking.size() && i < static_cast<size_t>(nbMaxNames); ++i)
            tensorNames[i] = lacking[i];
        return static_cast<int32_t>(lacking.size());
    });
}

bool ExecutionContext::setInputConsumedEvent(cudaEvent_t event) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setInputConsumedEvent",
        [&] { return mContext->setInputConsumedEvent(event); });
}

cudaEvent_t ExecutionContext::getInputConsumedEvent() const noexcept
{
    return static_cast<cudaEvent_t>(mContext->inputConsumedEvent());
}

bool ExecutionContext::setOutputAllocator(char const* tensorName, IOutputAllocator* allocator) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setOutputAllocator",
        [&] { return mContext->setOutputAllocator(tensorName, allocator); });
}

IOutputAllocator* ExecutionContext::getOutputAllocator(char const* tensorName) noexcept
{
    return knows("IExecutionContext::getOutputAllocator", tensorName) ? mContext->outputAllocator(tensorName) : nullptr;
}

int64_t ExecutionContext::getMaxOutputSize(char const* tensorName) const noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::getMaxOutputSize", int64_t{-1}, [&]() -> Result<int64_t> {
        if (mEngine->isImplicit())
            TENON_TRY(setBatch(mEngine->getMaxBatchSize())); // Whichever batch the next run has.
        TENON_TRY(mContext->engine().ioOf(tensorName));
        if (!mContext->allInputShapesSet())
            return int64_t{-1}; // Not known yet (Q17).
        return mContext->maxOutputSize(tensorName);
    });
}

bool ExecutionContext::setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setTemporaryStorageAllocator",
        [&] { return mContext->setTemporaryAllocator(allocator); });
}

IGpuAllocator* ExecutionContext::getTemporaryStorageAllocator() const noexcept
{
    return mContext->temporaryAllocator();
}

void ExecutionContext::setPersistentCacheLimit(size_t size) noexcept
{
    mCacheLimit = size;
}

size_t ExecutionContext::getPersistentCacheLimit() const noexcept
{
    return mCacheLimit;
}

IRuntimeConfig* ExecutionContext::getRuntimeConfig() const noexcept
{
    return mConfig == nullptr ? nullptr : &mConfig->front();
}

void ExecutionContext::setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept
{
    fencedDone(mReporting.log(), "IExecutionContext::setAuxStreams", [&]() -> Result<Done> {
        if (nbStreams < 0 || (auxStreams == nullptr && nbStreams > 0))
            return badArgument("{} of {} streams", auxStreams == nullptr ? "a null array" : "an array", nbStreams);
        std::vector<void*> const streams(auxStreams, auxStreams + nbStreams);
        return mContext->setAuxStreams(streams);
    });
}

} // namespace tenon::api
