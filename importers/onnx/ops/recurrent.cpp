// RNN, GRU and LSTM: a layer of their own; where the network has none, or not with these operands, one product for all
// steps of a direction outside, and a loop over the steps.
#include "../network.h"
#include "../operators.h"
#include "../own_calls.h"

#include <algorithm>
#include <array>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::ILoop;
using nvinfer1::IRecurrenceLayer;
using nvinfer1::LoopOutput;
using nvinfer1::MatrixOperation;
using nvinfer1::TripLimit;

//! An activation by its name in ONNX, with the factors that it has when the node gives none.
struct Activated
{
    std::string_view name;
    ActivationType type;
    float alpha{0.0F};
    float beta{0.0F};
    bool takesAlpha{false};
    bool takesBeta{false};
    bool needsLoop{false}; //!< The layer does not know it.
};

constexpr std::array kActivated{
    Activated{"relu", ActivationType::kRELU},
    Activated{"tanh", ActivationType::kTANH},
    Activated{"sigmoid", ActivationType::kSIGMOID},
    Activated{"leakyrelu", ActivationType::kLEAKY_RELU, 0.01F, 0.0F, true},
    Activated{"thresholdedrelu", ActivationType::kTHRESHOLDED_RELU, 1.0F, 0.0F, true, false, true},
    Activated{"scaledtanh", ActivationType::kSCALED_TANH, 1.0F, 1.0F, true, true},
    Activated{"hardsigmoid", ActivationType::kHARD_SIGMOID, 0.2F, 0.5F, true, true},
    Activated{"elu", ActivationType::kELU, 1.0F, 0.0F, true, false, true},
    Activated{"softsign", ActivationType::kSOFTSIGN, 0.0F, 0.0F, false, false, true},
    Activated{"softplus", ActivationType::kSOFTPLUS, 1.0F, 1.0F, false, false, true},
    // A product and a sum: see applied().
    Activated{"affine", ActivationType::kRELU, 1.0F, 0.0F, true, true, true},
};

std::string lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

