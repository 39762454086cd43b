// MoE: rules and plain loops.
#include "layers/moe.h"

#include "layers/check.h"
#include "layers/dynamic_quantize.h"
#include "layers/quantization.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

using nvinfer1::MoEActType;

Result<Done> MoE::verify() const
{
    if (activationType != MoEActType::kNONE && activationType != MoEActType::kSILU)
        return badArgument("unknown activation {}", static_cast<int32_t>(activationType));
    if (!(swigluParamLimit > 0.0F))
        return badArgument("the activation's limit is {}; it must be above 0", swigluParamLimit);
    if (isDynamic())
    {
        if (quantizationBlockShape.nbDims != 3 || quantizationBlockShape.d[0] != 1 || quantizationBlockShape.d[1] != 1)
            return badArgument("blocks of {}: they must be [1, 1, elements]", tenon::show(quantizationBlockShape));
        return DynamicQuantize{
            .toType = quantizationToType, .scaleType = dynQOutputScaleType, .blockShape = quantizationBlockShape}
            .verify();
    }
    if (isQuantized() && quantizationToType != DType::kFP8 && quantizationToType != DType::kINT8)
        return badArgument("quantizes by a given scale to {}; it can to fp8 and int8", nameOf(quantizationToType));
    return Done{};
}

Result<TensorType> MoE::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(kDown + 1, kOperands).floating(kHidden).rank(kHidden, 3);
    check.index(kExperts).rank(kExperts, 3).rank(kScores, 3).rank(kGate, 3).rank(kUp, 3).rank(kDown, 3);
    for (int32_t const i : {kScores, kGate, kUp, kDown, kGateBias, kUpBias, kDownBias})
        check.sameType(i, kHidden);
    int32_t const biases = in.has(kGateBias) + in.has(kUpBias) + in.has(kDownBias);
    check.that(biases == 0 || biases == 3, "has {} of three biases; it takes all or none", biases);
    check.that(in.has(kScale) == isQuantized(), "{}",
        isQuantized() ? "quantizes what enters the way down, and has no scale for it"
                      : "has a scale for what enters the way down, and no type to quantize it to");
    TENON_TRY(check.done());
    Shape const& x = in.type(kHidden).shape;
    Shape const& gate = in.type(kGate).shape;
    auto const matches = [&](int32_t i, Shape const& wanted) {
        check.rank(i, static_cast<int32_t>(wanted.size()));
        for (size_t axis = 0; check && in.has(i) && axis < wanted.size(); ++axis)
            check.extent(i, static_cast<int32_t>(axis), wanted[axis]);
    };
    matches(kExperts, {x[0], x[1], in.type(kExperts).shape[2]});
    matches(kScores, in.type(kExperts).shape);
    matches(kGate, {gate[0], x[2], gate[2]});
    matches(kUp, gate);
    matches(kDown, {gate[0], gate[2], x[2]});
    matches(kGateBias, {gate[0], gate[2]});
    matches(kUpBias, {gate[0], gate[2]});
    matches(kDownBias, {gate[0], x[2]});
    if (in.has(kScale))
    {
        check.floating(kScale).rank(kScale, 0, isDynamic() ? 0 : 1);
        if (check && in.type(kScale).rank() == 1)
            matches(kScale, {gate[0]});
    }
    return check.sameAs(kHidden);
}

namespace
{
class Experts
{
  public:
    Experts(MoE const& layer, HostTensors const& in)
        : mLayer{layer},
          mIn{in},
          mCount{in[MoE::kGate]->extents[0]},
          mHidden{in[MoE::kGate]->extents[1]},
          mInner{in[MoE::kGate]->extents[2]},
          mMiddle(static_cast<size_t>(mInner))
    {
    }
    //! Adds what the expert gives for the token to `sum`.
    Result<Done> add(int64_t expert, int64_t token, double score, std::vector<double>& sum)
    {
        if (expert < 0 || expert >= mCount)
            return Done{};
        for (int64_t j = 0; j < mInner; ++j)
            mMiddle[static_cast<size_t>(j)] =
                activated(product(MoE::kGate, expert, token, j), product(MoE::kUp, expert, token, j));
        TENON_TRY(quantize(expert));
        HostTensor const& down = *mIn[MoE::kDown];
        for (int64_t c = 0; c < mHidden; ++c)
        {
            double y = bias(MoE::kDownBias, expert * mHidden + c);
            for (int64_t j = 0; j < mInner; ++j)
                y += mMiddle[static_cast<size_t>(j)] * down.real((expert * mInner + j) * mHidden + c);
            sum[static_cast<size_t>(c)] += score * y;
        }
        return Done{};
    }

