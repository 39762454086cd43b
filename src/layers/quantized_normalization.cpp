// QuantizedNormalization: rules, body and reference.
#include "layers/quantized_normalization.h"

#include "layers/check.h"
#include "layers/quantization.h"
#include "layers/quantized_product.h"

namespace tenon
{

Result<Done> QuantizedNormalization::verify() const
{
    TENON_TRY(norm.verify());
    if (!isQuantizedType(toType) || !isInt8Scale(scale))
        return badArgument("quantizes to {} by a scale of {}", nameOf(toType), scale);
    return Done{};
}

Result<TensorType> QuantizedNormalization::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).fields(verify()).done());
    TensorType type = TENON_TRY(norm.infer(in));
    type.dtype = toType;
    return type;
}

std::optional<Expr> QuantizedNormalization::body(std::vector<Expr> const& x) const
{
    std::optional<Expr> const result = norm.body(x);
    if (!result)
        return std::nullopt;
    // Times the reciprocal: a quotient costs as much as all else, and norms are no more exact than that.
    return quantizedExpr(*result * Expr{1.0 / static_cast<double>(scale)}, Expr{1.0}, toType);
}

Result<std::vector<HostTensor>> QuantizedNormalization::reference(HostTensors const& in) const
{
    std::vector<HostTensor> const reals = TENON_TRY(norm.reference(in));
    HostTensor out{toType, reals.at(0).extents};
    for (int64_t i = 0; i < out.count(); ++i)
        out.set(i, quantized(reals[0].real(i), static_cast<double>(scale), toType));
    return std::vector<HostTensor>{std::move(out)};
}

} // namespace tenon