//! What the three operators share: operands, attributes, and the parts of them that a direction has.
class Recurrent
{
  public:
    Recurrent(Node& node, int64_t gates, std::vector<std::string> const& standard)
        : mNode{node},
          mGates{gates},
          mHidden{node.intOr("hidden_size", node.in(2).shape().back())},
          mIsBatchFirst{node.intOr("layout", 0) != 0}
    {
        std::string const direction = lower(node.stringOr("direction", "forward"));
        mDirections = direction == "bidirectional" ? 2 : 1;
        mIsReverse = direction == "reverse";
        if (node.in(0).rank() != 3 || node.in(1).rank() != 3
            || node.in(2).shape() != Shape{mDirections, gates * mHidden, mHidden})
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("X {}, W {} and R {} do not fit {} directions, {} gates and a hidden size of {}",
                    shapeText(node.in(0).shape()), shapeText(node.in(1).shape()), shapeText(node.in(2).shape()),
                    mDirections, gates, mHidden));
        }
        readActivations(standard);
        mX = mIsBatchFirst ? node.transpose(node.in(0), {1, 0, 2}) : node.in(0);
        mSteps = extentOf(node, mX, 0);
        mBatch = extentOf(node, mX, 1);
        mType = mX.type();
    }

    Node& node() noexcept
    {
        return mNode;
    }
    int64_t hidden() const noexcept
    {
        return mHidden;
    }
    int64_t directions() const noexcept
    {
        return mDirections;
    }

    Value plus(Value const& a, Value const& b)
    {
        return mNode.binary(a, b, ElementWiseOperation::kSUM);
    }
    Value times(Value const& a, Value const& b)
    {
        return mNode.binary(a, b, ElementWiseOperation::kPROD);
    }
    Value oneLess(Value const& x)
    {
        return mNode.binary(mNode.scalar(1.0, mType, 2), x, ElementWiseOperation::kSUB);
    }
    //! a · bᵀ
    Value product(Value const& a, Value const& b)
    {
        return mNode.output(mNode.api().addMatrixMultiply(
                                mNode.tensor(a), MatrixOperation::kNONE, mNode.tensor(b), MatrixOperation::kTRANSPOSE),
            "product");
    }
    //! Activation `which` of a direction, of what is clipped first.
    Value applied(Value const& x, int64_t direction, size_t which)
    {
        return activated(
            mClip > 0.0F ? mNode.activation(x, ActivationType::kCLIP, -mClip, mClip) : x, direction, which);
    }
    //! The same of a cell, which is not clipped, as ONNX Runtime has it.
    Value activated(Value const& x, int64_t direction, size_t which)
    {
        Activated const& each = mActivations[static_cast<size_t>(direction) * mPerDirection + which];
        if (each.name == "affine")
        {
            return plus(times(x, mNode.scalar(static_cast<double>(each.alpha), mType, 2)),
                mNode.scalar(static_cast<double>(each.beta), mType, 2));
        }
        return mNode.activation(x, each.type, each.alpha, each.beta);
    }
    //! Columns [first, first + count) of gates.
    Value gates(Value const& x, int64_t first, int64_t count)
    {
        return sliceAxis(mNode, x, x.rank() - 1, first * mHidden, count * mHidden);
    }
    //! What a direction has of an operand whose first axis counts directions.
    Value ofDirection(Value const& x, int64_t direction)
    {
        return mNode.squeeze(sliceAxis(mNode, x, 0, direction, 1), {0});
    }
    //! Rows [first, first + count) of H each, of W or R or both halves of B.
    Value rows(Value const& x, int64_t first, int64_t count)
    {
        return sliceAxis(mNode, x, 0, first * mHidden, count * mHidden);
    }
    //! [1, n·H] of the biases of a direction; absent when the node has none.
    Value bias(int64_t direction, int64_t first, int64_t count)
    {
        return mNode.has(3) ? mNode.unsqueeze(rows(ofDirection(mNode.in(3), direction), first, count), {0}) : Value{};
    }
    Value withBias(Value const& x, Value const& bias)
    {
        return bias.exists() ? plus(x, mNode.withRank(bias, x.rank())) : x;
    }
    //! X · Wᵀ for all steps: [steps, batch, gates · H].
    Value products(int64_t direction)
    {
        Value const weights = ofDirection(mNode.in(1), direction);
        return product(mX, mNode.unsqueeze(weights, {0}));
    }
    Value recurrentWeights(int64_t direction)
    {
        return ofDirection(mNode.in(2), direction);
    }

    //! What a direction begins with: input i, or zeros [batch, H].
    Value first(int input, int64_t direction)
    {
        if (mNode.has(input))
        {
            Value const given = mIsBatchFirst ? mNode.transpose(mNode.in(input), {1, 0, 2}) : mNode.in(input);
            return ofDirection(given, direction);
        }
        return expandTo(mNode, mNode.filled(0.0, mType, {1, 1}), {mBatch, mHidden});
    }

    // ---- One layer for all.
    //! Whether there is a layer that has kernels for what the node asks for.
    bool isOneLayer() const
    {
        bool const needsLoop =
            std::any_of(mActivations.begin(), mActivations.end(), [](Activated const& each) { return each.needsLoop; });
        return hasRecurrentNetworks() && mType == DataType::kFLOAT && mNode.in(1).isConstant()
            && mNode.in(2).isConstant() && !needsLoop;
    }
    Outputs oneLayer()
    {
        std::vector<int32_t> types;
        std::vector<float> alphas;
        std::vector<float> betas;
        for (Activated const& each : mActivations)
        {
            types.push_back(static_cast<int32_t>(each.type));
            alphas.push_back(each.alpha);
            betas.push_back(each.beta);
        }
        TenonRecurrentNetwork recurrence{};
        recurrence.cell = mGates == 1 ? 0 : mGates == 3 ? 1 : 2;
        recurrence.direction = mDirections == 2 ? 2 : mIsReverse ? 1 : 0;
        recurrence.isResetAfter = mNode.intOr("linear_before_reset", 0) != 0 ? 1 : 0;
        recurrence.isCoupled = mNode.intOr("input_forget", 0) != 0 ? 1 : 0;
        recurrence.clip = std::max(mClip, 0.0F);
        recurrence.activationCount = static_cast<int32_t>(types.size());
        recurrence.activations = types.data();
        recurrence.alphas = alphas.data();
        recurrence.betas = betas.data();
        recurrence.tensors[0] = &mNode.tensor(mX);
        for (int input = 1; input < 8; ++input)
        {
            bool const isState = input == 5 || input == 6;
            if (mNode.has(input))
            {
                recurrence.tensors[input] = &mNode.tensor(
                    isState && mIsBatchFirst ? mNode.transpose(mNode.in(input), {1, 0, 2}) : mNode.in(input));
            }
        }
        nvinfer1::ILayer* const layer = mNode.added(addRecurrentNetwork(mNode.api(), recurrence));
        Outputs outputs;
        for (int32_t i = 0; i < (mGates == 4 ? 3 : 2); ++i)
        {
            Value const value = mNode.output(layer, {}, i);
            outputs.push_back(!mIsBatchFirst ? value
                    : i == 0                 ? mNode.transpose(value, {2, 0, 1, 3})
                                             : mNode.transpose(value, {1, 0, 2}));
        }
        return outputs;
    }

    // ---- The loop of a direction.
    void begin(int64_t direction)
    {
        mLoop = mNode.api().addLoop();
        if (mLoop == nullptr)
        {
            fail(ErrorCode::kUNSUPPORTED_NODE, "the network refuses a loop" + mNode.network().reasons.text());
        }
        mLoop->setName(
            (mDirections == 1 ? mNode.name() : fmt::format("{}/direction {}", mNode.name(), direction)).c_str());
        mIsBackward = mIsReverse || direction == 1;
        mCount = scalarOf(mNode, mSteps);
        mNode.added(mLoop->addTripLimit(mNode.tensor(mCount), TripLimit::kCOUNT), "steps");
        mIsInside = mNode.has(4) ? walk(inside()) : Value{};
    }
    Value walk(Value const& x)
    {
        return mNode.output(mLoop->addIterator(mNode.tensor(x), 0, mIsBackward), "step");
    }
    IRecurrenceLayer* carry(Value const& firstValue)
    {
        return mNode.added(mLoop->addRecurrence(mNode.tensor(firstValue)), "state");
    }
    //! Behind the end of a sequence the state stays.
    void next(IRecurrenceLayer& state, Value const& value)
    {
        Value const kept = mIsInside.exists() ? mNode.select(mIsInside, value, state.getOutput(0)) : value;
        state.setInput(1, mNode.tensor(kept));
    }
    Value last(IRecurrenceLayer& state)
    {
        return mNode.output(mLoop->addLoopOutput(*state.getOutput(0), LoopOutput::kLAST_VALUE), "last");
    }
    //! [steps, 1, batch, H]; zeros behind the end of a sequence.
    Value all(Value const& value)
    {
        Value const shown = mIsInside.exists() ? mNode.select(mIsInside, value, mNode.scalar(0.0, mType, 2)) : value;
        nvinfer1::ILoopOutputLayer* const layer = mNode.added(
            mLoop->addLoopOutput(mNode.tensor(shown), mIsBackward ? LoopOutput::kREVERSE : LoopOutput::kCONCATENATE),
            "steps");
        layer->setInput(1, mNode.tensor(mCount));
        return mNode.unsqueeze(mNode.output(layer, "steps"), {1});
    }

    //! Directions joined along an axis, and moved to where the layout has them.
    Value joined(std::vector<Value> const& parts, int32_t axis)
    {
        Value whole = parts.front();
        if (parts.size() > 1)
        {
            std::vector<nvinfer1::ITensor*> tensors;
            for (Value const& part : parts)
            {
                tensors.push_back(&mNode.tensor(part));
            }
            nvinfer1::IConcatenationLayer* const layer = mNode.added(
                mNode.api().addConcatenation(tensors.data(), static_cast<int32_t>(tensors.size())), "directions");
            layer->setAxis(axis);
            whole = mNode.output(layer, "directions");
        }
        if (!mIsBatchFirst)
        {
            return whole;
        }
        return axis == 1 ? mNode.transpose(whole, {2, 0, 1, 3}) : mNode.transpose(whole, {1, 0, 2});
    }

  private:
    void readActivations(std::vector<std::string> const& standard)
    {
        mPerDirection = standard.size();
        std::vector<std::string> names = mNode.stringsOr("activations", {});
        if (names.empty())
        {
            for (int64_t i = 0; i < mDirections; ++i)
            {
                names.insert(names.end(), standard.begin(), standard.end());
            }
        }
        if (names.size() != standard.size() * static_cast<size_t>(mDirections))
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("it names {} activations for {} directions", names.size(), mDirections));
        }
        std::vector<float> const alphas = mNode.floatsOr("activation_alpha", {});
        std::vector<float> const betas = mNode.floatsOr("activation_beta", {});
        size_t alpha{0};
        size_t beta{0};
        for (std::string const& name : names)
        {
            auto const found = std::find_if(
                kActivated.begin(), kActivated.end(), [&](auto& each) { return each.name == lower(name); });
            if (found == kActivated.end())
            {
                fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("activation '{}' is not known", name));
            }
            Activated each = *found;
            each.alpha = each.takesAlpha && alpha < alphas.size() ? alphas[alpha++] : each.alpha;
            each.beta = each.takesBeta && beta < betas.size() ? betas[beta++] : each.beta;
            mActivations.push_back(each);
        }
        mClip = mNode.floatOr("clip", 0.0F);
    }

    //! [steps, batch, 1]: whether the step lies within the sequence.
    Value inside()
    {
        Value const steps = mNode.unsqueeze(iota(mNode, mSteps), {1, 2});
        Value const lengths = mNode.unsqueeze(mNode.cast(mNode.in(4), DataType::kINT64), {0, 2});
        return mNode.binary(steps, lengths, ElementWiseOperation::kLESS);
    }

    Node& mNode;
    int64_t mGates;
    int64_t mHidden;
    bool mIsBatchFirst;
    int64_t mDirections{1};
    bool mIsReverse{false};
    size_t mPerDirection{1};
    std::vector<Activated> mActivations;
    float mClip{0.0F};
    Value mX; //!< [steps, batch, inputs]
    Extent mSteps;
    Extent mBatch;
    DataType mType{};

    ILoop* mLoop{nullptr};
    bool mIsBackward{false};
    Value mCount;
    Value mIsInside; //!< [batch, 1] in a step; absent: all sequences are as long as the tensor.
};

