// Network: one call per kind of layer.
#include "api/boundary.h"
#include "api/network/add_layer.h"
#include "api/network/layers_by_hand.h"
#include "api/network/network.h"
#include "api/network/plugin_layers.h"
#include "plugins/name_limits.h"
#include "plugins/trace.h"

#include <algorithm>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
Result<std::vector<ITensor const*>> listOf(ITensor* const* tensors, int32_t count, char const* what)
{
    if (count < 0 || (count > 0 && tensors == nullptr))
        return badArgument("{} {} at address {}", count, what, static_cast<void const*>(tensors));
    return std::vector<ITensor const*>{tensors, tensors + count};
}
} // namespace

Result<std::vector<Tensor*>> Network::ownTensors(std::vector<ITensor const*> const& inputs) const
{
    std::vector<Tensor*> found;
    for (ITensor const* input : inputs)
    {
        if (input == nullptr)
            return badArgument("input {} is null", found.size());
        Tensor& tensor = Tensor::of(*input);
        if (&tensor.network() != this)
            return badArgument("tensor '{}' belongs to another network", tensor.name());
        if (tensor.isRemoved)
            return badArgument("tensor '{}' was removed from the network", tensor.name());
        found.push_back(&tensor);
    }
    return found;
}

bool Network::takeDims(char const* call, std::vector<Dims const*> const& list, int32_t minRank) const noexcept
{
    return fencedDone(mReporting.log(), call, [&]() -> Result<Done> {
        for (Dims const* dims : list)
            TENON_TRY(checkRank(*dims, minRank, "the new layer"));
        return Done{};
    });
}

int32_t Network::rankOf(ITensor const& tensor)
{
    infer();
    Tensor const& own = Tensor::of(tensor);
    return own.inferred.valid ? own.inferred.type.rank() : 4;
}

template <typename L>
L* Network::addCustom(
    char const* call, plugins::PluginPtr object, std::vector<ITensor const*> inputs, int32_t shapeInputs)
{
    return fenced(mReporting.log(), call, static_cast<L*>(nullptr), [&]() -> Result<L*> {
        std::vector<Tensor*> own = TENON_TRY(ownTensors(inputs));
        plugins::Identity const& identity = object->identity();
        if (own.size() > CustomLayer::kMaxInputs)
            return badArgument("plugin {} has {} inputs; a layer has {} of them at most, shape inputs included",
                identity.show(), own.size(), CustomLayer::kMaxInputs);
        CustomLayer fields{.type = identity.type,
            .version = identity.version,
            .nameSpace = identity.nameSpace,
            .generation = identity.generation,
            .shapeInputs = shapeInputs,
            .isStronglyTyped = getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED),
            .instance = static_cast<int32_t>(mLayers.size())};
        int32_t const outputs = object->outputCount();
        TENON_TRY(plugins::checkOutputs(identity, outputs));
        fields.live = std::move(object);
        return take(std::make_unique<L>(*this, std::move(fields), outputs), std::move(own));
    });
}

IPluginV2Layer* Network::addPluginV2(ITensor* const* inputs, int32_t nbInputs, IPluginV2& plugin) noexcept
{
    constexpr char const* kCall{"INetworkDefinition::addPluginV2"};
    return fenced(mReporting.log(), kCall, static_cast<IPluginV2Layer*>(nullptr), [&]() -> Result<IPluginV2Layer*> {
        std::vector<ITensor const*> const given = TENON_TRY(listOf(inputs, nbInputs, "inputs"));
        return addCustom<PluginV2Layer>(kCall, plugins::traced(TENON_TRY(plugins::adopt(plugin)), kCall), given, 0);
    });
}

IPluginV3Layer* Network::addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
    int32_t nbShapeInputs, IPluginV3& plugin) noexcept
{
    constexpr char const* kCall{"INetworkDefinition::addPluginV3"};
    return fenced(mReporting.log(), kCall, static_cast<IPluginV3Layer*>(nullptr), [&]() -> Result<IPluginV3Layer*> {
        std::vector<ITensor const*> given = TENON_TRY(listOf(inputs, nbInputs, "inputs"));
        std::vector<ITensor const*> const values = TENON_TRY(listOf(shapeInputs, nbShapeInputs, "shape inputs"));
        given.insert(given.end(), values.begin(), values.end());
        return addCustom<PluginV3Layer>(
            kCall, plugins::traced(TENON_TRY(plugins::adopt(plugin)), kCall), std::move(given), nbShapeInputs);
    });
}

