// Dequantize: rules and plain loops.
#include "layers/dequantize.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

namespace tenon
{

Result<Done> Dequantize::verify() const
{
    if (toType != DType::kFLOAT && toType != DType::kHALF && toType != DType::kBF16)
        return badArgument("dequantizes to {}; it can to float32, float16 and bfloat16", nameOf(toType));
    return Done{};
}

Result<TensorType> Dequantize::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName)
                  .fields(verify())
                  .count(2, 3)
                  .types(0, {DType::kINT8, DType::kFP8, DType::kINT4, DType::kFP4})
                  .done());
    TENON_TRY(checkScale(in, kName, use()));
    TENON_TRY(Check(in, kName).fields(verifyZeroPoint(zeroPoint, in.type(0).dtype)).done());
    return TensorType{toType, in.type(0).shape};
}

std::optional<Expr> Dequantize::body(std::vector<Expr> const& x) const
{
    if (!use().isWhole() || x.size() < 2)
        return std::nullopt;
    return dequantizedExpr(x[0], x[1], toType, zeroPoint);
}

Result<std::vector<HostTensor>> Dequantize::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    TENON_TRY(checkZeroPoint(in, kName));
    ScaleView const view = viewOf(in[0]->extents, in[1]->extents, use());
    std::vector<int64_t> const strides = broadcastStrides(view.scale);
    forEachPosition(view.x, [&](int64_t linear, std::vector<int64_t> const& at) {
        out.set(linear, dequantized(in[0]->real(linear), in[1]->real(linearOf(at, strides)), zeroPoint));
    });
    return oneOutput(std::move(out));
}

} // namespace tenon