//! What the directions of a node gave.
struct Given
{
    std::vector<Value> all;
    std::vector<Value> hidden;
    std::vector<Value> cell;
};

Outputs outputsOf(Recurrent& r, Given const& given)
{
    Node& node = r.node();
    Outputs outputs(3);
    if (node.wants(0))
    {
        outputs[0] = r.joined(given.all, 1);
    }
    if (node.wants(1))
    {
        outputs[1] = r.joined(given.hidden, 0);
    }
    if (node.wants(2) && !given.cell.empty())
    {
        outputs[2] = r.joined(given.cell, 0);
    }
    outputs.resize(given.cell.empty() ? 2 : 3);
    return outputs;
}

//! What somebody reads of a direction whose loop is done.
void take(Recurrent& r, Given& given, IRecurrenceLayer& hidden, Value const& value)
{
    if (r.node().wants(0))
    {
        given.all.push_back(r.all(value));
    }
    if (r.node().wants(1))
    {
        given.hidden.push_back(r.node().unsqueeze(r.last(hidden), {0}));
    }
}

// H = f(X · Wᵀ + H · Rᵀ + b)
Outputs importRnn(Node& node)
{
    Recurrent r{node, 1, {"Tanh"}};
    if (r.isOneLayer())
    {
        return r.oneLayer();
    }
    Given given;
    for (int64_t d = 0; d < r.directions(); ++d)
    {
        Value const x = r.withBias(r.withBias(r.products(d), r.bias(d, 0, 1)), r.bias(d, 1, 1));
        Value const weights = r.recurrentWeights(d);
        Value const first = r.first(5, d);
        r.begin(d);
        Value const now = r.walk(x);
        IRecurrenceLayer* const hidden = r.carry(first);
        Value const value = r.applied(r.plus(now, r.product(hidden->getOutput(0), weights)), d, 0);
        r.next(*hidden, value);
        take(r, given, *hidden, value);
    }
    return outputsOf(r, given);
}

