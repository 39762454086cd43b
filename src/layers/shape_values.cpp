// Known values of shape tensors.
#include "layers/shape_values.h"

#include "layers/check.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

std::optional<int64_t> trackedCount(Shape const& shape)
{
    std::optional<std::vector<int64_t>> const extents = staticExtents(shape);
    if (!extents || volumeOf(*extents) > kMaxShapeValues || volumeOf(*extents) < 0)
        return std::nullopt;
    return volumeOf(*extents);
}

std::optional<Shape> knownValues(Inputs const& in, int32_t i)
{
    if (!in.has(i) || !isFollowed(in.type(i).dtype))
        return std::nullopt;
    if (in[i].contents != nullptr || in[i].constant == nullptr || !isFloating(in[i].constant->dtype))
        return in.values(i);
    Constant const& constant = *in[i].constant;
    if (constant.count() > kMaxShapeValues)
        return std::nullopt;
    Shape values;
    bool const isLong = constant.count() > kMaxRealValues;
    for (double const value : HostTensor::fromConstant(constant).reals)
    {
        values.push_back(realConstant(value));
        if (isLong && isReal(values.back()))
            return std::nullopt; // Weights: nobody makes extents of them.
    }
    return values;
}

std::optional<std::vector<int64_t>> constantValues(Inputs const& in, int32_t i)
{
    std::optional<Shape> const values = knownValues(in, i);
    return values ? staticExtents(*values) : std::nullopt;
}

Result<Shape> shapeOperand(Inputs const& in, std::string_view kind, int32_t i)
{
    TENON_TRY(Check(in, kind).index(i).rank(i, 1).done());
    std::optional<Shape> values = knownValues(in, i);
    if (!values)
        return inputError(in, kind, i,
            "gives extents, but its values depend on data; only what is computed from shapes, "
            "constants and shape inputs can");
    return *std::move(values);
}

Result<std::vector<int64_t>> constantOperand(Inputs const& in, std::string_view kind, int32_t i)
{
    TENON_TRY(Check(in, kind).index(i).rank(i, 0, 1).done());
    std::optional<std::vector<int64_t>> values = constantValues(in, i);
    if (!values)
        return inputError(in, kind, i, "must be known while building");
    return *std::move(values);
}

namespace
{
//! Integers from -limit to limit are all exact.
int64_t exactLimit(DType type)
{
    if (type == kFloat64)
        return int64_t{1} << 53;
    switch (type)
    {
    case DType::kFLOAT: return int64_t{1} << 24;
    case DType::kHALF: return int64_t{1} << 11;
    case DType::kBF16: return int64_t{1} << 8;
    case DType::kINT32: return INT32_MAX;
    case DType::kINT64: return INT64_MAX - 1; // The last one is where arithmetic on extents saturates.
    case DType::kINT8: return INT8_MAX;
    case DType::kUINT8: return UINT8_MAX;
    default: return 1;
    }
}
} // namespace

bool isExactIn(DType type, ShapeExpr const& value, SymbolTable const* symbols)
{
    int64_t const limit = exactLimit(type);
    if (value.isConstant() && type == DType::kFLOAT && std::abs(static_cast<double>(*value.constant())) < 0x1p62)
        return static_cast<int64_t>(static_cast<float>(*value.constant())) == *value.constant();
    if (!value.isConstant())
    {
        if (symbols == nullptr)
            return true;
        for (int32_t const id : value.symbols())
            if (symbols->at(id).range.max == INT64_MAX)
                return true; // No profile has told yet.
    }
    Range const range = value.isConstant() ? Range{*value.constant(), *value.constant()} : value.range(*symbols);
    int64_t const least = type == DType::kUINT8 || type == DType::kBOOL ? 0 : -limit - (type == DType::kINT32 ? 1 : 0);
    return range.min >= least && range.max <= limit;
}

ShapeExpr heldBy(DType type, ShapeExpr const& value, SymbolTable const* symbols)
{
    return !isReal(value) && isExactIn(type, value, symbols) ? value : roundedTo(type, value);
}

std::optional<bool> isLess(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    ShapeExpr const difference = a - b;
    if (difference.isConstant())
        return *difference.constant() < 0;
    if (symbols == nullptr)
        return std::nullopt;
    Range const range = difference.range(*symbols);
    if (range.max < 0)
        return true;
    return range.min >= 0 ? std::optional{false} : std::nullopt;
}

std::optional<bool> isEqual(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    ShapeExpr const difference = a - b;
    if (difference.isConstant())
        return *difference.constant() == 0;
    if (symbols == nullptr)
        return std::nullopt;
    Range const range = difference.range(*symbols);
    return range.min > 0 || range.max < 0 ? std::optional{false} : std::nullopt;
}

ShapeExpr minOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    if (isLess(b, a, symbols) == false)
        return a;
    return isLess(a, b, symbols) == false ? b : min(a, b);
}

ShapeExpr maxOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    if (isLess(b, a, symbols) == false)
        return b;
    return isLess(a, b, symbols) == false ? a : max(a, b);
}

ShapeExpr lessOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    std::optional<bool> const known = isLess(a, b, symbols);
    return known ? ShapeExpr{*known ? 1 : 0} : less(a, b);
}

