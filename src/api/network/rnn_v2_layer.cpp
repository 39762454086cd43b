// RnnV2Layer: its calls, and its weights as operands.
#include "api/network/rnn_v2_layer.h"

#include "api/flags.h"
#include "api/network/add_layer.h"
#include "ir/host_tensor.h"

#include <algorithm>
#include <cstring>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
//! In the order in which RecurrentNetwork has them.
std::vector<RNNGateType> gatesOf(RNNOperation operation)
{
    switch (operation)
    {
    case RNNOperation::kLSTM:
        return {RNNGateType::kINPUT, RNNGateType::kOUTPUT, RNNGateType::kFORGET, RNNGateType::kCELL};
    case RNNOperation::kGRU: return {RNNGateType::kUPDATE, RNNGateType::kRESET, RNNGateType::kHIDDEN};
    default: return {RNNGateType::kINPUT};
    }
}

int32_t outputsOf(RNNOperation operation)
{
    return operation == RNNOperation::kLSTM ? 3 : 2;
}
} // namespace

RnnV2Layer::RnnV2Layer(Network& network, RnnV2Sizes const& sizes, RNNOperation operation)
    : LayerBase{network, StackedRecurrence::kName,
        {.type = LayerType::kRNN_V2, .maxInputs = StackedRecurrence::kWeights, .outputs = outputsOf(operation)}},
      mSizes{sizes},
      mOperation{operation}
{
    mLayer = static_cast<LayerBase*>(this);
    mImpl = static_cast<missing::RNNv2Layer*>(this);
}

StackedRecurrence RnnV2Layer::fields() const
{
    return {.cell = mOperation == RNNOperation::kLSTM ? RecurrentCell::kLstm
            : mOperation == RNNOperation::kGRU        ? RecurrentCell::kGru
                                                      : RecurrentCell::kRnn,
        .isRelu = mOperation == RNNOperation::kRELU,
        .isBothWays = mDirection == RNNDirection::kBIDIRECTION,
        .layers = mSizes.layers};
}

int32_t RnnV2Layer::ways() const noexcept
{
    return mDirection == RNNDirection::kBIDIRECTION ? 2 : 1;
}

Result<std::shared_ptr<Constant const>> RnnV2Layer::copied(
    std::vector<Weights> const& parts, std::string_view what, int64_t count, std::vector<int64_t> extents) const
{
    auto const given = std::ranges::find_if(parts, [](Weights const& each) { return each.count > 0; });
    DataType const type = given == parts.end() ? DataType::kFLOAT : given->type;
    if (!isFloating(type))
        return badConfig("layer '{}': its {} cannot be {}", name(), what, nameOf(type));
    auto const bytes = static_cast<size_t>(bytesOf(type, count));
    std::vector<char> all(bytes * parts.size());
    for (size_t i = 0; i < parts.size(); ++i)
    {
        Weights const& part = parts[i];
        if (part.count == 0)
            continue; // Zeros.
        if (part.count != count || part.values == nullptr || part.type != type)
            return badConfig("layer '{}': its {} have {} elements of {} where {} of {} are needed", name(), what,
                part.values == nullptr ? 0 : part.count, nameOf(part.type), count, nameOf(type));
        std::memcpy(all.data() + i * bytes, part.values, bytes);
    }
    return makeConstant(type, std::move(extents), all.data());
}

Result<Operand> RnnV2Layer::joined(
    ByGate const& from, std::string_view what, int32_t layer, bool isW, int64_t columns) const
{
    std::vector<RNNGateType> const gates = gatesOf(mOperation);
    std::vector<Weights> parts;
    for (int32_t way = 0; way < ways(); ++way)
        for (RNNGateType const gate : gates)
        {
            parts.push_back(find(from, layer * ways() + way, gate, isW));
            if (parts.back().count == 0)
                return badConfig("layer '{}': layer {} of the stack has no {} for gate {}: call setWeightsForGate()",
                    name(), layer * ways() + way, what, static_cast<int32_t>(gate));
        }
    int64_t const rows = static_cast<int64_t>(gates.size()) * mSizes.hidden;
    return Operand{nullptr, TENON_TRY(copied(parts, what, mSizes.hidden * columns, {ways(), rows, columns})),
        fmt::format("{}.{} {}", name(), what, layer)};
}

