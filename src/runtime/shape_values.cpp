// Context: values of shape tensors, given and asked for by copy.
#include "runtime/context_state.h"

#include <algorithm>
#include <limits>

namespace tenon
{

namespace
{
size_t valueCount(PlanIO const& io) noexcept
{
    return io.dims.nbDims == 0 ? 1 : static_cast<size_t>(std::max<int64_t>(io.dims.d[0], 0));
}

Result<Done> checkValue(PlanIO const& io, size_t index, int64_t value)
{
    bool const fits = io.dtype == DType::kINT64 || io.dtype == DType::kFLOAT
        || (io.dtype == DType::kINT32 && value >= std::numeric_limits<int32_t>::min()
            && value <= std::numeric_limits<int32_t>::max())
        || (value >= 0 && value <= (io.dtype == DType::kBOOL ? 1 : 255));
    return fits ? Result<Done>{Done{}}
                : badArgument("value {} of shape tensor '{}' is {}, which its type cannot hold", index, io.name, value);
}
} // namespace

Result<Done> Context::setShapeValues(int32_t io, std::span<int64_t const> values)
{
    PlanIO const& tensor = engine().io(io);
    if (!tensor.isInput || !tensor.isShape)
        return badArgument("'{}' is not a shape tensor and an input", tensor.name);
    if (values.size() != valueCount(tensor))
        return badArgument(
            "shape tensor '{}' has {} values; {} were given", tensor.name, valueCount(tensor), values.size());
    PlanProfileInput const* const bounds = mState->engine.profileInput(profile(), io);
    for (size_t i = 0; i < values.size(); ++i)
    {
        TENON_TRY(checkValue(tensor, i, values[i]));
        bool const isBounded = bounds != nullptr && i < bounds->minValues.size();
        if (isBounded && (values[i] < bounds->minValues[i] || values[i] > bounds->maxValues[i]))
            return badArgument("value {} of shape tensor '{}' is {}, outside [{}, {}] of profile {}", i, tensor.name,
                values[i], bounds->minValues[i], bounds->maxValues[i], profile());
    }
    TENON_TRY(mState->checkNotRunning()); // Its steps may read the values that these replace.
    auto own = std::make_shared<std::vector<std::byte>>(std::max<size_t>(values.size(), 1) * sizeof(int64_t));
    writeShapeValues(tensor, own->data(), values, false);
    mState->addresses[asSize(io)] = own->data(); // Never written, as no input is.
    mState->ownValues[asSize(io)] = std::move(own);
    return Done{};
}

Result<std::vector<int64_t>> Context::shapeValues(int32_t io) const
{
    PlanIO const& tensor = engine().io(io);
    if (!tensor.isShape)
        return badArgument("'{}' is not a shape tensor", tensor.name);
    if (tensor.dtype == DType::kFLOAT)
        return badArgument("the values of shape tensor '{}' are no integers", tensor.name);
    std::vector<int64_t> values;
    if (tensor.isInput)
    {
        void const* const data = mState->addresses[asSize(io)];
        if (data == nullptr)
            return errorOf(ErrorCode::kINVALID_STATE, "the values of shape tensor '{}' are not set", tensor.name);
        for (size_t i = 0; i < valueCount(tensor); ++i)
            values.push_back(shapeValue(tensor, data, static_cast<int32_t>(i)));
        return values;
    }
    if (!allInputShapesSet() || !allShapeValuesSet())
        return errorOf(ErrorCode::kINVALID_STATE,
            "the values of '{}' are known once the shapes of all inputs and the values of all shape tensors are set",
            tensor.name);
    int32_t const source = mState->engine.io[asSize(io)].valuesTensor;
    if (source < 0)
        return errorOf(ErrorCode::kINVALID_STATE, "the values of '{}' are known after running only", tensor.name);
    auto const registers = mState->registersNow();
    return TENON_TRY(argOf(mState->engine, source, registers)).extents;
}

bool Context::allShapeValuesSet() const noexcept
{
    for (int32_t i = 0; i < engine().inputCount(); ++i)
        if (engine().io(i).isShape && mState->addresses[asSize(i)] == nullptr)
            return false;
    return true;
}

} // namespace tenon