// z, r = f(…); h = g(…); H = (1 − z) · h + z · H
Outputs importGru(Node& node)
{
    Recurrent r{node, 3, {"Sigmoid", "Tanh"}};
    if (r.isOneLayer())
    {
        return r.oneLayer();
    }
    bool const isResetAfter = node.intOr("linear_before_reset", 0) != 0;
    Given given;
    for (int64_t d = 0; d < r.directions(); ++d)
    {
        Value const x = r.withBias(r.products(d), r.bias(d, 0, 3));
        Value const weights = r.recurrentWeights(d);
        Value const weightsOfBoth = r.rows(weights, 0, 2);
        Value const weightsOfLast = r.rows(weights, 2, 1);
        Value const biasOfBoth = r.bias(d, 3, 2);
        Value const biasOfLast = r.bias(d, 5, 1);
        Value const first = r.first(5, d);
        r.begin(d);
        Value const now = r.walk(x);
        IRecurrenceLayer* const hidden = r.carry(first);
        Value const before = hidden->getOutput(0);
        Value const both =
            r.applied(r.plus(r.gates(now, 0, 2), r.withBias(r.product(before, weightsOfBoth), biasOfBoth)), d, 0);
        Value const update = r.gates(both, 0, 1);
        Value const reset = r.gates(both, 1, 1);
        Value const recalled = isResetAfter ? r.times(reset, r.withBias(r.product(before, weightsOfLast), biasOfLast))
                                            : r.withBias(r.product(r.times(reset, before), weightsOfLast), biasOfLast);
        Value const candidate = r.applied(r.plus(r.gates(now, 2, 1), recalled), d, 1);
        Value const value = r.plus(r.times(r.oneLess(update), candidate), r.times(update, before));
        r.next(*hidden, value);
        take(r, given, *hidden, value);
    }
    return outputsOf(r, given);
}