Result<Operand> RnnV2Layer::biases(int32_t layer) const
{
    std::vector<RNNGateType> const gates = gatesOf(mOperation);
    std::vector<Weights> parts;
    for (int32_t way = 0; way < ways(); ++way)
        for (bool const isW : {true, false})
            for (RNNGateType const gate : gates)
                parts.push_back(find(mBiases, layer * ways() + way, gate, isW));
    if (std::ranges::all_of(parts, [](Weights const& each) { return each.count == 0; }))
        return Operand{};
    int64_t const each = 2 * static_cast<int64_t>(gates.size()) * mSizes.hidden;
    return Operand{nullptr, TENON_TRY(copied(parts, "biases", mSizes.hidden, {ways(), each})),
        fmt::format("{}.biases {}", name(), layer)};
}

Operand RnnV2Layer::passing(int32_t layer, DType type) const
{
    auto const gates = static_cast<int64_t>(gatesOf(mOperation).size());
    HostTensor ones{type, {ways(), gates * mSizes.hidden, mSizes.hidden}};
    for (int64_t row = 0; row < ways() * gates * mSizes.hidden; ++row)
        ones.set(row * mSizes.hidden + row % mSizes.hidden, 1.0);
    return {nullptr, ones.toConstant(), fmt::format("{}.input as it is {}", name(), layer)};
}

Result<std::vector<Operand>> RnnV2Layer::operands() const
{
    Shape const& x = inputs().at(0)->inferred.type.shape;
    if (x.size() < 2 || !x.back().isConstant())
        return badConfig("layer '{}': input '{}' is {}; it must be [any…, steps, length], the length known", name(),
            inputs()[0]->name(), tenon::show(x));
    ShapeExpr const& steps = x[x.size() - 2];
    if (steps.isConstant() && *steps.constant() != mSizes.steps)
        return badConfig("layer '{}': input '{}' has {} steps, the layer was added for {}", name(), inputs()[0]->name(),
            steps.show(), mSizes.steps);
    int64_t columns = *x.back().constant();
    if (mInputMode == RNNInputMode::kSKIP && columns != mSizes.hidden)
        return badConfig(
            "layer '{}': with kSKIP the input has as many elements per step as the hidden state, {}; it has {}", name(),
            mSizes.hidden, columns);
    std::vector<Operand> found = TENON_TRY(LayerBase::operands());
    found.resize(StackedRecurrence::kWeights);
    for (int32_t layer = 0; layer < mSizes.layers; ++layer)
    {
        Operand recurrent = TENON_TRY(joined(mWeights, "recurrent weights", layer, false, mSizes.hidden));
        found.push_back(layer == 0 && mInputMode == RNNInputMode::kSKIP
                ? passing(layer, recurrent.constant->dtype)
                : TENON_TRY(joined(mWeights, "input weights", layer, true, columns)));
        found.push_back(std::move(recurrent));
        found.push_back(TENON_TRY(biases(layer)));
        columns = int64_t{ways()} * mSizes.hidden;
    }
    return found;
}

int32_t RnnV2Layer::getLayerCount() const noexcept
{
    return mSizes.layers;
}

int32_t RnnV2Layer::getHiddenSize() const noexcept
{
    return mSizes.hidden;
}

int32_t RnnV2Layer::getMaxSeqLength() const noexcept
{
    return mSizes.steps;
}

int32_t RnnV2Layer::getDataLength() const noexcept
{
    Dims const dims = inputs().at(0)->getDimensions();
    return dims.nbDims < 1 ? -1 : static_cast<int32_t>(dims.d[dims.nbDims - 1]);
}

void RnnV2Layer::setSequenceLengths(ITensor& seqLengths) noexcept
{
    LayerBase::setInput(StackedRecurrence::kLengths, seqLengths);
}

ITensor* RnnV2Layer::getSequenceLengths() const noexcept
{
    return LayerBase::getInput(StackedRecurrence::kLengths);
}

void RnnV2Layer::setOperation(RNNOperation op) noexcept
{
    if (!isKnown(log(), "IRNNv2Layer::setOperation", op))
        return;
    if (outputsOf(op) != outputCount())
        return log().error(badArgument(
            "IRNNv2Layer::setOperation: layer '{}': only an LSTM has a cell state to give out; add another layer",
            name()));
    mOperation = op;
    edited();
}

RNNOperation RnnV2Layer::getOperation() const noexcept
{
    return mOperation;
}

