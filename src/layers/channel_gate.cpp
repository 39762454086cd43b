// ChannelGate: rules and reference.
#include "layers/channel_gate.h"

#include "layers/check.h"
#include "layers/epilogue_rules.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<Done> ChannelGate::verify() const
{
    TENON_TRY(verifyEpilogue(first));
    TENON_TRY(verifyEpilogue(second));
    if (first.extraInputs() != 0 || second.extraInputs() != 0)
        return badArgument("its products have operands behind them");
    return Done{};
}

Result<TensorType> ChannelGate::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).fields(verify()).count(3, kSecondBias + 1).done());
    constexpr int32_t kMaxRank{5};
    TENON_TRY(Check(in, kName).floating(0).rank(0, 3, kMaxRank).done());
    Check check{in, kName};
    for (int32_t const kernel : {kFirstKernel, kSecondKernel})
        check.sameType(kernel, 0).sameRank(kernel, 0);
    for (int32_t const bias : {kFirstBias, kSecondBias})
        check.sameType(bias, 0).rank(bias, 1);
    TENON_TRY(check.done());
    Shape const& x = in.type(0).shape;
    Shape const& one = in.type(kFirstKernel).shape;
    Shape const& two = in.type(kSecondKernel).shape;
    check.extent(kFirstKernel, 1, x[1]).extent(kSecondKernel, 1, one[0]);
    check.extent(kFirstBias, 0, one[0]).extent(kSecondBias, 0, two[0]);
    TensorType type{in.type(0).dtype, {x[0], two[0]}};
    for (size_t axis = 2; axis < x.size(); ++axis)
    {
        check.extent(kFirstKernel, static_cast<int32_t>(axis), ShapeExpr{1});
        check.extent(kSecondKernel, static_cast<int32_t>(axis), ShapeExpr{1});
        type.shape.emplace_back(1);
    }
    TENON_TRY(check.done());
    return type;
}

namespace
{
//! kernel · x + bias for each image, not rounded; x is [n, c, 1…].
HostTensor multiplied(HostTensor const& x, HostTensor const& kernel, HostTensor const* bias)
{
    std::vector<int64_t> extents = x.extents;
    extents[1] = kernel.extents[0];
    HostTensor out{kFloat64, std::move(extents)};
    int64_t const depth = kernel.extents[1];
    int64_t const maps = kernel.extents[0];
    for (int64_t i = 0; i < out.count(); ++i)
    {
        double sum = bias == nullptr ? 0.0 : bias->real(i % maps);
        for (int64_t k = 0; k < depth; ++k)
            sum += kernel.real(i % maps * depth + k) * x.real(i / maps * depth + k);
        out.set(i, sum);
    }
    return out;
}
} // namespace

Result<std::vector<HostTensor>> ChannelGate::reference(HostTensors const& in) const
{
    HostTensor const out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    int64_t const pixels = volumeOf({x.extents.begin() + 2, x.extents.end()});
    std::vector<int64_t> extents = out.extents;
    extents[1] = x.extents[1];
    HostTensor means{kFloat64, std::move(extents)};
    for (int64_t row = 0; row < means.count(); ++row)
    {
        double sum{0.0};
        for (int64_t i = 0; i < pixels; ++i)
            sum += x.real(row * pixels + i);
        means.set(row, sum / static_cast<double>(pixels));
    }
    auto const optional = [&](int32_t i) {
        return static_cast<size_t>(i) < in.size() ? in[static_cast<size_t>(i)] : nullptr;
    };
    auto const none = static_cast<int32_t>(in.size());
    HostTensor const hidden =
        TENON_TRY(applyEpilogue(first, kFloat64, multiplied(means, *in[kFirstKernel], optional(kFirstBias)), in, none));
    return oneOutput(TENON_TRY(
        applyEpilogue(second, out.dtype, multiplied(hidden, *in[kSecondKernel], optional(kSecondBias)), in, none)));
}

} // namespace tenon