ShapeExpr equalOf(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    std::optional<bool> const known = isEqual(a, b, symbols);
    return known ? ShapeExpr{*known ? 1 : 0} : equal(a, b);
}

std::optional<ShapeExpr> truncatedDiv(ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    std::optional<bool> const aNegative = isLess(a, 0, symbols);
    std::optional<bool> const bPositive = isLess(0, b, symbols);
    std::optional<bool> const bNegative = isLess(b, 0, symbols);
    if (b.isConstant() && *b.constant() == 0)
        return std::nullopt;
    ShapeExpr const minusA = ShapeExpr{0} - a;
    ShapeExpr const minusB = ShapeExpr{0} - b;
    bool const down = bPositive == true;
    // A divisor that may be 0 only when an extent is: the quotient is then not read, and floorDiv gives 0.
    if (aNegative == false && (down || bNegative == false))
        return floorDiv(a, b);
    if (aNegative == true && down)
        return ShapeExpr{0} - floorDiv(minusA, b);
    if (aNegative == false && bNegative == true)
        return ShapeExpr{0} - floorDiv(a, minusB);
    if (aNegative == true && bNegative == true)
        return floorDiv(minusA, minusB);
    return std::nullopt;
}

std::optional<Shape> movedContents(Inputs const& in, std::vector<int32_t> const& data,
    std::function<Result<std::vector<HostTensor>>(HostTensors const&)> const& reference)
{
    std::vector<ShapeExpr> pool{0}; // Position 0 is what stands where nothing is picked.
    std::vector<HostTensor> tensors(static_cast<size_t>(in.size()));
    HostTensors operands;
    for (int32_t i = 0; i < in.size(); ++i)
    {
        if (!in.has(i))
        {
            operands.push_back(nullptr);
            continue;
        }
        std::optional<std::vector<int64_t>> extents = staticExtents(in.type(i).shape);
        std::optional<Shape> const values = extents ? knownValues(in, i) : std::nullopt;
        if (!values || static_cast<int64_t>(values->size()) != volumeOf(*extents))
            return std::nullopt;
        bool const moved = std::find(data.begin(), data.end(), i) != data.end();
        HostTensor& tensor = tensors[static_cast<size_t>(i)];
        tensor = HostTensor{moved ? DType::kINT64 : in.type(i).dtype, std::move(*extents)};
        for (size_t e = 0; e < values->size(); ++e)
        {
            if (!moved && !(*values)[e].isConstant())
                return std::nullopt;
            tensor.setInteger(
                static_cast<int64_t>(e), moved ? static_cast<int64_t>(pool.size()) : *(*values)[e].constant());
            if (moved)
                pool.push_back((*values)[e]);
        }
        operands.push_back(&tensor);
    }
    Result<std::vector<HostTensor>> const result = reference(operands);
    if (!result || result->empty() || result->front().count() > kMaxShapeValues)
        return std::nullopt;
    Shape contents;
    for (int64_t const position : result->front().integers)
        contents.push_back(pool.at(static_cast<size_t>(position)));
    return contents;
}

std::optional<Shape> pointwiseContents(Inputs const& in, Shape const& result,
    std::function<std::optional<ShapeExpr>(std::vector<ShapeExpr> const&)> const& operation)
{
    std::optional<int64_t> const count = trackedCount(result);
    for (int32_t i = 0; i < in.size(); ++i)
        if (in.has(i) && in[i].contents == nullptr && in[i].constant == nullptr)
            return std::nullopt;
    if (!count)
        return std::nullopt;
    std::vector<int64_t> const extents = *staticExtents(result);
    std::vector<Shape> values;
    std::vector<std::vector<int64_t>> strides;
    for (int32_t i = 0; i < in.size(); ++i)
    {
        std::optional<Shape> known = knownValues(in, i);
        std::optional<std::vector<int64_t>> const mine = in.has(i) ? staticExtents(in.type(i).shape) : std::nullopt;
        if (!known || !mine || (*count > kMaxRealValues && hasReal(*known)))
            return std::nullopt;
        std::vector<int64_t> stride = stridesOf(*mine);
        stride.resize(extents.size(), 0); // Rank 0 stands still on every axis.
        for (size_t axis = 0; axis < mine->size(); ++axis)
            if ((*mine)[axis] == 1)
                stride[axis] = 0;
        values.push_back(*std::move(known));
        strides.push_back(std::move(stride));
    }
    std::vector<int64_t> const outer = stridesOf(extents);
    Shape contents;
    for (int64_t e = 0; e < *count; ++e)
    {
        std::vector<ShapeExpr> operands;
        for (size_t i = 0; i < values.size(); ++i)
        {
            int64_t at{0};
            for (size_t axis = 0; axis < extents.size(); ++axis)
                at += e / outer[axis] % extents[axis] * strides[i][axis];
            operands.push_back(values[i].at(static_cast<size_t>(at)));
        }
        std::optional<ShapeExpr> value = operation(operands);
        if (!value)
            return std::nullopt;
        contents.push_back(*std::move(value));
    }
    return contents;
}

} // namespace tenon
