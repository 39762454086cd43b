// LayerBase: the calls that all layers share.
#include "api/network/layer_base.h"

#include "api/boundary.h"
#include "api/network/network.h"

#include <algorithm>

namespace tenon::api
{

using nvinfer1::DataType;
using nvinfer1::LayerType;

LayerBase::LayerBase(Network& network, std::string_view kind, PublicFacts const& facts)
    : mNetwork{network},
      mKind{kind},
      mFacts{facts}
{
    for (int32_t i = 0; i < facts.outputs; ++i)
        mOutputs.push_back(std::make_unique<Tensor>(network, this, i));
    mOutputTypes.resize(static_cast<size_t>(facts.outputs));
}

void LayerBase::start(std::vector<Tensor*> inputs)
{
    mFacts.maxInputs = std::max(mFacts.maxInputs, static_cast<int32_t>(inputs.size()));
    mInputs = std::move(inputs);
    mName = fmt::format("(Unnamed Layer* {}) [{}]", ordinal, mKind);
}

Log const& LayerBase::log() const noexcept
{
    return mNetwork.reporting().log();
}

void LayerBase::notImplemented(char const* call) const noexcept
{
    mNetwork.reporting().notImplemented(call);
}

bool LayerBase::takesDims(char const* call, Dims const& dims, int32_t minRank) const noexcept
{
    return fencedDone(log(), call, [&] { return checkRank(dims, minRank, fmt::format("layer '{}'", mName)); });
}

void LayerBase::edited() noexcept
{
    mNetwork.edited(this);
}

void LayerBase::dropInput(int32_t i) noexcept
{
    if (hasInput(i))
        mInputs[static_cast<size_t>(i)] = nullptr;
    while (!mInputs.empty() && mInputs.back() == nullptr)
        mInputs.pop_back();
}

Result<std::vector<Operand>> LayerBase::operands() const
{
    std::vector<Operand> found;
    for (Tensor* input : mInputs)
        found.push_back({input, nullptr, {}});
    return found;
}

LayerType LayerBase::getType() const noexcept
{
    return mFacts.type;
}

void LayerBase::setName(char const* name) noexcept
{
    fencedDone(log(), "ILayer::setName", [&]() -> Result<Done> {
        mName = TENON_TRY(checkedName(name, "a layer"));
        if (std::ranges::any_of(mOutputs, [](auto const& output) { return output->isNetworkOutput(); }))
            mNetwork.renamed();
        return Done{};
    });
}

char const* LayerBase::getName() const noexcept
{
    return mName.c_str();
}

int32_t LayerBase::getNbInputs() const noexcept
{
    return static_cast<int32_t>(mInputs.size());
}

nvinfer1::ITensor* LayerBase::getInput(int32_t index) const noexcept
{
    return index < 0 || !hasInput(index) ? nullptr : mInputs[static_cast<size_t>(index)];
}

int32_t LayerBase::getNbOutputs() const noexcept
{
    return outputCount();
}

nvinfer1::ITensor* LayerBase::getOutput(int32_t index) const noexcept
{
    return index < 0 || index >= outputCount() ? nullptr : mOutputs[static_cast<size_t>(index)].get();
}

void LayerBase::setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept
{
    fencedDone(log(), "ILayer::setInput", [&]() -> Result<Done> {
        if (index < 0 || index >= mFacts.maxInputs)
            return badArgument("layer '{}' ({}) has no input {}: it takes {}", mName, mKind, index, mFacts.maxInputs);
        Tensor& input = Tensor::of(tensor);
        if (&input.network() != &mNetwork)
            return badArgument("layer '{}': tensor '{}' belongs to another network", mName, input.name());
        if (input.isRemoved)
            return badArgument("layer '{}': tensor '{}' was removed from the network", mName, input.name());
        if (static_cast<size_t>(index) >= mInputs.size())
            mInputs.resize(static_cast<size_t>(index) + 1, nullptr);
        mInputs[static_cast<size_t>(index)] = &input;
        mNetwork.rewired(*this);
        return Done{};
    });
}

void LayerBase::setPrecision(DataType dataType) noexcept
{
    fencedDone(log(), "ILayer::setPrecision", [&]() -> Result<Done> {
        if (!isValid(dataType))
            return badArgument("layer '{}': data type {} does not exist", mName, static_cast<int32_t>(dataType));
        if (mNetwork.getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED))
            return badConfig(
                "layer '{}': a layer of a strongly typed network computes in the type of its inputs", mName);
        mPrecision = dataType;
        return Done{};
    });
}

DataType LayerBase::getPrecision() const noexcept
{
    return mPrecision.value_or(DataType::kFLOAT);
}

bool LayerBase::precisionIsSet() const noexcept
{
    return mPrecision.has_value();
}

void LayerBase::resetPrecision() noexcept
{
    mPrecision.reset();
}

Result<Done> LayerBase::requestOutputType(int32_t index, DataType type)
{
    if (index < 0 || index >= outputCount())
        return badArgument("layer '{}' has no output {}", mName, index);
    if (!isValid(type))
        return badArgument("layer '{}': data type {} does not exist", mName, static_cast<int32_t>(type));
    if (mNetwork.getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED))
        return badConfig("layer '{}': the types of a strongly typed network follow from its inputs", mName);
    mOutputTypes[static_cast<size_t>(index)] = type;
    edited();
    return Done{};
}

void LayerBase::setOutputType(int32_t index, DataType dataType) noexcept
{
    fencedDone(log(), "ILayer::setOutputType", [&] { return requestOutputType(index, dataType); });
}

DataType LayerBase::getOutputType(int32_t index) const noexcept
{
    if (index < 0 || index >= outputCount())
        return DataType::kFLOAT;
    return mOutputs[static_cast<size_t>(index)]->getType();
}

bool LayerBase::outputTypeIsSet(int32_t index) const noexcept
{
    return index >= 0 && index < outputCount() && mOutputTypes[static_cast<size_t>(index)].has_value();
}

void LayerBase::resetOutputType(int32_t index) noexcept
{
    if (!outputTypeIsSet(index))
        return;
    mOutputTypes[static_cast<size_t>(index)].reset();
    edited();
}

void LayerBase::setMetadata(char const* metadata) noexcept
{
    fencedDone(log(), "ILayer::setMetadata", [&]() -> Result<Done> {
        mMetadata = TENON_TRY(checkedName(metadata, "metadata"));
        return Done{};
    });
}

char const* LayerBase::getMetadata() const noexcept
{
    return mMetadata.c_str();
}

bool LayerBase::setNbRanks(int32_t nbRanks) noexcept
{
    return nbRanks == 1;
}

int32_t LayerBase::getNbRanks() const noexcept
{
    return 1;
}

} // namespace tenon::api