  private:
    double bias(int32_t input, int64_t at) const
    {
        auto const i = static_cast<size_t>(input);
        return i < mIn.size() && mIn[i] != nullptr ? mIn[i]->real(at) : 0.0;
    }
    double product(MoE::Operand weights, int64_t expert, int64_t token, int64_t column) const
    {
        int32_t const itsBias = weights == MoE::kGate ? MoE::kGateBias : MoE::kUpBias;
        double sum = bias(itsBias, expert * mInner + column);
        for (int64_t c = 0; c < mHidden; ++c)
            sum += mIn[MoE::kHidden]->real(token * mHidden + c)
                * mIn[weights]->real((expert * mHidden + c) * mInner + column);
        return sum;
    }
    double activated(double gate, double up) const
    {
        auto const limit = static_cast<double>(mLayer.swigluParamLimit);
        gate = std::min(gate, limit);
        up = std::clamp(up, -limit, limit) + static_cast<double>(mLayer.swigluParamBeta);
        if (mLayer.activationType == MoEActType::kNONE)
            return up * gate;
        return up * gate / (1.0 + std::exp(-static_cast<double>(mLayer.swigluParamAlpha) * gate));
    }
    //! What enters the way down becomes what its quantized form stands for.
    Result<Done> quantize(int64_t expert)
    {
        if (!mLayer.isQuantized())
            return Done{};
        HostTensor const& given = *mIn[MoE::kScale];
        if (!mLayer.isDynamic())
        {
            double const scale = given.real(given.count() == 1 ? 0 : expert);
            for (double& each : mMiddle)
                each = dequantized(quantized(each, scale, mLayer.quantizationToType), scale);
            return Done{};
        }
        DynamicQuantize const blocks{.toType = mLayer.quantizationToType,
            .scaleType = mLayer.dynQOutputScaleType,
            .blockShape = mLayer.quantizationBlockShape};
        HostTensor row{DType::kFLOAT, {1, 1, mInner}};
        row.reals = mMiddle;
        std::vector<HostTensor> const found = TENON_TRY(blocks.reference({&row, &given}));
        int64_t const length = mInner / std::max<int64_t>(found[1].count(), 1);
        for (int64_t j = 0; j < mInner; ++j)
            mMiddle[static_cast<size_t>(j)] = dequantized(found[0].real(j), found[1].real(j / length) * given.real(0));
        return Done{};
    }

    MoE const& mLayer;
    HostTensors const& mIn;
    int64_t mCount;
    int64_t mHidden;
    int64_t mInner;
    std::vector<double> mMiddle;
};
} // namespace

Result<std::vector<HostTensor>> MoE::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    Experts experts{*this, in};
    int64_t const tokens = out.extents[0] * out.extents[1];
    int64_t const hidden = out.extents[2];
    int64_t const each = in[kExperts]->extents[2];
    std::vector<double> sum;
    for (int64_t token = 0; token < tokens; ++token)
    {
        sum.assign(static_cast<size_t>(hidden), 0.0);
        for (int64_t k = 0; k < each; ++k)
        {
            int64_t const at = token * each + k;
            TENON_TRY(experts.add(in[kExperts]->integer(at), token, in[kScores]->real(at), sum));
        }
        for (int64_t c = 0; c < hidden; ++c)
            out.set(token * hidden + c, sum[static_cast<size_t>(c)]);
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
