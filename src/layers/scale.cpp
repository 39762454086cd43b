// Scale: rules and body.
#include "layers/scale.h"

#include "layers/check.h"

namespace tenon
{

WithBatch Scale::withBatch(SampleInputs const&) const
{
    Scale batched = *this;
    ++batched.channelAxis;
    return {makeLayer(batched), {}, {}};
}

bool Scale::lacksBatch(Inputs const& in) const
{
    constexpr int32_t kImageRank{3};
    if (!in.has(0) || in.type(0).rank() != kImageRank)
        return false;
    for (int32_t i = 1; i < in.size(); ++i)
        if (in.has(i) && in.type(i).rank() == kImageRank && in.type(i).shape.front() != ShapeExpr{1})
            return true; // Samples have no factors of their own.
    return false;
}

Result<TensorType> Scale::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(1, 4).floating(0).that(
        mode >= nvinfer1::ScaleMode::kUNIFORM && mode <= nvinfer1::ScaleMode::kELEMENTWISE, "unknown mode {}",
        static_cast<int32_t>(mode));
    bool const present[]{true, hasShift, hasScale, hasPower};
    for (int32_t i = 1; i < 4 && check; ++i)
        check.input(i, in.has(i) == present[i], "must be {}", present[i] ? "present" : "absent")
            .sameType(i, 0)
            .broadcastsTo(i, in.type(0).shape);
    return check.sameAs(0);
}

Expr Scale::body(std::vector<Expr> const& x) const
{
    Expr result = x.at(0);
    if (hasScale)
        result = result * x.at(2);
    if (hasShift)
        result = result + x.at(1);
    return hasPower ? pow(result, x.at(3)) : result;
}

} // namespace tenon
