// Inputs: what a layer's rules may ask of its inputs; and what layers of all kinds have in common.
#include "ir/layer.h"

#include "base/check.h"

namespace tenon
{

std::optional<Shape> Inputs::values(int32_t i) const
{
    if (!has(i))
        return std::nullopt;
    Input const& input = mInputs[static_cast<size_t>(i)];
    if (input.contents != nullptr)
        return *input.contents;
    if (input.constant == nullptr || isFloating(input.constant->dtype) || input.constant->count() > kMaxShapeValues)
        return std::nullopt;
    HostTensor const host = HostTensor::fromConstant(*input.constant);
    return Shape(host.integers.begin(), host.integers.end());
}

ShapeExpr Inputs::dataExtent(int32_t index, ShapeExpr const& upper) const
{
    TENON_ENSURE(mSymbols != nullptr, "layer '{}' needs a symbol table", mLayerName);
    Range range{0, INT64_MAX};
    range.max = upper.range(*mSymbols).max;
    int32_t const id = mSymbols->find(SymbolKind::kData, mFirstOutput, index, {}, range, mScope);
    mSymbols->at(id).upper = upper;
    return ShapeExpr::symbol(id);
}

Result<std::vector<TensorType>> onlyOutput(Result<TensorType> type)
{
    return std::vector<TensorType>{TENON_TRY(std::move(type))};
}

std::optional<Shape> contentsWithin(std::optional<Shape> known)
{
    bool const isLong = known && static_cast<int64_t>(known->size()) > kMaxRealValues && hasReal(*known);
    return isLong ? std::nullopt : std::move(known);
}

std::vector<Expr> inputExprs(int32_t count)
{
    std::vector<Expr> inputs;
    for (int32_t i = 0; i < count; ++i)
        inputs.push_back(Expr::input(i));
    return inputs;
}

Result<std::vector<HostTensor>> evaluateBody(
    std::optional<Expr> const& body, HostTensors const& in, std::string_view kind)
{
    if (!body)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "layer kind {} has no reference", kind);
    return std::vector<HostTensor>{TENON_TRY(evaluate(*body, in))};
}

} // namespace tenon
