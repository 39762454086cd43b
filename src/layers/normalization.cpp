// Normalization: rules, body and plain loops.
#include "layers/normalization.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <cmath>

namespace tenon
{

Result<Done> Normalization::verify() const
{
    if (nbGroups < 1)
        return badArgument("{} groups", nbGroups);
    if (computePrecision != DType::kFLOAT && computePrecision != DType::kHALF && computePrecision != DType::kBF16)
        return badArgument("cannot compute in {}", nameOf(computePrecision));
    return Done{};
}

WithBatch Normalization::withBatch(SampleInputs const&) const
{
    Normalization batched = *this;
    batched.axes <<= 1U;
    return {makeLayer(batched), {}, {}};
}

Result<TensorType> Normalization::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify()).count(2, 3).floating(0).axes(0, axes).rank(0, 2, nvinfer1::Dims::MAX_DIMS);
    for (int32_t i = 1; i < 3; ++i)
        check.sameType(i, 0).sameRank(i, 0);
    TENON_TRY(check.done());
    Shape const& x = in.type(0).shape;
    for (int32_t i = 1; i < 3; ++i)
    {
        if (!in.has(i))
            continue;
        bool const perGroup = nbGroups > 1 && in.type(i).shape[1] == ShapeExpr{nbGroups};
        Shape wanted = x;
        if (perGroup)
            wanted[1] = nbGroups;
        check.broadcastsTo(i, wanted);
    }
    if (nbGroups > 1 && x[1].isConstant())
        check.input(0, *x[1].constant() % nbGroups == 0, "has {} channels, which {} groups do not divide", x[1].show(),
            nbGroups);
    return check.sameAs(0);
}

std::optional<Expr> Normalization::body(std::vector<Expr> const& x) const
{
    if (nbGroups > 1)
        return std::nullopt;
    Expr const centred = rms ? x.at(0) : x.at(0) - meanOver(x.at(0), axes);
    Expr const variance = meanOver(centred * centred, axes);
    Expr result = centred * apply(ExprOp::kReciprocal, {sqrt(variance + Expr{static_cast<double>(epsilon)})});
    result = result * x.at(1);
    return x.size() > 2 ? result + x[2] : result;
}

namespace
{
//! Which lane (elements that share a mean) each element of x is in.
class LaneIndex
{
  public:
    LaneIndex(Normalization const& layer, std::vector<int64_t> const& extents)
    {
        std::vector<int64_t> kept = extents;
        for (size_t axis = 0; axis < kept.size(); ++axis)
            if ((layer.axes >> axis & 1U) != 0)
                kept[axis] = 1;
        if (layer.nbGroups > 1)
        {
            mPerGroup = extents[1] / layer.nbGroups;
            kept[1] = layer.nbGroups;
        }
        mStrides = stridesOf(kept);
        for (size_t axis = 0; axis < kept.size(); ++axis)
            if (kept[axis] == 1)
                mStrides[axis] = 0;
        count = volumeOf(kept);
    }
    size_t of(std::vector<int64_t> const& at) const
    {
        int64_t lane{0};
        for (size_t axis = 0; axis < at.size(); ++axis)
            lane += (axis == 1 ? at[axis] / mPerGroup : at[axis]) * mStrides[axis];
        return static_cast<size_t>(lane);
    }

    int64_t count;

  private:
    std::vector<int64_t> mStrides;
    int64_t mPerGroup{1};
};

//! Scale or bias at a position of x.
double parameterAt(HostTensor const* tensor, std::vector<int64_t> const& at, std::vector<int64_t> const& x)
{
    int64_t linear{0};
    int64_t stride{1};
    for (size_t axis = at.size(); axis-- > 0;)
    {
        int64_t const extent = tensor->extents[axis];
        int64_t const position = extent == 1 ? 0 : extent == x[axis] ? at[axis] : at[axis] * extent / x[axis];
        linear += position * stride;
        stride *= extent;
    }
    return tensor->real(linear);
}
} // namespace

Result<std::vector<HostTensor>> Normalization::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    HostTensor const* bias = in.size() > 2 ? in[2] : nullptr;
    LaneIndex const lanes{*this, x.extents};
    auto const count = static_cast<size_t>(lanes.count);
    double const perLane = lanes.count == 0 ? 1.0 : static_cast<double>(x.count()) / static_cast<double>(lanes.count);
    std::vector<double> mean(count, 0.0);
    std::vector<double> variance(count, 0.0);
    if (!rms)
        forEachPosition(x.extents, [&](int64_t i, std::vector<int64_t> const& at) { mean[lanes.of(at)] += x.real(i); });
    for (double& value : mean)
        value /= perLane;
    forEachPosition(x.extents, [&](int64_t i, std::vector<int64_t> const& at) {
        size_t const lane = lanes.of(at);
        double const distance = x.real(i) - mean[lane];
        variance[lane] += distance * distance;
    });
    for (double& value : variance)
        value = 1.0 / std::sqrt(value / perLane + static_cast<double>(epsilon));
    forEachPosition(x.extents, [&](int64_t i, std::vector<int64_t> const& at) {
        size_t const lane = lanes.of(at);
        double const value = (x.real(i) - mean[lane]) * variance[lane] * parameterAt(in[1], at, x.extents);
        out.set(i, value + (bias != nullptr ? parameterAt(bias, at, x.extents) : 0.0));
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