void RnnV2Layer::setInputMode(RNNInputMode op) noexcept
{
    if (!isKnown(log(), "IRNNv2Layer::setInputMode", op))
        return;
    mInputMode = op;
    edited();
}

RNNInputMode RnnV2Layer::getInputMode() const noexcept
{
    return mInputMode;
}

void RnnV2Layer::setDirection(RNNDirection op) noexcept
{
    if (!isKnown(log(), "IRNNv2Layer::setDirection", op))
        return;
    mDirection = op;
    edited();
}

RNNDirection RnnV2Layer::getDirection() const noexcept
{
    return mDirection;
}

void RnnV2Layer::put(ByGate& all, char const* call, int32_t layer, RNNGateType gate, bool isW, Weights weights) noexcept
{
    fencedDone(log(), call, [&]() -> Result<Done> {
        // The direction may be set after the weights.
        if (layer < 0 || layer >= 2 * mSizes.layers)
            return badArgument("layer '{}': there is no layer {} in a stack of {}", name(), layer, mSizes.layers);
        if (std::ranges::count(gatesOf(mOperation), gate) == 0)
            return badArgument("layer '{}': its cells have no gate {}", name(), static_cast<int32_t>(gate));
        all[{layer, gate, isW}] = weights;
        edited();
        return Done{};
    });
}

Weights RnnV2Layer::find(ByGate const& all, int32_t layer, RNNGateType gate, bool isW) noexcept
{
    auto const found = all.find({layer, gate, isW});
    return found == all.end() ? Weights{DataType::kFLOAT, nullptr, 0} : found->second;
}

void RnnV2Layer::setWeightsForGate(int32_t layerIndex, RNNGateType gate, bool isW, Weights weights) noexcept
{
    put(mWeights, "IRNNv2Layer::setWeightsForGate", layerIndex, gate, isW, weights);
}

Weights RnnV2Layer::getWeightsForGate(int32_t layerIndex, RNNGateType gate, bool isW) const noexcept
{
    return find(mWeights, layerIndex, gate, isW);
}

void RnnV2Layer::setBiasForGate(int32_t layerIndex, RNNGateType gate, bool isW, Weights bias) noexcept
{
    put(mBiases, "IRNNv2Layer::setBiasForGate", layerIndex, gate, isW, bias);
}

Weights RnnV2Layer::getBiasForGate(int32_t layerIndex, RNNGateType gate, bool isW) const noexcept
{
    return find(mBiases, layerIndex, gate, isW);
}

void RnnV2Layer::setHiddenState(ITensor& hidden) noexcept
{
    LayerBase::setInput(StackedRecurrence::kFirstHidden, hidden);
}

ITensor* RnnV2Layer::getHiddenState() const noexcept
{
    return LayerBase::getInput(StackedRecurrence::kFirstHidden);
}

void RnnV2Layer::setCellState(ITensor& cell) noexcept
{
    if (mOperation != RNNOperation::kLSTM)
        return log().error(badArgument("IRNNv2Layer::setCellState: layer '{}': only an LSTM has a cell state", name()));
    LayerBase::setInput(StackedRecurrence::kFirstCell, cell);
}

ITensor* RnnV2Layer::getCellState() const noexcept
{
    return LayerBase::getInput(StackedRecurrence::kFirstCell);
}

IRNNv2Layer* Network::addRNNv2(
    ITensor& input, int32_t layerCount, int32_t hiddenSize, int32_t maxSeqLen, RNNOperation op) noexcept
{
    constexpr char const* kCall{"INetworkDefinition::addRNNv2"};
    if (!isKnown(mReporting.log(), kCall, op))
        return nullptr;
    return fenced(mReporting.log(), kCall, static_cast<IRNNv2Layer*>(nullptr), [&]() -> Result<IRNNv2Layer*> {
        if (layerCount < 1 || hiddenSize < 1 || maxSeqLen < 1)
            return badArgument("{} layers, a hidden state of {} and {} steps: each must be 1 or more", layerCount,
                hiddenSize, maxSeqLen);
        std::vector<Tensor*> own = TENON_TRY(ownTensors({&input}));
        return take(
            std::make_unique<RnnV2Layer>(*this, RnnV2Sizes{layerCount, hiddenSize, maxSeqLen}, op), std::move(own));
    });
}

} // namespace tenon::api