IActivationLayer* Network::addActivation(ITensor& input, ActivationType type) noexcept
{
    return add<ActivationLayer>("INetworkDefinition::addActivation", {&input}, [&](ActivationLayer& layer) {
        layer.fields().activationType = type;
        if (type == ActivationType::kSELU) // The published constants, as the public header documents.
        {
            layer.fields().alpha = 1.67326319217681884765625F;
            layer.fields().beta = 1.05070102214813232421875F;
        }
    });
}

ILRNLayer* Network::addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept
{
    return add<LRNLayer>("INetworkDefinition::addLRN", {&input}, [&](LRNLayer& layer) {
        layer.fields() = LRN{window, alpha, beta, k};
    });
}

IScaleLayer* Network::addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power) noexcept
{
    return addScaleNd(input, mode, shift, scale, power, std::max(0, rankOf(input) - 3));
}

IScaleLayer* Network::addScaleNd(
    ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power, int32_t channelAxis) noexcept
{
    return add<ScaleLayer>("INetworkDefinition::addScaleNd", {&input}, [&](ScaleLayer& layer) {
        layer.fields().mode = mode;
        layer.fields().channelAxis = channelAxis;
        layer.shift = shift;
        layer.scale = scale;
        layer.power = power;
    });
}

ISoftMaxLayer* Network::addSoftMax(ITensor& input) noexcept
{
    return add<SoftMaxLayer>("INetworkDefinition::addSoftMax", {&input},
        [&](SoftMaxLayer& layer) { layer.fields().axes = 1U << std::max(0, rankOf(input) - 3); });
}

IConcatenationLayer* Network::addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept
{
    if (inputs == nullptr || nbInputs < 1)
    {
        mReporting.log().error(badArgument("INetworkDefinition::addConcatenation: there are no inputs"));
        return nullptr;
    }
    return add<ConcatenationLayer>(
        "INetworkDefinition::addConcatenation", {inputs, inputs + nbInputs}, [&](ConcatenationLayer& layer) {
            layer.fields().axis = inputs[0] == nullptr ? 0 : std::max(0, rankOf(*inputs[0]) - 3);
        });
}

IElementWiseLayer* Network::addElementWise(ITensor& input1, ITensor& input2, ElementWiseOperation op) noexcept
{
    return add<ElementWiseLayer>("INetworkDefinition::addElementWise", {&input1, &input2},
        [&](ElementWiseLayer& layer) { layer.fields().operation = op; });
}

IUnaryLayer* Network::addUnary(ITensor& input, UnaryOperation operation) noexcept
{
    return add<UnaryLayer>(
        "INetworkDefinition::addUnary", {&input}, [&](UnaryLayer& layer) { layer.fields().operation = operation; });
}

IShuffleLayer* Network::addShuffle(ITensor& input) noexcept
{
    return add<ShuffleLayer>("INetworkDefinition::addShuffle", {&input}, [](ShuffleLayer&) {});
}

IReduceLayer* Network::addReduce(
    ITensor& input, ReduceOperation operation, uint32_t reduceAxes, bool keepDimensions) noexcept
{
    return add<ReduceLayer>("INetworkDefinition::addReduce", {&input}, [&](ReduceLayer& layer) {
        layer.fields() = Reduce{operation, reduceAxes, keepDimensions};
    });
}

ITopKLayer* Network::addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept
{
    return addTopKV2(input, op, k, reduceAxes, DataType::kINT32);
}

ITopKLayer* Network::addTopKV2(
    ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes, DataType indicesType) noexcept
{
    return add<TopKLayer>("INetworkDefinition::addTopK", {&input}, [&](TopKLayer& layer) {
        layer.fields() = TopK{op, k, reduceAxes, indicesType};
    });
}

IGatherLayer* Network::addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept
{
    return add<GatherLayer>("INetworkDefinition::addGather", {&data, &indices},
        [&](GatherLayer& layer) { layer.fields().gatherAxis = axis; });
}

IGatherLayer* Network::addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept
{
    return add<GatherLayer>(
        "INetworkDefinition::addGatherV2", {&data, &indices}, [&](GatherLayer& layer) { layer.fields().mode = mode; });
}

IMatrixMultiplyLayer* Network::addMatrixMultiply(
    ITensor& input0, MatrixOperation op0, ITensor& input1, MatrixOperation op1) noexcept
{
    return add<MatrixMultiplyLayer>(
        "INetworkDefinition::addMatrixMultiply", {&input0, &input1}, [&](MatrixMultiplyLayer& layer) {
            layer.fields().operation0 = op0;
            layer.fields().operation1 = op1;
        });
}