// i, o, f = f(…); c = g(…); C = f · C + i · c; H = o · h(C)
Outputs importLstm(Node& node)
{
    Recurrent r{node, 4, {"Sigmoid", "Tanh", "Tanh"}};
    if (r.isOneLayer())
    {
        return r.oneLayer();
    }
    bool const isCoupled = node.intOr("input_forget", 0) != 0;
    Given given;
    for (int64_t d = 0; d < r.directions(); ++d)
    {
        Value const x = r.withBias(r.withBias(r.products(d), r.bias(d, 0, 4)), r.bias(d, 4, 4));
        Value const weights = r.recurrentWeights(d);
        std::array<Value, 3> peepholes; // Of i, o, f.
        for (size_t i = 0; i < peepholes.size() && node.has(7); ++i)
        {
            peepholes[i] = node.unsqueeze(r.rows(r.ofDirection(node.in(7), d), static_cast<int64_t>(i), 1), {0});
        }
        auto const peeped = [&](Value const& gate, size_t which, Value const& cell) {
            return peepholes[which].exists() ? r.plus(gate, r.times(cell, peepholes[which])) : gate;
        };
        Value const firstHidden = r.first(5, d);
        Value const firstCell = r.first(6, d);
        r.begin(d);
        Value const now = r.walk(x);
        IRecurrenceLayer* const hidden = r.carry(firstHidden);
        IRecurrenceLayer* const cell = r.carry(firstCell);
        Value const before = cell->getOutput(0);
        Value const sums = r.plus(now, r.product(hidden->getOutput(0), weights));
        Value const input = r.applied(peeped(r.gates(sums, 0, 1), 0, before), d, 0);
        Value const forget = isCoupled ? r.oneLess(input) : r.applied(peeped(r.gates(sums, 2, 1), 2, before), d, 0);
        Value const candidate = r.applied(r.gates(sums, 3, 1), d, 1);
        Value const after = r.plus(r.times(forget, before), r.times(input, candidate));
        Value const output = r.applied(peeped(r.gates(sums, 1, 1), 1, after), d, 0);
        Value const value = r.times(output, r.activated(after, d, 2));
        r.next(*hidden, value);
        r.next(*cell, after);
        take(r, given, *hidden, value);
        given.cell.push_back(node.wants(2) ? node.unsqueeze(r.last(*cell), {0}) : Value{});
    }
    return outputsOf(r, given);
}

