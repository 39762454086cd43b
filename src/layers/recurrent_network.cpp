// RecurrentNetwork: rules and plain loops.
#include "layers/recurrent_network.h"

#include "base/cancellation.h"
#include "ir/concrete_inputs.h"
#include "layers/check.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

using nvinfer1::ActivationType;

bool RecurrentActivation::takes(ActivationType type) noexcept
{
    return type == ActivationType::kRELU || type == ActivationType::kSIGMOID || type == ActivationType::kTANH
        || type == ActivationType::kLEAKY_RELU || type == ActivationType::kHARD_SIGMOID
        || type == ActivationType::kSCALED_TANH;
}

double RecurrentActivation::of(double x) const noexcept
{
    auto const a = static_cast<double>(alpha);
    auto const b = static_cast<double>(beta);
    switch (type)
    {
    case ActivationType::kRELU: return std::max(x, 0.0);
    case ActivationType::kSIGMOID: return 1.0 / (1.0 + std::exp(-x));
    case ActivationType::kLEAKY_RELU: return x >= 0.0 ? x : a * x;
    case ActivationType::kHARD_SIGMOID: return std::max(0.0, std::min(1.0, a * x + b));
    case ActivationType::kSCALED_TANH: return a * std::tanh(b * x);
    default: return std::tanh(x);
    }
}

Result<Done> RecurrentNetwork::verify() const
{
    if (cell > RecurrentCell::kLstm || direction > RecurrentDirection::kBoth)
        return badArgument(
            "unknown cell {} or direction {}", static_cast<int32_t>(cell), static_cast<int32_t>(direction));
    size_t const wanted = static_cast<size_t>(directions()) * activationCount();
    if (activations.size() != wanted)
        return badArgument("has {} activations, needs {}", activations.size(), wanted);
    for (RecurrentActivation const& each : activations)
        if (!RecurrentActivation::takes(each.type))
            return badArgument("cannot apply activation {}", static_cast<int32_t>(each.type));
    if (!(clip >= 0.0F))
        return badArgument("clips at {}", clip);
    return Done{};
}

Result<std::vector<TensorType>> RecurrentNetwork::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(3, kOperands).floating(kX).rank(kX, 3).rank(kW, 3).rank(kR, 3).rank(kBias, 2);
    check.index(kLengths).rank(kLengths, 1).rank(kFirstHidden, 3).rank(kFirstCell, 3).rank(kPeepholes, 2);
    for (int32_t const i : {kW, kR, kBias, kFirstHidden, kFirstCell, kPeepholes})
        check.sameType(i, kX);
    TENON_TRY(check.done());
    Shape const& x = in.type(kX).shape;
    check.input(kR, in.type(kR).shape[2].isConstant(), "has a hidden size that must be known while building");
    TENON_TRY(check.done());
    int64_t const hidden = *in.type(kR).shape[2].constant();
    ShapeExpr const rows{gates() * hidden};
    for (int32_t const i : {kW, kR})
        check.extent(i, 0, ShapeExpr{directions()}).extent(i, 1, rows);
    check.extent(kW, 2, x[2]);
    auto const matches = [&](int32_t i, Shape const& wanted) {
        for (size_t axis = 0; in.has(i) && axis < wanted.size(); ++axis)
            check.extent(i, static_cast<int32_t>(axis), wanted[axis]);
    };
    ShapeExpr const ways{directions()};
    Shape const state{ways, x[1], ShapeExpr{hidden}};
    matches(kBias, {ways, ShapeExpr{2 * gates() * hidden}});
    matches(kLengths, {x[1]});
    matches(kFirstHidden, state);
    matches(kFirstCell, state);
    matches(kPeepholes, {ways, ShapeExpr{3 * hidden}});
    TENON_TRY(check.done());
    DType const type = in.type(kX).dtype;
    std::vector<TensorType> outputs{{type, {x[0], ways, x[1], ShapeExpr{hidden}}}};
    outputs.resize(static_cast<size_t>(this->outputs()), TensorType{type, state});
    return outputs;
}

namespace
{
//! One direction of one sequence, step by step.
class PlainRecurrentNetwork
{
  public:
    PlainRecurrentNetwork(RecurrentNetwork const& layer, HostTensors const& in, int64_t direction)
        : mLayer{layer},
          mIn{in},
          mDirection{direction},
          mHidden{in[RecurrentNetwork::kR]->extents[2]},
          mInputs{in[RecurrentNetwork::kX]->extents[2]},
          mBatch{in[RecurrentNetwork::kX]->extents[1]},
          mSums(static_cast<size_t>(layer.gates() * mHidden)),
          mRecalled(mSums.size()),
          mState(static_cast<size_t>(mHidden)),
          mCell(mState)
    {
    }
    void start(int64_t sequence)
    {
        for (int64_t j = 0; j < mHidden; ++j)
        {
            int64_t const at = (mDirection * mBatch + sequence) * mHidden + j;
            mState[index(j)] = optional(RecurrentNetwork::kFirstHidden, at);
            mCell[index(j)] = optional(RecurrentNetwork::kFirstCell, at);
        }
    }
    void step(int64_t row)
    {
        int64_t const width = mLayer.gates() * mHidden;
        for (int64_t g = 0; g < width; ++g)
        {
            double sum = optional(RecurrentNetwork::kBias, mDirection * 2 * width + g);
            for (int64_t i = 0; i < mInputs; ++i)
                sum += mIn[RecurrentNetwork::kX]->real(row * mInputs + i)
                    * mIn[RecurrentNetwork::kW]->real((mDirection * width + g) * mInputs + i);
            mSums[index(g)] = sum;
        }
        recall(0, width, mState);
        switch (mLayer.cell)
        {
        case RecurrentCell::kRnn:
            for (int64_t j = 0; j < mHidden; ++j)
                mState[index(j)] = applied(0, mSums[index(j)] + mRecalled[index(j)]);
            return;
        case RecurrentCell::kGru: return stepOfGru();
        default: return stepOfLstm();
        }
    }
    double hidden(int64_t j) const
    {
        return mState[index(j)];
    }
    double cell(int64_t j) const
    {
        return mCell[index(j)];
    }

