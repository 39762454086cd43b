// Values of shape tensors: in memory, and as a context is given them and asked for them by copy.
#include "runtime/shape_values.h"

#include "base/real_op.h"
#include "runtime/context_state.h"

#include <algorithm>
#include <limits>

namespace tenon
{

int64_t shapeValue(PlanIO const& io, void const* data, int32_t index) noexcept
{
    switch (io.dtype)
    {
    case DType::kINT64: return static_cast<int64_t const*>(data)[index];
    case DType::kINT32: return static_cast<int32_t const*>(data)[index];
    case DType::kINT8: return static_cast<int8_t const*>(data)[index];
    case DType::kUINT8: return static_cast<uint8_t const*>(data)[index];
    case DType::kFLOAT: return realBits(static_cast<double>(static_cast<float const*>(data)[index]));
    default: return static_cast<uint8_t const*>(data)[index] != 0 ? 1 : 0;
    }
}

void writeShapeValues(PlanIO const& io, void* data, std::span<int64_t const> values, bool real) noexcept
{
    for (size_t i = 0; i < values.size(); ++i)
        if (io.dtype == DType::kINT64)
            static_cast<int64_t*>(data)[i] = values[i];
        else if (io.dtype == DType::kINT32)
            static_cast<int32_t*>(data)[i] = static_cast<int32_t>(values[i]);
        else if (io.dtype == DType::kINT8 || io.dtype == DType::kUINT8)
            static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(values[i]);
        else if (io.dtype == DType::kBOOL)
            static_cast<uint8_t*>(data)[i] = values[i] != 0 ? 1 : 0;
        else if (io.dtype == DType::kFLOAT)
            static_cast<float*>(data)[i] =
                real ? static_cast<float>(fromRealBits(values[i])) : static_cast<float>(values[i]);
}

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
    auto const held = TENON_TRY(mState->takeToChange()); // A run may read the values that these replace.
    mState->bindings.setOwnValues(asSize(io), values);
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
        void const* const data = mState->bindings.addresses()[asSize(io)];
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
    return TENON_TRY(argOf(mState->engine, source, *mState->registersNow())).extents;
}

bool Context::allShapeValuesSet() const noexcept
{
    for (int32_t i = 0; i < engine().inputCount(); ++i)
        if (engine().io(i).isShape && mState->bindings.addresses()[asSize(i)] == nullptr)
            return false;
    return true;
}

} // namespace tenon
