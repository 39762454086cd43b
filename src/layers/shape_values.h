// Known values of shape tensors: reading them, arithmetic that uses what is known of symbols, and moving them about.
#pragma once

#include "ir/concrete_inputs.h"
#include "ir/real_expr.h"

#include <functional>

namespace tenon
{

//! False for real numbers of fewer than 16 bits: nobody makes extents of them.
inline bool isFollowed(DType type) noexcept
{
    return !isFloating(type) || bitsOf(type) >= 16;
}
//! Values of input i, row-major: contents, or a constant; of floating tensors as real_expr.h says.
std::optional<Shape> knownValues(Inputs const& in, int32_t i);
//! The values when all are constants.
std::optional<std::vector<int64_t>> constantValues(Inputs const& in, int32_t i);
//! Values of a 1-D integer input that gives extents; the error says why they are not known.
Result<Shape> shapeOperand(Inputs const& in, std::string_view kind, int32_t i);
//! Values of a 0-D or 1-D integer input that must be known while building.
Result<std::vector<int64_t>> constantOperand(Inputs const& in, std::string_view kind, int32_t i);
//! True when arithmetic that gave `value` is exact in a tensor of the type: the value can neither leave its range nor,
//! as a float, need more digits than there are. Symbols whose range is not known yet count as small.
bool isExactIn(DType type, ShapeExpr const& value, SymbolTable const* symbols);
//! The value as a tensor of the floating type holds it; itself where it is a whole number that the type has.
ShapeExpr heldBy(DType type, ShapeExpr const& value, SymbolTable const* symbols);
//! Number of elements when it is known and small enough to track.
std::optional<int64_t> trackedCount(Shape const& shape);

//! What can be said for every value of the symbols; without a table only constants decide.
std::optional<bool> isLess(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols);
std::optional<bool> isEqual(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols);
ShapeExpr minOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols);
ShapeExpr maxOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols);
ShapeExpr lessOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols);
ShapeExpr equalOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols);
//! Division towards zero; none when a sign is not known.
std::optional<ShapeExpr> truncatedDiv(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols);

//! Contents of a layer that only moves elements: its reference runs on positions, which then pick the values. `data`
//! are the inputs that are moved; all others must be constants.
std::optional<Shape> movedContents(Inputs const& in, std::vector<int32_t> const& data,
    std::function<Result<std::vector<HostTensor>>(HostTensors const&)> const& reference);

//! Contents of an elementwise layer over its broadcast inputs.
std::optional<Shape> pointwiseContents(Inputs const& in, Shape const& result,
    std::function<std::optional<ShapeExpr>(std::vector<ShapeExpr> const&)> const& operation);

//! Zero-filled output of a layer for concrete inputs.
template <typename L>
Result<HostTensor> outputOf(L const& layer, HostTensors const& in)
{
    ConcreteInputs concrete{in};
    TensorType const type = TENON_TRY(layer.infer(concrete.inputs()));
    std::optional<std::vector<int64_t>> extents = staticExtents(type.shape);
    if (!extents)
        return badConfig("layer kind {}: the output shape {} is not known", L::kName, show(type.shape));
    for (int64_t const extent : *extents)
        if (extent < 0)
            return badConfig("layer kind {}: the output shape {} is negative", L::kName, show(type.shape));
    return HostTensor{type.dtype, std::move(*extents)};
}

inline std::vector<HostTensor> oneOutput(HostTensor tensor)
{
    std::vector<HostTensor> outputs;
    outputs.push_back(std::move(tensor));
    return outputs;
}

} // namespace tenon