  private:
    static size_t index(int64_t i)
    {
        return static_cast<size_t>(i);
    }
    double optional(int32_t input, int64_t at) const
    {
        bool const isThere = index(input) < mIn.size() && mIn[index(input)] != nullptr;
        return isThere ? mIn[index(input)]->real(at) : 0.0;
    }
    double applied(size_t which, double x, bool isClipped = true) const
    {
        auto const bound = static_cast<double>(mLayer.clip);
        double const y = isClipped && bound > 0.0 ? std::max(-bound, std::min(bound, x)) : x;
        return mLayer.activations[index(mDirection) * mLayer.activationCount() + which].of(y);
    }
    //! Gates [first, last) of what the state and its biases give.
    void recall(int64_t first, int64_t last, std::vector<double> const& state)
    {
        int64_t const width = mLayer.gates() * mHidden;
        for (int64_t g = first; g < last; ++g)
        {
            double sum = optional(RecurrentNetwork::kBias, (mDirection * 2 + 1) * width + g);
            for (int64_t j = 0; j < mHidden; ++j)
                sum += state[index(j)] * mIn[RecurrentNetwork::kR]->real((mDirection * width + g) * mHidden + j);
            mRecalled[index(g)] = sum;
        }
    }
    //! z = f(…), r = f(…), h = g(…); H = (1 − z) · h + z · H
    void stepOfGru()
    {
        std::vector<double> update(mState.size());
        std::vector<double> reset(mState.size());
        for (int64_t j = 0; j < mHidden; ++j)
        {
            update[index(j)] = applied(0, mSums[index(j)] + mRecalled[index(j)]);
            reset[index(j)] = applied(0, mSums[index(mHidden + j)] + mRecalled[index(mHidden + j)]);
        }
        if (!mLayer.isResetAfter)
        {
            std::vector<double> kept(mState.size());
            for (size_t j = 0; j < kept.size(); ++j)
                kept[j] = reset[j] * mState[j];
            recall(2 * mHidden, 3 * mHidden, kept);
        }
        for (int64_t j = 0; j < mHidden; ++j)
        {
            double const recalled = mRecalled[index(2 * mHidden + j)] * (mLayer.isResetAfter ? reset[index(j)] : 1.0);
            double const candidate = applied(1, mSums[index(2 * mHidden + j)] + recalled);
            double const z = update[index(j)];
            mState[index(j)] = (1.0 - z) * candidate + z * mState[index(j)];
        }
    }
    //! i, o, f = f(…), c = g(…); C = f · C + i · c; H = o · h(C)
    void stepOfLstm()
    {
        for (int64_t j = 0; j < mHidden; ++j)
        {
            auto const gate = [&](int64_t which, double peeped) {
                int64_t const at = which * mHidden + j;
                double const peephole =
                    which < 3 ? optional(RecurrentNetwork::kPeepholes, mDirection * 3 * mHidden + at) : 0.0;
                return mSums[index(at)] + mRecalled[index(at)] + peephole * peeped;
            };
            double const before = mCell[index(j)];
            double const input = applied(0, gate(0, before));
            double const forget = mLayer.isCoupled ? 1.0 - input : applied(0, gate(2, before));
            double const after = forget * before + input * applied(1, gate(3, 0.0));
            mCell[index(j)] = after;
            mState[index(j)] = applied(0, gate(1, after)) * applied(2, after, false);
        }
    }

    RecurrentNetwork const& mLayer;
    HostTensors const& mIn;
    int64_t mDirection;
    int64_t mHidden;
    int64_t mInputs;
    int64_t mBatch;
    std::vector<double> mSums;
    std::vector<double> mRecalled;
    std::vector<double> mState;
    std::vector<double> mCell;
};
} // namespace

Result<std::vector<HostTensor>> RecurrentNetwork::reference(HostTensors const& in) const
{
    ConcreteInputs concrete{in};
    std::vector<HostTensor> out;
    for (TensorType const& type : TENON_TRY(infer(concrete.inputs())))
        out.emplace_back(type.dtype, *staticExtents(type.shape));
    int64_t const steps = in[kX]->extents[0];
    int64_t const batch = in[kX]->extents[1];
    int64_t const hidden = in[kR]->extents[2];
    bool const hasLengths = in.size() > kLengths && in[kLengths] != nullptr;
    for (int64_t d = 0; d < directions(); ++d)
    {
        PlainRecurrentNetwork plain{*this, in, d};
        for (int64_t sequence = 0; sequence < batch; ++sequence)
        {
            plain.start(sequence);
            int64_t const length = hasLengths ? std::clamp<int64_t>(in[kLengths]->integer(sequence), 0, steps) : steps;
            for (int64_t i = 0; i < length; ++i)
            {
                cancellationPoint();
                int64_t const at = isBackward(d) ? length - 1 - i : i;
                plain.step(at * batch + sequence);
                for (int64_t j = 0; j < hidden; ++j)
                    out[0].set(((at * directions() + d) * batch + sequence) * hidden + j, plain.hidden(j));
            }
            for (int64_t j = 0; j < hidden; ++j)
            {
                int64_t const at = (d * batch + sequence) * hidden + j;
                out[1].set(at, plain.hidden(j));
                if (cell == RecurrentCell::kLstm)
                    out[2].set(at, plain.cell(j));
            }
        }
    }
    return out;
}

} // namespace tenon