//! Numbers [directions, columns, gates · H] less their zero point times their scale, both one per direction or per gate
//! and direction; transposed, as LSTM has its weights.
Value realWeights(Node& node, int input, int scaleInput)
{
    Constant const& numbers = node.constant(input, "weights");
    std::vector<double> const from = numbersOf(numbers);
    Checked<double> const scales = node.numbers(scaleInput, "scales");
    Checked<double> const zeros =
        node.has(scaleInput + 1) ? node.numbers(scaleInput + 1, "zero points") : std::vector<double>(scales.size());
    Shape const shape = numbers.dims;
    if (shape.size() != 3 || zeros.size() != scales.size()
        || (static_cast<int64_t>(scales.size()) != shape[0]
            && static_cast<int64_t>(scales.size()) != shape[0] * shape[2]))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("weights {} with {} scales and {} zero points", shapeText(shape), scales.size(), zeros.size()));
    }
    std::vector<double> reals(from.size());
    bool const isPerGate = static_cast<int64_t>(scales.size()) != shape[0];
    for (size_t i = 0; i < from.size(); ++i)
    {
        auto const at = static_cast<int64_t>(i);
        int64_t const gate = at % shape[2];
        int64_t const column = at / shape[2] % shape[1];
        int64_t const direction = at / (shape[2] * shape[1]);
        auto const which = static_cast<size_t>(isPerGate ? direction * shape[2] + gate : direction);
        reals[static_cast<size_t>((direction * shape[2] + gate) * shape[1] + column)] =
            (from[i] - zeros[which]) * scales[which];
    }
    return node.numbers(reals, {shape[0], shape[2], shape[1]}, DataType::kFLOAT);
}

//! An LSTM of weights that are quantized. Its states stay real numbers: what ONNX Runtime rounds of them in each step,
//! by ranges of its own, is the price of its integer products, not what the model says.
Outputs importDynamicQuantizeLstm(Node& node)
{
    constexpr size_t kOperands{8};
    std::vector<Value> inputs(kOperands);
    for (size_t i = 0; i < kOperands; ++i)
    {
        if (node.has(static_cast<int>(i)))
        {
            inputs[i] = node.in(static_cast<int>(i));
        }
    }
    inputs[1] = realWeights(node, 1, 8);
    inputs[2] = realWeights(node, 2, 10);
    node.replaceInputs(std::move(inputs));
    return importLstm(node);
}

constexpr Operator kContribRecurrentTable[]{{"DynamicQuantizeLSTM", importDynamicQuantizeLstm}};

constexpr Operator kRecurrentTable[]{
    {"GRU", importGru},
    {"LSTM", importLstm},
    {"RNN", importRnn},
};

} // namespace

constinit std::span<Operator const> const kRecurrentOperators{kRecurrentTable};
constinit std::span<Operator const> const kContribRecurrentOperators{kContribRecurrentTable};

} // namespace tenon::onnx