IConstantLayer* Network::addConstant(Dims const& dimensions, Weights weights) noexcept
{
    using Made = IConstantLayer*;
    return fenced(mReporting.log(), "INetworkDefinition::addConstant", Made{nullptr}, [&]() -> Result<Made> {
        TENON_TRY(checkDims(dimensions, 0, "the constant"));
        if (volumeOf(extentsOf(dimensions)) != weights.count)
            return badArgument("{} weights do not fill a constant of {}", weights.count, show(dimensions));
        if (weights.count > 0 && weights.values == nullptr)
            return badArgument("{} weights and no address", weights.count);
        return Made{take(std::make_unique<ConstantLayer>(*this, dimensions, weights), {})};
    });
}

IIdentityLayer* Network::addIdentity(ITensor& input) noexcept
{
    return add<IdentityLayer>("INetworkDefinition::addIdentity", {&input}, [](IdentityLayer&) {});
}

ISliceLayer* Network::addSlice(ITensor& input, Dims const& start, Dims const& size, Dims const& stride) noexcept
{
    constexpr int32_t kGivenByInput{-1};
    if (!takeDims("INetworkDefinition::addSlice", {&start, &size, &stride}, kGivenByInput))
        return nullptr;
    return add<SliceLayer>("INetworkDefinition::addSlice", {&input}, [&](SliceLayer& layer) {
        layer.fields().start = start;
        layer.fields().size = size;
        layer.fields().stride = stride;
    });
}

IShapeLayer* Network::addShape(ITensor& input) noexcept
{
    return add<ShapeLayer>("INetworkDefinition::addShape", {&input}, [](ShapeLayer&) {});
}

IParametricReLULayer* Network::addParametricReLU(ITensor& input, ITensor& slope) noexcept
{
    return add<ParametricReLULayer>(
        "INetworkDefinition::addParametricReLU", {&input, &slope}, [](ParametricReLULayer&) {});
}

namespace
{
//! What convolution and deconvolution start with.
template <typename L>
void setUpKernel(L& layer, int64_t maps, Dims const& kernelSize, Weights kernel, Weights bias)
{
    auto& fields = layer.fields();
    fields.nbOutputMaps = maps;
    fields.kernelSize = kernelSize;
    fields.stride = filledDims(kernelSize.nbDims, 1);
    fields.dilation = filledDims(kernelSize.nbDims, 1);
    fields.prePadding = filledDims(kernelSize.nbDims, 0);
    fields.postPadding = filledDims(kernelSize.nbDims, 0);
    layer.weights.kernel = kernel;
    layer.weights.bias = bias;
}
} // namespace

IConvolutionLayer* Network::addConvolutionNd(
    ITensor& input, int64_t nbOutputMaps, Dims const& kernelSize, Weights kernelWeights, Weights biasWeights) noexcept
{
    if (!takeDims("INetworkDefinition::addConvolutionNd", {&kernelSize}))
        return nullptr;
    return add<ConvolutionLayer>("INetworkDefinition::addConvolutionNd", {&input},
        [&](ConvolutionLayer& layer) { setUpKernel(layer, nbOutputMaps, kernelSize, kernelWeights, biasWeights); });
}

IDeconvolutionLayer* Network::addDeconvolutionNd(
    ITensor& input, int64_t nbOutputMaps, Dims const& kernelSize, Weights kernelWeights, Weights biasWeights) noexcept
{
    if (!takeDims("INetworkDefinition::addDeconvolutionNd", {&kernelSize}))
        return nullptr;
    return add<DeconvolutionLayer>("INetworkDefinition::addDeconvolutionNd", {&input},
        [&](DeconvolutionLayer& layer) { setUpKernel(layer, nbOutputMaps, kernelSize, kernelWeights, biasWeights); });
}

IFullyConnectedLayer* Network::addFullyConnected(
    ITensor& input, int32_t nbOutputs, Weights kernelWeights, Weights biasWeights) noexcept
{
    return add<FullyConnectedLayer>("INetworkDefinition::addFullyConnected", {&input}, [&](FullyConnectedLayer& layer) {
        layer.fields().nbOutputChannels = nbOutputs;
        layer.weights = {kernelWeights, biasWeights};
    });
}

IPoolingLayer* Network::addPoolingNd(ITensor& input, PoolingType type, Dims const& windowSize) noexcept
{
    if (!takeDims("INetworkDefinition::addPoolingNd", {&windowSize}))
        return nullptr;
    return add<PoolingLayer>("INetworkDefinition::addPoolingNd", {&input}, [&](PoolingLayer& layer) {
        layer.fields().poolingType = type;
        layer.fields().windowSize = windowSize;
        layer.fields().stride = filledDims(windowSize.nbDims, 1);
        layer.fields().prePadding = filledDims(windowSize.nbDims, 0);
        layer.fields().postPadding = filledDims(windowSize.nbDims, 0);
    });
}

IResizeLayer* Network::addResize(ITensor& input) noexcept
{
    return add<ResizeLayer>("INetworkDefinition::addResize", {&input}, [](ResizeLayer&) {});
}

