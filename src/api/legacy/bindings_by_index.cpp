// The calls of 8.x that name tensors by index: binding i is I/O tensor i mod n of profile i / n.
#include "api/boundary.h"
#include "api/run/execution_context.h"
#include "ir/type.h"

#include <algorithm>
#include <limits>

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

int32_t CudaEngine::findBinding(char const* call, int32_t bindingIndex) const noexcept
{
    return fenced(mReporting->log(), call, int32_t{-1},
        [&]() -> Result<int32_t> { return TENON_TRY(bindingOf(bindingIndex)).first; });
}

int32_t CudaEngine::getBindingIndex(char const* name) const noexcept
{
    return fenced(mReporting->log(), "ICudaEngine::getBindingIndex", int32_t{-1}, [&]() -> Result<int32_t> {
        auto const found = std::ranges::find(mBindingNames, std::string_view{name == nullptr ? "" : name});
        if (name == nullptr || found == mBindingNames.end())
            return badArgument("'{}' is not a binding of the engine", name == nullptr ? "(null)" : name);
        return static_cast<int32_t>(found - mBindingNames.begin());
    });
}

char const* CudaEngine::getBindingName(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::getBindingName", bindingIndex);
    return io < 0 ? nullptr : mBindingNames[static_cast<size_t>(bindingIndex)].c_str();
}

bool CudaEngine::bindingIsInput(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::bindingIsInput", bindingIndex);
    return io >= 0 && mEngine->io(io).isInput;
}

Dims CudaEngine::getBindingDimensions(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::getBindingDimensions", bindingIndex);
    return io < 0 ? kInvalidDims : dimsOfSample(mEngine->io(io).dims);
}

DataType CudaEngine::getBindingDataType(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::getBindingDataType", bindingIndex);
    return io < 0 ? DataType::kFLOAT : mEngine->io(io).dtype;
}

TensorLocation CudaEngine::getLocation(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::getLocation", bindingIndex);
    return io >= 0 && mEngine->io(io).isShape ? TensorLocation::kHOST : TensorLocation::kDEVICE;
}

int32_t CudaEngine::getBindingBytesPerComponent(int32_t bindingIndex) const noexcept
{
    findBinding("ICudaEngine::getBindingBytesPerComponent", bindingIndex);
    return -1;
}

int32_t CudaEngine::getBindingComponentsPerElement(int32_t bindingIndex) const noexcept
{
    findBinding("ICudaEngine::getBindingComponentsPerElement", bindingIndex);
    return -1;
}

TensorFormat CudaEngine::getBindingFormat(int32_t bindingIndex) const noexcept
{
    findBinding("ICudaEngine::getBindingFormat", bindingIndex);
    return TensorFormat::kLINEAR;
}

char const* CudaEngine::getBindingFormatDesc(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::getBindingFormatDesc", bindingIndex);
    return io < 0 ? "" : getTensorFormatDescV2(mEngine->io(io).name.c_str(), 0);
}

int32_t CudaEngine::getBindingVectorizedDim(int32_t bindingIndex) const noexcept
{
    findBinding("ICudaEngine::getBindingVectorizedDim", bindingIndex);
    return -1;
}

Result<int32_t> CudaEngine::bindingIn(int32_t bindingIndex, int32_t profileIndex) const
{
    TENON_TRY(mEngine->checkProfile(profileIndex));
    auto const [io, profile] = TENON_TRY(bindingOf(bindingIndex));
    if (profile != 0 && profile != profileIndex)
        return badArgument("binding {} is of profile {}, not of {}", bindingIndex, profile, profileIndex);
    return io;
}

Dims CudaEngine::getProfileDimensions(int32_t bindingIndex, int32_t profileIndex, Select select) const noexcept
{
    return fenced(mReporting->log(), "ICudaEngine::getProfileDimensions", kInvalidDims, [&]() -> Result<Dims> {
        int32_t const io = TENON_TRY(bindingIn(bindingIndex, profileIndex));
        return profileShape(mEngine->io(io).name.c_str(), profileIndex, select);
    });
}

int32_t const* CudaEngine::getProfileShapeValues(int32_t profileIndex, int32_t inputIndex, Select select) const noexcept
{
    using Values = int32_t const*;
    return fenced(mReporting->log(), "ICudaEngine::getProfileShapeValues", Values{nullptr}, [&]() -> Result<Values> {
        return narrowValues(TENON_TRY(bindingIn(inputIndex, profileIndex)), profileIndex, select);
    });
}

bool CudaEngine::isShapeBinding(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::isShapeBinding", bindingIndex);
    return io >= 0 && mEngine->io(io).isShape;
}

