// Tensor: names, extents and the properties that a build reads.
#include "api/network/tensor.h"

#include "api/boundary.h"
#include "api/network/network.h"

#include <algorithm>
#include <cmath>

namespace tenon::api
{

namespace
{
//! Every format of 10.16 (rule C14).
constexpr uint32_t kAllFormats{(1U << nvinfer1::EnumMax<nvinfer1::TensorFormat>()) - 1U};
} // namespace

Tensor::Tensor(Network& network, LayerBase* producer, int32_t index)
    : mNetwork{network},
      mProducer{producer},
      mIndex{index},
      mFormats{kAllFormats}
{
    mImpl = this;
}

Log const& Tensor::log() const noexcept
{
    return mNetwork.reporting().log();
}

void Tensor::notImplemented(char const* call) const noexcept
{
    mNetwork.reporting().notImplemented(call);
}

void Tensor::declare(std::string name, nvinfer1::DataType type, Dims const& dims)
{
    mName = std::move(name);
    mIsNamed = true;
    mType = type;
    mDeclared = dims;
}

std::string const& Tensor::name() const
{
    if (!mIsNamed)
        mName = mProducer->name() + "_output" + (mIndex == 0 ? "" : "_" + std::to_string(mIndex));
    return mName;
}

void Tensor::setName(char const* name) noexcept
{
    fencedDone(log(), "ITensor::setName", [&]() -> Result<Done> {
        std::string checked = TENON_TRY(checkedName(name, "a tensor"));
        if (isNetworkInput() || isMarkedOutput)
            TENON_TRY(mNetwork.checkUnique(checked, this));
        if (!isRemoved && (isNetworkInput() || isNetworkOutput()))
            mNetwork.renamed(this->name(), checked);
        mName = std::move(checked);
        mIsNamed = true;
        return Done{};
    });
}

char const* Tensor::getName() const noexcept
{
    return fenced(log(), "ITensor::getName", static_cast<char const*>(""), [&] { return this->name().c_str(); });
}

void Tensor::setDimensions(Dims const& dimensions) noexcept
{
    fencedDone(log(), "ITensor::setDimensions", [&]() -> Result<Done> {
        if (!isNetworkInput())
            return badArgument("tensor '{}' is not a network input", name());
        TENON_TRY(checkDims(dimensions, -1, fmt::format("tensor '{}'", name())));
        mDeclared = dimensions;
        mNetwork.edited(nullptr);
        return Done{};
    });
}

Dims Tensor::getDimensions() const noexcept
{
    return fenced(log(), "ITensor::getDimensions", kInvalidDims, [&] {
        mNetwork.infer();
        return inferred.valid ? dimsOf(inferred.type.shape) : kInvalidDims;
    });
}

void Tensor::setType(nvinfer1::DataType type) noexcept
{
    fencedDone(log(), "ITensor::setType", [&]() -> Result<Done> {
        if (!isValid(type))
            return badArgument("tensor '{}': data type {} does not exist", name(), static_cast<int32_t>(type));
        if (!isNetworkInput())
            return mProducer->requestOutputType(mIndex, type);
        mType = type;
        mNetwork.edited(nullptr);
        return Done{};
    });
}

nvinfer1::DataType Tensor::getType() const noexcept
{
    return fenced(log(), "ITensor::getType", nvinfer1::DataType::kFLOAT, [&] {
        mNetwork.infer();
        return inferred.valid ? inferred.type.dtype : mType;
    });
}

bool Tensor::setDynamicRange(float min, float max) noexcept
{
    return fencedDone(log(), "ITensor::setDynamicRange", [&]() -> Result<Done> {
        if (!std::isfinite(min) || !std::isfinite(max) || min > max)
            return badArgument("tensor '{}': [{}, {}] is no range", name(), min, max);
        mRange.emplace(min, max);
        mNetwork.edited(mProducer);
        return Done{};
    });
}

bool Tensor::isQuantizable() const
{
    return mRange && !mNetwork.isStronglyTyped() && !mNetwork.quantizesItself();
}

std::optional<float> Tensor::scale() const noexcept
{
    if (!mRange)
        return std::nullopt;
    float const reach = std::max(std::abs(mRange->first), std::abs(mRange->second));
    return reach > 0.0F ? reach / 127.0F : 1.0F;
}

bool Tensor::isNetworkInput() const noexcept
{
    return mProducer == nullptr;
}

bool Tensor::isNetworkOutput() const noexcept
{
    return isMarkedOutput || isMarkedForShapes;
}

void Tensor::setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept
{
    if (mNetwork.isMadeExplicit())
        log().warning("ITensor::setBroadcastAcrossBatch has no effect on a network with explicit batch");
    else if (!isNetworkInput())
        log().warning(
            fmt::format("ITensor::setBroadcastAcrossBatch has no effect on '{}', which is no network input", name()));
    else
    {
        isBroadcast = broadcastAcrossBatch;
        mNetwork.edited(nullptr);
    }
}

bool Tensor::getBroadcastAcrossBatch() const noexcept
{
    if (!mNetwork.isImplicit())
        return isBroadcast;
    mNetwork.infer();
    return inferred.valid && inferred.isShared;
}

nvinfer1::TensorLocation Tensor::getLocation() const noexcept
{
    return isShapeTensor() && (isNetworkInput() || isNetworkOutput()) ? nvinfer1::TensorLocation::kHOST
                                                                      : nvinfer1::TensorLocation::kDEVICE;
}

void Tensor::setLocation(nvinfer1::TensorLocation location) noexcept
{
    if (location != getLocation()) // Programs that say what is so anyway need not hear of it.
        log().warning("ITensor::setLocation has no effect: shape tensors live on the host, all others on the device");
}

bool Tensor::dynamicRangeIsSet() const noexcept
{
    return mRange.has_value();
}

void Tensor::resetDynamicRange() noexcept
{
    mRange.reset();
    mNetwork.edited(mProducer);
}

float Tensor::getDynamicRangeMin() const noexcept
{
    return mRange ? mRange->first : std::nanf("");
}

float Tensor::getDynamicRangeMax() const noexcept
{
    return mRange ? mRange->second : std::nanf("");
}

void Tensor::setAllowedFormats(uint32_t formats) noexcept
{
    mFormats = formats;
    mHasOwnFormats = true;
}

uint32_t Tensor::getAllowedFormats() const noexcept
{
    return mFormats;
}

bool Tensor::isShapeTensor() const noexcept
{
    return fenced(log(), "ITensor::isShapeTensor", false, [&] { return mNetwork.isReadForShapes(*this); });
}

bool Tensor::isExecutionTensor() const noexcept
{
    return fenced(log(), "ITensor::isExecutionTensor", true, [&] { return mNetwork.isReadAsData(*this); });
}

void Tensor::setDimensionName(int32_t index, char const* name) noexcept
{
    fencedDone(log(), "ITensor::setDimensionName", [&]() -> Result<Done> {
        if (index < 0 || index >= Dims::MAX_DIMS)
            return badArgument("tensor '{}' has no dimension {}", this->name(), index);
        if (!isNetworkInput())
            return badArgument("tensor '{}' is not a network input: only their dimensions have names", this->name());
        std::string checked;
        if (name != nullptr)
            checked = TENON_TRY(checkedName(name, "a dimension"));
        mDimensionNames[static_cast<size_t>(index)] = std::move(checked);
        mNetwork.edited(nullptr);
        return Done{};
    });
}

char const* Tensor::getDimensionName(int32_t index) const noexcept
{
    if (index < 0 || index >= Dims::MAX_DIMS || mDimensionNames[static_cast<size_t>(index)].empty())
        return nullptr;
    return mDimensionNames[static_cast<size_t>(index)].c_str();
}

} // namespace tenon::api
