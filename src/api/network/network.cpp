// Network: inputs, outputs, names, order.
#include "api/network/network.h"

#include "api/boundary.h"
#include "api/build/builder.h"
#include "api/flags.h"
#include "base/knobs.h"

#include <algorithm>

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

Result<Done> Network::checkUnique(std::string const& name, Tensor const* except) const
{
    for (auto const* list : {&mInputs, &mOutputs})
        for (Tensor const* tensor : *list)
            if (tensor != except && tensor->name() == name)
                return badArgument("the network already has an input or output named '{}'", name);
    return Done{};
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
        output.isMarkedOutput = true;
        mOutputs.push_back(&output);
        return Done{};
    });
}

void Network::unmarkOutput(nvinfer1::ITensor& tensor) noexcept
{
    fencedDone(mReporting.log(), "INetworkDefinition::unmarkOutput", [&]() -> Result<Done> {
        Tensor& output = *TENON_TRY(ownTensors({&tensor})).front();
        output.isMarkedOutput = false;
        if (!output.isMarkedForShapes)
            std::erase(mOutputs, &output);
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

void Network::edited(LayerBase const* layer) noexcept
{
    mShapeReadsStale = true;
    if (layer == nullptr)
    {
        mInputsStale = true;
        mFirstStale = 0;
        return;
    }
    auto const at = std::find(mOrder.begin(), mOrder.end(), layer); // At the end while the network is being built.
    mFirstStale = std::min(mFirstStale, static_cast<size_t>(at - mOrder.begin()));
}

void Network::rewired(LayerBase& layer)
{
    auto const position = [&](LayerBase const* each) { return std::find(mOrder.begin(), mOrder.end(), each); };
    bool const inOrder = std::all_of(layer.inputs().begin(), layer.inputs().end(), [&](Tensor const* input) {
        return input == nullptr || input->producer() == nullptr || position(input->producer()) < position(&layer);
    });
    edited(&layer);
    if (inOrder)
        return;
    Result<Done> const sorted = sortLayers();
    if (!sorted)
        mReporting.log().error(sorted.error());
}

Result<Done> Network::sortLayers()
{
    std::vector<LayerBase*> sorted;
    std::set<LayerBase const*> done;
    std::set<LayerBase const*> open;
    std::function<Result<Done>(LayerBase&)> const visit = [&](LayerBase& layer) -> Result<Done> {
        if (done.contains(&layer))
            return Done{};
        if (!open.insert(&layer).second)
            return badConfig("layer '{}' reads what follows from its own output", layer.name());
        for (Tensor const* input : layer.inputs())
            if (input != nullptr && input->producer() != nullptr)
                TENON_TRY(visit(*input->producer()));
        done.insert(&layer);
        sorted.push_back(&layer);
        return Done{};
    };
    for (auto const& layer : mLayers)
        TENON_TRY(visit(*layer));
    mOrder = std::move(sorted);
    mFirstStale = 0;
    return Done{};
}

} // namespace tenon::api
