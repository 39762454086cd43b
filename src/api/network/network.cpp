// Network: inputs, outputs, names, order.
#include "api/network/network.h"

#include "api/boundary.h"
#include "api/build/builder.h"
#include "api/flags.h"
#include "api/network/control_layers.h"
#include "base/knobs.h"
#include "layers/dequantize.h"
#include "layers/quantize.h"

#include <algorithm>
#include <utility>

namespace tenon::api
{

using nvinfer1::DataType;

namespace
{
constexpr uint32_t kExplicitBatch{
    1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)};
}

Network::Network(std::shared_ptr<Builder> builder, uint32_t flags)
    : mBuilder{std::move(builder)},
      mReporting{mBuilder->reporting()},
      mFlags{knownFlags<nvinfer1::NetworkDefinitionCreationFlag>(
          mReporting.log(), "IBuilder::createNetworkV2", flags & ~nvinfer1::impl::kCOMPAT_8_NETWORK)},
      mIsMadeExplicit{(flags & kExplicitBatch) != 0},
      mIsMadeImplicit{!mIsMadeExplicit
          && ((flags & nvinfer1::impl::kCOMPAT_8_NETWORK) != 0 || switchOf(Knob::kImplicitBatch, false))}
{
}

Network::~Network() = default;

Result<Done> Network::checkUnique(std::string const& name, Tensor const* except)
{
    if (std::exchange(mNamesStale, false))
    {
        mNames.clear();
        for (auto const* list : {&mInputs, &mOutputs})
            for (Tensor const* tensor : *list)
                nameAdded(tensor->name());
    }
    auto const known = mNames.find(name);
    bool const isBinding =
        except != nullptr && !except->isRemoved && (except->isNetworkInput() || except->isNetworkOutput());
    int32_t const mine = isBinding && except->name() == name ? 1 : 0;
    if (known != mNames.end() && known->second > mine)
        return badArgument("the network already has an input or output named '{}'", name);
    return Done{};
}

void Network::renamed(std::string const& from, std::string const& to)
{
    nameAdded(to);
    nameGone(from);
}

void Network::nameAdded(std::string const& name)
{
    if (!mNamesStale)
        ++mNames[name];
}

void Network::nameGone(std::string const& name)
{
    auto const known = mNamesStale ? mNames.end() : mNames.find(name);
    if (known != mNames.end() && --known->second == 0)
        mNames.erase(known);
}

nvinfer1::ITensor* Network::addInput(char const* name, DataType type, Dims const& dimensions) noexcept
{
    using Made = nvinfer1::ITensor*;
    return fenced(mReporting.log(), "INetworkDefinition::addInput", Made{nullptr}, [&]() -> Result<Made> {
        std::string checked = TENON_TRY(checkedName(name, "a network input"));
        TENON_TRY(checkUnique(checked, nullptr));
        if (!isValid(type))
            return badArgument("input '{}': data type {} does not exist", checked, static_cast<int32_t>(type));
        TENON_TRY(checkDims(dimensions, -1, fmt::format("input '{}'", checked)));
        auto tensor = std::make_unique<Tensor>(*this, nullptr, 0);
        tensor->declare(std::move(checked), type, dimensions);
        nameAdded(tensor->name());
        mInputs.push_back(tensor.get());
        mInputTensors.push_back(std::move(tensor));
        mInputsStale = true;
        inferInput(*mInputs.back(), static_cast<int32_t>(mInputs.size()) - 1);
        return Made{mInputs.back()};
    });
}

void Network::markOutput(nvinfer1::ITensor& tensor) noexcept
{
    fencedDone(mReporting.log(), "INetworkDefinition::markOutput", [&]() -> Result<Done> {
        Tensor& output = *TENON_TRY(ownTensors({&tensor})).front();
        if (output.isNetworkInput())
            return badArgument("tensor '{}' is a network input: it cannot be an output, too", output.name());
        if (output.isNetworkOutput())
            return badArgument("tensor '{}' is marked as an output already", output.name());
        TENON_TRY(checkUnique(output.name(), &output));
        nameAdded(output.name());
        output.isMarkedOutput = true;
        mOutputs.push_back(&output);
        return Done{};
    });
}

