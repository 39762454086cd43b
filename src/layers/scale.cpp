// Scale: rules and body.
#include "layers/scale.h"

#include "layers/check.h"

namespace tenon
{

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