ISelectLayer* Network::addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept
{
    return add<SelectLayer>("INetworkDefinition::addSelect", {&condition, &thenInput, &elseInput}, [](SelectLayer&) {});
}

IFillLayer* Network::addFill(Dims const& dimensions, FillOperation op) noexcept
{
    return addFillV2(dimensions, op, DataType::kFLOAT);
}

IFillLayer* Network::addFillV2(Dims const& dimensions, FillOperation op, DataType outputType) noexcept
{
    if (!takeDims("INetworkDefinition::addFill", {&dimensions}))
        return nullptr;
    return add<FillLayer>("INetworkDefinition::addFill", {}, [&](FillLayer& layer) {
        layer.fields().dimensions = dimensions;
        layer.fields().operation = op;
        layer.fields().toType = outputType;
    });
}

IPaddingLayer* Network::addPaddingNd(ITensor& input, Dims const& prePadding, Dims const& postPadding) noexcept
{
    if (!takeDims("INetworkDefinition::addPaddingNd", {&prePadding, &postPadding}))
        return nullptr;
    return add<PaddingLayer>("INetworkDefinition::addPaddingNd", {&input}, [&](PaddingLayer& layer) {
        layer.fields() = Padding{prePadding, postPadding};
    });
}

IScatterLayer* Network::addScatter(ITensor& data, ITensor& indices, ITensor& updates, ScatterMode mode) noexcept
{
    return add<ScatterLayer>("INetworkDefinition::addScatter", {&data, &indices, &updates},
        [&](ScatterLayer& layer) { layer.fields().mode = mode; });
}

IAssertionLayer* Network::addAssertion(ITensor& condition, char const* message) noexcept
{
    return add<AssertionLayer>("INetworkDefinition::addAssertion", {&condition},
        [&](AssertionLayer& layer) { assign(layer.fields().message, message); });
}

IOneHotLayer* Network::addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept
{
    return add<OneHotLayer>("INetworkDefinition::addOneHot", {&indices, &values, &depth},
        [&](OneHotLayer& layer) { layer.fields().axis = axis; });
}

INonZeroLayer* Network::addNonZero(ITensor& input) noexcept
{
    return addNonZeroV2(input, DataType::kINT32);
}

INonZeroLayer* Network::addNonZeroV2(ITensor& input, DataType indicesType) noexcept
{
    return add<NonZeroLayer>("INetworkDefinition::addNonZero", {&input},
        [&](NonZeroLayer& layer) { layer.fields().indicesType = indicesType; });
}

IReverseSequenceLayer* Network::addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept
{
    return add<ReverseSequenceLayer>(
        "INetworkDefinition::addReverseSequence", {&input, &sequenceLens}, [](ReverseSequenceLayer&) {});
}

INormalizationLayer* Network::addNorm(
    char const* call, std::vector<ITensor const*> inputs, uint32_t axesMask, bool v2) noexcept
{
    return add<NormalizationLayer>(call, std::move(inputs), [&](NormalizationLayer& layer) {
        layer.fields().axes = axesMask;
        layer.fields().v2 = v2;
    });
}

INormalizationLayer* Network::addNormalization(
    ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept
{
    return addNorm("INetworkDefinition::addNormalization", {&input, &scale, &bias}, axesMask, false);
}

INormalizationLayer* Network::addNormalizationV2(
    ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept
{
    return addNorm("INetworkDefinition::addNormalizationV2", {&input, &scale, &bias}, axesMask, true);
}

ICastLayer* Network::addCast(ITensor& input, DataType toType) noexcept
{
    return add<CastLayer>(
        "INetworkDefinition::addCast", {&input}, [&](CastLayer& layer) { layer.fields().toType = toType; });
}

ISqueezeLayer* Network::addSqueeze(ITensor& input, ITensor& axes) noexcept
{
    return add<SqueezeLayer>("INetworkDefinition::addSqueeze", {&input, &axes}, [](SqueezeLayer&) {});
}

IUnsqueezeLayer* Network::addUnsqueeze(ITensor& input, ITensor& axes) noexcept
{
    return add<UnsqueezeLayer>("INetworkDefinition::addUnsqueeze", {&input, &axes}, [](UnsqueezeLayer&) {});
}

ICumulativeLayer* Network::addCumulative(
    ITensor& input, ITensor& axis, CumulativeOperation operation, bool exclusive, bool reverse) noexcept
{
    return add<CumulativeLayer>("INetworkDefinition::addCumulative", {&input, &axis}, [&](CumulativeLayer& layer) {
        layer.fields() = Cumulative{operation, exclusive, reverse};
    });
}

} // namespace tenon::api