void Network::unmarkOutput(nvinfer1::ITensor& tensor) noexcept
{
    fencedDone(mReporting.log(), "INetworkDefinition::unmarkOutput", [&]() -> Result<Done> {
        Tensor& output = *TENON_TRY(ownTensors({&tensor})).front();
        bool const wasOutput = output.isNetworkOutput();
        output.isMarkedOutput = false;
        if (wasOutput && !output.isMarkedForShapes)
        {
            nameGone(output.name());
            std::erase(mOutputs, &output);
        }
        return Done{};
    });
}

bool Network::markOutputForShapes(nvinfer1::ITensor& tensor) noexcept
{
    return fencedDone(mReporting.log(), "INetworkDefinition::markOutputForShapes", [&]() -> Result<Done> {
        Tensor& output = *TENON_TRY(ownTensors({&tensor})).front();
        if (output.isNetworkInput() || output.isNetworkOutput())
            return badArgument("tensor '{}' is an input or output already", output.name());
        TENON_TRY(checkUnique(output.name(), &output));
        nameAdded(output.name());
        output.isMarkedForShapes = true;
        mOutputs.push_back(&output);
        mShapeReadsStale = true;
        return Done{};
    });
}

bool Network::unmarkOutputForShapes(nvinfer1::ITensor& tensor) noexcept
{
    return fencedDone(mReporting.log(), "INetworkDefinition::unmarkOutputForShapes", [&]() -> Result<Done> {
        Tensor& output = *TENON_TRY(ownTensors({&tensor})).front();
        if (!output.isMarkedForShapes)
            return badArgument("tensor '{}' is not marked for shapes", output.name());
        nameGone(output.name());
        output.isMarkedForShapes = false;
        std::erase(mOutputs, &output);
        mShapeReadsStale = true;
        return Done{};
    });
}

void Network::removeTensor(nvinfer1::ITensor& tensor) noexcept
{
    Tensor* const removed = &Tensor::of(tensor);
    auto const reads = [&](auto const& layer) {
        return std::find(layer->inputs().begin(), layer->inputs().end(), removed) != layer->inputs().end();
    };
    if (!removed->isNetworkInput() || std::any_of(mLayers.begin(), mLayers.end(), reads))
    {
        mReporting.log().warning(
            fmt::format("INetworkDefinition::removeTensor: tensor '{}' is an input or output of a layer and stays",
                removed->name()));
        return;
    }
    std::erase(mDebugTensors, removed);
    std::erase(mInputs, removed); // The object stays: somebody may still hold it.
    if (!removed->isRemoved)
        nameGone(removed->name());
    removed->isRemoved = true;
    edited(nullptr);
}

int32_t Network::getNbLayers() const noexcept
{
    return static_cast<int32_t>(mLayers.size());
}

nvinfer1::ILayer* Network::getLayer(int32_t index) const noexcept
{
    return index < 0 || index >= getNbLayers() ? nullptr : mLayers[static_cast<size_t>(index)]->layerFront();
}

int32_t Network::getNbInputs() const noexcept
{
    return static_cast<int32_t>(mInputs.size());
}

nvinfer1::ITensor* Network::getInput(int32_t index) const noexcept
{
    return index < 0 || index >= getNbInputs() ? nullptr : mInputs[static_cast<size_t>(index)];
}

int32_t Network::getNbOutputs() const noexcept
{
    return static_cast<int32_t>(mOutputs.size());
}

nvinfer1::ITensor* Network::getOutput(int32_t index) const noexcept
{
    return index < 0 || index >= getNbOutputs() ? nullptr : mOutputs[static_cast<size_t>(index)];
}

void Network::setName(char const* name) noexcept
{
    fencedDone(mReporting.log(), "INetworkDefinition::setName", [&]() -> Result<Done> {
        mName = TENON_TRY(checkedName(name, "the network"));
        return Done{};
    });
}

