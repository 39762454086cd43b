// Quantize: rules and plain loops.
#include "layers/quantize.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<Done> Quantize::verify() const
{
    if (toType != DType::kINT8 && toType != DType::kFP8 && toType != DType::kINT4 && toType != DType::kFP4)
        return badArgument("quantizes to {}; it can to int8, fp8, int4 and fp4", nameOf(toType));
    return verifyZeroPoint(zeroPoint, toType);
}

Result<TensorType> Quantize::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).fields(verify()).count(2, 3).floating(0).done());
    TENON_TRY(checkScale(in, kName, use()));
    return TensorType{toType, in.type(0).shape};
}

std::optional<Expr> Quantize::body(std::vector<Expr> const& x) const
{
    if (!use().isWhole() || x.size() < 2)
        return std::nullopt;
    return quantizedExpr(x[0], x[1], toType, zeroPoint);
}

Result<std::vector<HostTensor>> Quantize::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    TENON_TRY(checkZeroPoint(in, kName));
    ScaleView const view = viewOf(in[0]->extents, in[1]->extents, use());
    std::vector<int64_t> const strides = broadcastStrides(view.scale);
    forEachPosition(view.x, [&](int64_t linear, std::vector<int64_t> const& at) {
        out.set(linear, quantized(in[0]->real(linear), in[1]->real(linearOf(at, strides)), toType, zeroPoint));
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
