// The calls of layers that no field stands behind.
#include "api/network/layers_by_hand.h"

#include "api/network/network.h"

#include <algorithm>

namespace tenon::api
{

using nvinfer1::Permutation;
using nvinfer1::Weights;

namespace
{
Result<std::shared_ptr<Constant const>> weightsOf(
    LayerBase const& layer, std::string_view what, Weights const& weights, std::vector<int64_t> extents)
{
    if (weights.count > 0 && weights.values == nullptr)
        return badArgument(
            "layer '{}': the {} weights have {} elements and no address", layer.name(), what, weights.count);
    if (volumeOf(extents) != weights.count)
        return badConfig("layer '{}': the {} weights have {} elements where {} are needed", layer.name(), what,
            weights.count, volumeOf(extents));
    return constantOf(weights, std::move(extents));
}

Operand operandOf(LayerBase const& layer, std::string_view what, std::shared_ptr<Constant const> constant)
{
    return {nullptr, std::move(constant), fmt::format("{}.{}", layer.name(), what)};
}
} // namespace

Result<std::vector<Operand>> KernelOperands::operands(
    LayerBase const& layer, int64_t first, Dims const& kernelSize, bool isDeconvolution) const
{
    std::vector<Operand> found{{layer.inputs().at(0), nullptr, {}}, {}, {}};
    if (layer.hasInput(1))
        found[1].tensor = layer.inputs()[1];
    else
    {
        int64_t const known = first * volumeOf(extentsOf(kernelSize));
        if (known < 1 || kernel.count % known != 0)
            return badConfig(
                "layer '{}': the kernel weights have {} elements, which {} maps and a {} kernel do not divide",
                layer.name(), kernel.count, first, show(kernelSize));
        std::vector<int64_t> extents{first, kernel.count / known};
        if (isDeconvolution)
            std::swap(extents[0], extents[1]);
        extents.insert(extents.end(), kernelSize.d, kernelSize.d + kernelSize.nbDims);
        found[1] = operandOf(layer, "kernel", TENON_TRY(weightsOf(layer, "kernel", kernel, std::move(extents))));
    }
    if (layer.hasInput(2))
        found[2].tensor = layer.inputs()[2];
    else if (bias.count > 0)
        found[2] = operandOf(layer, "bias", TENON_TRY(weightsOf(layer, "bias", bias, {bias.count})));
    return found;
}

Result<std::vector<Operand>> DeconvolutionLayer::operands() const
{
    int64_t const groups = std::max<int64_t>(mFields.nbGroups, 1);
    return weights.operands(*this, mFields.nbOutputMaps / groups, mFields.kernelSize, true);
}

Result<std::vector<Operand>> FullyConnectedLayer::operands() const
{
    int64_t const outputs = mFields.nbOutputChannels;
    auto const& [kernel, bias] = weights;
    if (outputs < 1 || kernel.count < 1 || kernel.count % outputs != 0)
        return badConfig("layer '{}': the kernel weights have {} elements, which {} outputs do not divide", name(),
            kernel.count, outputs);
    std::vector<Operand> found{{inputs().at(0), nullptr, {}}};
    found.push_back(
        operandOf(*this, "kernel", TENON_TRY(weightsOf(*this, "kernel", kernel, {outputs, kernel.count / outputs}))));
    if (bias.count > 0)
        found.push_back(operandOf(*this, "bias", TENON_TRY(weightsOf(*this, "bias", bias, {bias.count}))));
    return found;
}

LayerPtr ScaleLayer::fieldsAsLayer() const
{
    Scale fields = mFields;
    fields.hasShift = shift.count > 0;
    fields.hasScale = scale.count > 0;
    fields.hasPower = power.count > 0;
    return makeLayer(fields);
}

bool ScaleLayer::isPerSample(int64_t count) const
{
    if (network().isImplicit() || network().isMadeExplicit())
        return network().isImplicit();
    std::optional<std::vector<int64_t>> const extents = staticExtents(inputs().at(0)->inferred.type.shape);
    constexpr size_t kImageRank{3};
    return extents && extents->size() == kImageRank
        && volumeOf(*extents) == count; // Elements of the batch have no factors of their own.
}

Result<std::vector<int64_t>> ScaleLayer::extentsFor(int64_t count, std::string_view what) const
{
    Shape const& shape = inputs().at(0)->inferred.type.shape;
    std::vector<int64_t> extents(shape.size(), 1);
    if (mFields.mode == nvinfer1::ScaleMode::kUNIFORM)
        return extents;
    if (mFields.mode == nvinfer1::ScaleMode::kCHANNEL)
    {
        if (mFields.channelAxis < 0 || mFields.channelAxis >= static_cast<int32_t>(shape.size()))
            return badConfig(
                "layer '{}': an input of rank {} has no axis {}", name(), shape.size(), mFields.channelAxis);
        extents[static_cast<size_t>(mFields.channelAxis)] = count;
        return extents;
    }
    for (size_t i = isPerSample(count) ? 0 : 1; i < shape.size(); ++i)
    {
        if (!shape[i].isConstant())
            return badConfig(
                "layer '{}': {} per element needs an input whose extents but the first are static, '{}' is {}", name(),
                what, inputs()[0]->name(), tenon::show(shape));
        extents[i] = *shape[i].constant();
    }
    return extents;
}

Result<std::vector<Operand>> ScaleLayer::operands() const
{
    std::vector<Operand> found{{inputs().at(0), nullptr, {}}};
    for (auto const& [what, weights] :
        {std::pair{"shift", shift}, std::pair{"scale", scale}, std::pair{"power", power}})
    {
        if (weights.count == 0)
        {
            found.push_back({});
            continue;
        }
        std::vector<int64_t> extents = TENON_TRY(extentsFor(weights.count, what));
        found.push_back(operandOf(*this, what, TENON_TRY(weightsOf(*this, what, weights, std::move(extents)))));
    }
    return found;
}

void ScaleLayer::setShift(Weights value) noexcept
{
    shift = value;
    edited();
}

Weights ScaleLayer::getShift() const noexcept
{
    return shift;
}

void ScaleLayer::setScale(Weights value) noexcept
{
    scale = value;
    edited();
}

Weights ScaleLayer::getScale() const noexcept
{
    return scale;
}

void ScaleLayer::setPower(Weights value) noexcept
{
    power = value;
    edited();
}

Weights ScaleLayer::getPower() const noexcept
{
    return power;
}

ConstantLayer::ConstantLayer(Network& network, Dims const& dimensions, Weights weights)
    : LayerBase{network, "Constant", {.type = nvinfer1::LayerType::kCONSTANT, .maxInputs = 0}},
      mDimensions{dimensions},
      mWeights{weights}
{
    mLayer = static_cast<LayerBase*>(this);
    mImpl = static_cast<missing::ConstantLayer*>(this);
}

Result<std::shared_ptr<Constant const>> ConstantLayer::constantContents() const
{
    TENON_TRY(checkDims(mDimensions, 0, fmt::format("layer '{}'", name())));
    return TENON_TRY(weightsOf(*this, "constant", mWeights, extentsOf(mDimensions)));
}

void ConstantLayer::setWeights(Weights weights) noexcept
{
    mWeights = weights;
    edited();
}

Weights ConstantLayer::getWeights() const noexcept
{
    return mWeights;
}

void ConstantLayer::setDimensions(Dims const& dimensions) noexcept
{
    if (!takesDims("IConstantLayer::setDimensions", dimensions, 0))
        return;
    mDimensions = dimensions;
    edited();
}

Dims ConstantLayer::getDimensions() const noexcept
{
    return mDimensions;
}

void ShuffleLayer::setFirstTranspose(Permutation const& permutation) noexcept
{
    mFirst = permutation;
    std::copy(permutation.order, permutation.order + Dims::MAX_DIMS, mFields.firstTranspose.begin());
    edited();
}

Permutation const& ShuffleLayer::getFirstTranspose() const noexcept
{
    return mFirst;
}

void ShuffleLayer::setSecondTranspose(Permutation const& permutation) noexcept
{
    mSecond = permutation;
    std::copy(permutation.order, permutation.order + Dims::MAX_DIMS, mFields.secondTranspose.begin());
    edited();
}

Permutation const& ShuffleLayer::getSecondTranspose() const noexcept
{
    return mSecond;
}

void FillLayer::setIsInt64(bool isInt64) noexcept
{
    mFields.alphaBetaInt64 = isInt64;
    edited();
}

void FillLayer::setAlpha(double alpha) noexcept
{
    mFields.alpha = alpha;
    dropInput(1);
    setIsInt64(false);
}

void FillLayer::setBeta(double beta) noexcept
{
    mFields.beta = beta;
    dropInput(2);
    setIsInt64(false);
}

void FillLayer::setAlphaInt64(int64_t alpha) noexcept
{
    mFields.alphaInt64 = alpha;
    dropInput(1);
    setIsInt64(true);
}

void FillLayer::setBetaInt64(int64_t beta) noexcept
{
    mFields.betaInt64 = beta;
    dropInput(2);
    setIsInt64(true);
}

void ResizeLayer::setScales(float const* scales, int32_t nbScales) noexcept
{
    if (nbScales < 0 || nbScales > Dims::MAX_DIMS || (scales == nullptr && nbScales > 0))
    {
        log().error(badArgument("IResizeLayer::setScales: layer '{}': {} scales at {}", name(), nbScales,
            static_cast<void const*>(scales)));
        return;
    }
    mFields.scales.assign(scales, scales + nbScales);
    mFields.outputDimensions = Dims{};
    dropInput(1);
    edited();
}

int32_t ResizeLayer::getScales(int32_t size, float* scales) const noexcept
{
    auto const count = static_cast<int32_t>(mFields.scales.size());
    if (size >= count && scales != nullptr)
        std::copy(mFields.scales.begin(), mFields.scales.end(), scales);
    return count;
}

void MatrixMultiplyLayer::setOperation(int32_t index, nvinfer1::MatrixOperation op) noexcept
{
    if (index != 0 && index != 1)
    {
        log().error(badArgument("layer '{}': a matrix multiplication has no operand {}", name(), index));
        return;
    }
    (index == 0 ? mFields.operation0 : mFields.operation1) = op;
    edited();
}

nvinfer1::MatrixOperation MatrixMultiplyLayer::getOperation(int32_t index) const noexcept
{
    return index == 1 ? mFields.operation1 : mFields.operation0;
}

bool CumulativeLayer::setOperation(nvinfer1::CumulativeOperation op) noexcept
{
    mFields.operation = op;
    edited();
    return true;
}

} // namespace tenon::api