char const* Network::getName() const noexcept
{
    return mName.c_str();
}

bool Network::hasImplicitBatchDimension() const noexcept
{
    return isImplicit();
}

bool Network::isImplicit() const noexcept
{
    return mIsMadeImplicit || (!mIsMadeExplicit && mBuilder->maxBatch().has_value());
}

PlanBatch Network::batch() const noexcept
{
    if (isImplicit())
        return {PlanBatchMode::kImplicit, mBuilder->getMaxBatchSize()};
    return {mIsMadeExplicit ? PlanBatchMode::kExplicit : PlanBatchMode::kUndeclared, 1};
}

bool Network::hasExplicitPrecision() const noexcept
{
    return false;
}

void Network::setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept
{
    mReporting.setRecorder(recorder);
}

nvinfer1::IErrorRecorder* Network::getErrorRecorder() const noexcept
{
    return mReporting.recorder();
}

nvinfer1::IBuilder& Network::getBuilder() const noexcept
{
    return mBuilder->front();
}

uint32_t Network::getFlags() const noexcept
{
    return mFlags;
}

bool Network::getFlag(nvinfer1::NetworkDefinitionCreationFlag flag) const noexcept
{
    return (mFlags & flagBit(mReporting.log(), "INetworkDefinition::getFlag", flag)) != 0;
}

void Network::noteQuantization(LayerBase const& layer) noexcept
{
    if (mQuantizesItself || (layer.kind() != Quantize::kName && layer.kind() != Dequantize::kName))
        return;
    mQuantizesItself = true;
    edited(nullptr); // Tensors of int8 with ranges no longer stand for real numbers.
}

void Network::edited(LayerBase const* layer) noexcept
{
    mShapeReadsStale = true;
    if (layer == nullptr)
    {
        mInputsStale = true;
        mFirstStale = 0;
        return;
    }
    mFirstStale = std::min(mFirstStale, layer->place);
}

void Network::rewired(LayerBase& layer)
{
    bool inOrder{true};
    for (size_t i = 0; i < layer.inputs().size(); ++i)
        if (LayerBase const* const producer = layer.inputs()[i] == nullptr ? nullptr : layer.inputs()[i]->producer())
            inOrder = inOrder && (layer.isFromLater(i) || producer->place < layer.place);
    edited(&layer);
    if (inOrder)
        return;
    Result<Done> const sorted = sortLayers();
    if (!sorted)
        mReporting.log().error(sorted.error());
}

Result<Done> Network::sortLayers()
{
    enum class State : uint8_t
    {
        kNew,
        kOpen,
        kDone,
    };
    std::vector<State> states(mLayers.size(), State::kNew); // By ordinal.
    std::vector<LayerBase*> sorted;
    for (auto const& first : mLayers)
    {
        std::vector<LayerBase*> open{first.get()}; // No recursion: a network may be deeper than the stack.
        while (!open.empty())
        {
            LayerBase* const layer = open.back();
            State& state = states[static_cast<size_t>(layer->ordinal)];
            if (state != State::kNew)
            {
                open.pop_back();
                if (std::exchange(state, State::kDone) == State::kOpen)
                    sorted.push_back(layer);
                continue;
            }
            state = State::kOpen;
            for (size_t i = layer->inputs().size(); i-- > 0;) // The first operand's layers come first.
            {
                Tensor const* const input = layer->inputs()[i];
                LayerBase* const producer = input == nullptr ? nullptr : input->producer();
                if (producer == nullptr || layer->isFromLater(i))
                    continue;
                if (states[static_cast<size_t>(producer->ordinal)] == State::kOpen)
                    return badConfig("layer '{}' reads what follows from its own output", producer->name());
                open.push_back(producer);
            }
        }
    }
    mOrder = std::move(sorted);
    for (size_t i = 0; i < mOrder.size(); ++i)
        mOrder[i]->place = i;
    mFirstStale = 0;
    return Done{};
}

} // namespace tenon::api
