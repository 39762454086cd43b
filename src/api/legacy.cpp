// The calls of 8.x that name tensors by index: binding i is I/O tensor i mod n of profile i / n.
#include "api/boundary.h"
#include "api/execution_context.h"

namespace tenon::api
{

using namespace nvinfer1;

Result<std::pair<int32_t, int32_t>> CudaEngine::bindingOf(int32_t bindingIndex) const
{
    int32_t const count = mEngine->ioCount();
    if (bindingIndex < 0 || bindingIndex >= getNbBindings())
        return badArgument("there is no binding {}", bindingIndex);
    return std::pair{bindingIndex % count, bindingIndex / count};
}

int32_t CudaEngine::getNbBindings() const noexcept
{
    return static_cast<int32_t>(mBindingNames.size());
}

int32_t CudaEngine::getBindingIndex(char const* name) const noexcept
{
    for (size_t i = 0; name != nullptr && i < mBindingNames.size(); ++i)
        if (mBindingNames[i] == name)
            return static_cast<int32_t>(i);
    return -1;
}

char const* CudaEngine::getBindingName(int32_t bindingIndex) const noexcept
{
    return bindingOf(bindingIndex) ? mBindingNames[static_cast<size_t>(bindingIndex)].c_str() : nullptr;
}

bool CudaEngine::bindingIsInput(int32_t bindingIndex) const noexcept
{
    auto const binding = bindingOf(bindingIndex);
    return binding && mEngine->io((*binding).first).isInput;
}

Dims CudaEngine::getBindingDimensions(int32_t bindingIndex) const noexcept
{
    auto const binding = bindingOf(bindingIndex);
    return binding ? mEngine->io((*binding).first).dims : kInvalidDims;
}

DataType CudaEngine::getBindingDataType(int32_t bindingIndex) const noexcept
{
    auto const binding = bindingOf(bindingIndex);
    return binding ? mEngine->io((*binding).first).dtype : DataType::kFLOAT;
}

int32_t CudaEngine::getMaxBatchSize() const noexcept
{
    return 1; // What 8.x answers for a network with explicit batch.
}

TensorLocation CudaEngine::getLocation(int32_t bindingIndex) const noexcept
{
    return isShapeBinding(bindingIndex) ? TensorLocation::kHOST : TensorLocation::kDEVICE;
}

int32_t CudaEngine::getBindingBytesPerComponent(int32_t) const noexcept
{
    return -1;
}

int32_t CudaEngine::getBindingComponentsPerElement(int32_t) const noexcept
{
    return -1;
}

TensorFormat CudaEngine::getBindingFormat(int32_t) const noexcept
{
    return TensorFormat::kLINEAR;
}

char const* CudaEngine::getBindingFormatDesc(int32_t bindingIndex) const noexcept
{
    auto const binding = bindingOf(bindingIndex);
    return binding ? getTensorFormatDescV2(mEngine->io((*binding).first).name.c_str(), (*binding).second) : "";
}

int32_t CudaEngine::getBindingVectorizedDim(int32_t) const noexcept
{
    return -1;
}

Dims CudaEngine::getProfileDimensions(int32_t bindingIndex, int32_t profileIndex, Select select) const noexcept
{
    auto const binding = bindingOf(bindingIndex);
    return binding ? getProfileShape(mEngine->io((*binding).first).name.c_str(), profileIndex, select) : kInvalidDims;
}

int32_t const* CudaEngine::getProfileShapeValues(int32_t, int32_t, Select) const noexcept
{
    return nullptr; // Plans hold 64-bit values, which exclude the 32-bit call (rule F3).
}

bool CudaEngine::isShapeBinding(int32_t bindingIndex) const noexcept
{
    auto const binding = bindingOf(bindingIndex);
    return binding && mEngine->io((*binding).first).isShape;
}

bool CudaEngine::isExecutionBinding(int32_t bindingIndex) const noexcept
{
    auto const binding = bindingOf(bindingIndex);
    return binding && !mEngine->io((*binding).first).isShape;
}

Result<char const*> ExecutionContext::nameOf(int32_t bindingIndex) const
{
    auto const [io, profile] = TENON_TRY(mEngine->bindingOf(bindingIndex));
    if (profile != mContext->profile())
        return badArgument(
            "binding {} is of profile {}, the context uses profile {}", bindingIndex, profile, mContext->profile());
    return mContext->engine().io(io).name.c_str();
}

bool ExecutionContext::enqueueV2(void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::enqueueV2", [&]() -> Result<Done> {
        if (bindings == nullptr)
            return badArgument("the array of addresses is null");
        void* const event = inputConsumed == nullptr ? nullptr : *inputConsumed;
        if (event != nullptr)
            TENON_TRY(mContext->engine().device().checkEvent(event));
        auto const* mine = bindings + static_cast<std::ptrdiff_t>(mContext->profile()) * mContext->engine().ioCount();
        return run({.stream = stream, .consumed = event, .bindings = mine});
    });
}

bool ExecutionContext::setOptimizationProfile(int32_t profileIndex) noexcept
{
    return setOptimizationProfileAsync(profileIndex, nullptr);
}

bool ExecutionContext::setBindingDimensions(int32_t bindingIndex, Dims const& dimensions) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setBindingDimensions", [&]() -> Result<Done> {
        char const* name = TENON_TRY(nameOf(bindingIndex));
        return mContext->setInputShape(name, dimensions);
    });
}

Dims ExecutionContext::getBindingDimensions(int32_t bindingIndex) const noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::getBindingDimensions", kInvalidDims, [&]() -> Result<Dims> {
        char const* name = TENON_TRY(nameOf(bindingIndex));
        return mContext->tensorShape(name);
    });
}

Dims ExecutionContext::getStrides(int32_t bindingIndex) const noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::getStrides", kInvalidDims, [&]() -> Result<Dims> {
        char const* name = TENON_TRY(nameOf(bindingIndex));
        return mContext->tensorStrides(name);
    });
}

} // namespace tenon::api