bool CudaEngine::isExecutionBinding(int32_t bindingIndex) const noexcept
{
    int32_t const io = findBinding("ICudaEngine::isExecutionBinding", bindingIndex);
    if (io < 0)
        return false;
    return mEngine->io(io).isInput ? mEngine->isReadBySteps(io) : !mEngine->io(io).isShape;
}

Result<int32_t> ExecutionContext::ioOf(int32_t bindingIndex) const
{
    auto const [io, profile] = TENON_TRY(mEngine->bindingOf(bindingIndex));
    if (profile != mContext->profile())
        return badArgument(
            "binding {} is of profile {}, the context uses profile {}", bindingIndex, profile, mContext->profile());
    return io;
}

Result<char const*> ExecutionContext::nameOf(int32_t bindingIndex) const
{
    return mContext->engine().io(TENON_TRY(ioOf(bindingIndex))).name.c_str();
}

Result<Done> ExecutionContext::runBindings(BindingsRun const& wanted)
{
    if (wanted.bindings == nullptr)
        return badArgument("the array of addresses is null");
    return run({.stream = wanted.stream,
        .consumed = wanted.consumed,
        .bindings = wanted.bindings,
        .mayContinue = wanted.mayContinue});
}

bool ExecutionContext::enqueueV2(void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::enqueueV2", [&] {
        BindingsRun wanted{.bindings = ofProfile(bindings), .stream = stream};
        wanted.consumed = inputConsumed == nullptr ? nullptr : *inputConsumed;
        return runBindings(wanted);
    });
}

bool ExecutionContext::setOptimizationProfile(int32_t profileIndex) noexcept
{
    return setOptimizationProfileAsync(profileIndex, nullptr);
}

bool ExecutionContext::setBindingDimensions(int32_t bindingIndex, Dims const& dimensions) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setBindingDimensions", [&]() -> Result<Done> {
        TENON_TRY(needsExplicit("the batch size of execute() or enqueue(), all other extents are fixed"));
        PlanIO const& io = mContext->engine().io(TENON_TRY(ioOf(bindingIndex)));
        for (int32_t i = 0; i < std::min(dimensions.nbDims, io.dims.nbDims); ++i)
            if (io.dims.d[i] < 0 && dimensions.d[i] == 0)
                return badArgument(
                    "extent {} of input '{}' is 0; by index only setInputShape()'s callers may give that", i, io.name);
        return mContext->setInputShape(io.name.c_str(), dimensions);
    });
}

Dims ExecutionContext::getBindingDimensions(int32_t bindingIndex) const noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::getBindingDimensions", kInvalidDims, [&]() -> Result<Dims> {
        char const* name = TENON_TRY(nameOf(bindingIndex));
        return mEngine->dimsOfSample(TENON_TRY(mContext->tensorShape(name)));
    });
}

Dims ExecutionContext::getStrides(int32_t bindingIndex) const noexcept
{
    return fenced(mReporting.log(), "IExecutionContext::getStrides", kInvalidDims, [&]() -> Result<Dims> {
        char const* name = TENON_TRY(nameOf(bindingIndex));
        return mEngine->dimsOfSample(TENON_TRY(mContext->tensorStrides(name)));
    });
}

Result<Done> ExecutionContext::setShapeInput(int32_t bindingIndex, std::span<int64_t const> values)
{
    return mContext->setShapeValues(TENON_TRY(ioOf(bindingIndex)), values);
}

Result<std::vector<int64_t>> ExecutionContext::shapeOf(int32_t bindingIndex) const
{
    return mContext->shapeValues(TENON_TRY(ioOf(bindingIndex)));
}

bool ExecutionContext::setInputShapeBinding(int32_t bindingIndex, int32_t const* data) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setInputShapeBinding", [&]() -> Result<Done> {
        PlanIO const& io = mContext->engine().io(TENON_TRY(ioOf(bindingIndex)));
        int64_t const count = io.isShape ? volumeOf(extentsOf(io.dims)) : 0;
        if (data == nullptr && count > 0)
            return badArgument("the address of the values of '{}' is null", io.name);
        return setShapeInput(bindingIndex, std::vector<int64_t>(data, data + std::max<int64_t>(count, 0)));
    });
}

bool ExecutionContext::getShapeBinding(int32_t bindingIndex, int32_t* data) const noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::getShapeBinding", [&]() -> Result<Done> {
        std::vector<int64_t> const values = TENON_TRY(shapeOf(bindingIndex));
        if (data == nullptr && !values.empty())
            return badArgument("there is no place for {} values", values.size());
        for (int64_t const value : values)
            if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
                return badArgument("value {} of binding {} does not fit 32 bits", value, bindingIndex);
        std::copy(values.begin(), values.end(), data);
        return Done{};
    });
}

} // namespace tenon::api
