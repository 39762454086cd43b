// Reduce: rules, contents, body and plain loops.
#include "layers/reduce.h"

#include "layers/check.h"
#include "layers/positions.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <limits>

namespace tenon
{

using ReduceOp = nvinfer1::ReduceOperation;

Result<Done> Reduce::verify() const
{
    if (operation < ReduceOp::kSUM || operation > ReduceOp::kAVG)
        return badArgument("operation {} reduces nothing", static_cast<int32_t>(operation));
    return Done{};
}

WithBatch Reduce::withBatch(SampleInputs const&) const
{
    Reduce batched = *this;
    batched.reduceAxes <<= 1U;
    return {makeLayer(batched), {}, {}};
}

Result<TensorType> Reduce::infer(Inputs const& in) const
{
    TensorType type = TENON_TRY(
        Check(in, kName)
            .fields(verify())
            .count(1)
            .types(0, {DType::kFLOAT, DType::kHALF, DType::kBF16, kFloat64, DType::kINT8, DType::kINT32, DType::kINT64})
            .axes(0, reduceAxes)
            .sameAs(0));
    Shape shape;
    for (size_t axis = 0; axis < type.shape.size(); ++axis)
    {
        bool const reduced = (reduceAxes >> axis & 1U) != 0;
        if (!reduced || keepDimensions)
            shape.push_back(reduced ? ShapeExpr{1} : type.shape[axis]);
    }
    type.shape = std::move(shape);
    return type;
}

std::optional<Expr> Reduce::body(Expr const& x) const
{
    if (!keepDimensions)
        return std::nullopt;
    static constexpr ExprOp kOps[]{
        ExprOp::kSumOver, ExprOp::kProdOver, ExprOp::kMaxOver, ExprOp::kMinOver, ExprOp::kMeanOver};
    return tenon::reduce(kOps[static_cast<size_t>(operation)], x, reduceAxes);
}

namespace
{
//! Steps of the output per axis of the input: 0 along reduced axes.
std::vector<int64_t> outputStrides(std::vector<int64_t> const& extents, uint32_t axes)
{
    std::vector<int64_t> kept = extents;
    for (size_t axis = 0; axis < kept.size(); ++axis)
        if ((axes >> axis & 1U) != 0)
            kept[axis] = 1;
    std::vector<int64_t> strides = stridesOf(kept);
    for (size_t axis = 0; axis < kept.size(); ++axis)
        if ((axes >> axis & 1U) != 0)
            strides[axis] = 0;
    return strides;
}

ShapeExpr combine(ReduceOp op, ShapeExpr const& a, ShapeExpr const& b, SymbolTable const* symbols)
{
    switch (op)
    {
    case ReduceOp::kPROD: return a * b;
    case ReduceOp::kMAX: return maxOf(a, b, symbols);
    case ReduceOp::kMIN: return minOf(a, b, symbols);
    default: return a + b;
    }
}

ShapeExpr combineReal(ReduceOp op, ShapeExpr const& a, ShapeExpr const& b)
{
    switch (op)
    {
    case ReduceOp::kPROD: return realOp(RealOp::kMul, a, b);
    case ReduceOp::kMAX: return realOp(RealOp::kMax, a, b);
    case ReduceOp::kMIN: return realOp(RealOp::kMin, a, b);
    default: return realOp(RealOp::kAdd, a, b);
    }
}

//! All values of `values` that go into one output, one upon the other.
template <typename Combine>
Shape combined(Shape const& values, std::vector<int64_t> const& extents, uint32_t axes, int64_t count, Combine combine)
{
    std::vector<int64_t> const strides = outputStrides(extents, axes);
    Shape contents(static_cast<size_t>(count), ShapeExpr{0});
    std::vector<bool> begun(contents.size(), false);
    forEachPosition(extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        auto const to = static_cast<size_t>(linearOf(at, strides));
        ShapeExpr const& value = values.at(static_cast<size_t>(linear));
        contents[to] = begun[to] ? combine(contents[to], value) : value;
        begun[to] = true;
    });
    return contents;
}
} // namespace

std::optional<Shape> Reduce::contents(Inputs const& in) const
{
    Result<TensorType> const type = infer(in);
    std::optional<int64_t> const count = type ? trackedCount(type->shape) : std::nullopt;
    std::optional<Shape> const values = knownValues(in, 0);
    std::optional<std::vector<int64_t>> const extents = staticExtents(in.type(0).shape);
    if (!count || !values || !extents || volumeOf(*extents) == 0)
        return std::nullopt;
    int64_t const outputs{*count};
    if (operation != ReduceOp::kAVG && !hasReal(*values))
    {
        Shape contents = combined(*values, *extents, reduceAxes, outputs,
            [&](ShapeExpr const& a, ShapeExpr const& b) { return combine(operation, a, b, in.symbols()); });
        bool const isArithmetic = operation == ReduceOp::kSUM || operation == ReduceOp::kPROD;
        bool const isExact = std::all_of(contents.begin(), contents.end(),
            [&](ShapeExpr const& value) { return !isArithmetic || isExactIn(type->dtype, value, in.symbols()); });
        if (isExact)
            return contents;
    }
    if (!isFloating(type->dtype) || outputs > kMaxRealValues || volumeOf(*extents) > kMaxRealValues)
        return std::nullopt; // The layer itself wraps.
    Shape contents = combined(*values, *extents, reduceAxes, outputs,
        [&](ShapeExpr const& a, ShapeExpr const& b) { return combineReal(operation, a, b); });
    for (ShapeExpr& value : contents)
    {
        if (operation == ReduceOp::kAVG)
            value = realOp(RealOp::kDiv, value, volumeOf(*extents) / outputs);
        value = roundedTo(type->dtype, value);
    }
    return contents;
}

namespace
{
double startOf(ReduceOp op)
{
    constexpr double kInfinity{std::numeric_limits<double>::infinity()};
    return op == ReduceOp::kPROD ? 1.0 : op == ReduceOp::kMAX ? -kInfinity : op == ReduceOp::kMIN ? kInfinity : 0.0;
}

//! For integers: extremes of the type, sums and products that wrap.
int64_t integerStart(ReduceOp op, DType type)
{
    int64_t const bits = bitsOf(type);
    int64_t const least = bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
    return op == ReduceOp::kPROD ? 1 : op == ReduceOp::kMAX ? least : op == ReduceOp::kMIN ? -(least + 1) : 0;
}

template <typename T>
void accumulate(ReduceOp op, T& sum, T value)
{
    using Bits = std::conditional_t<std::is_integral_v<T>, uint64_t, T>; // Integers wrap.
    switch (op)
    {
    case ReduceOp::kPROD: sum = static_cast<T>(static_cast<Bits>(sum) * static_cast<Bits>(value)); break;
    case ReduceOp::kMAX: sum = value > sum || value != value ? value : sum; break; // A NaN stays.
    case ReduceOp::kMIN: sum = value < sum || value != value ? value : sum; break;
    default: sum = static_cast<T>(static_cast<Bits>(sum) + static_cast<Bits>(value)); break;
    }
}

int64_t integerMean(int64_t sum, int64_t count, DType type)
{
    if (count == 0)
        return type == DType::kINT8 ? -128 : 0;
    return sum / count;
}
} // namespace

Result<std::vector<HostTensor>> Reduce::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    HostTensor const& x = *in[0];
    std::vector<int64_t> const strides = outputStrides(x.extents, reduceAxes);
    auto const size = static_cast<size_t>(out.count());
    int64_t perOutput{1};
    for (size_t axis = 0; axis < x.extents.size(); ++axis)
        perOutput *= (reduceAxes >> axis & 1U) != 0 ? x.extents[axis] : 1;
    std::vector<double> reals(x.isReal() ? size : 0, startOf(operation));
    std::vector<int64_t> integers(x.isReal() ? 0 : size, integerStart(operation, x.dtype));
    forEachPosition(x.extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        auto const to = static_cast<size_t>(linearOf(at, strides));
        if (x.isReal())
            accumulate(operation, reals[to], x.reals[static_cast<size_t>(linear)]);
        else
            accumulate(operation, integers[to], x.integers[static_cast<size_t>(linear)]);
    });
    bool const mean = operation == ReduceOp::kAVG;
    for (size_t i = 0; i < size; ++i)
        if (x.isReal()) // An empty mean is 0 / 0: NaN.
            out.set(static_cast<int64_t>(i), mean ? reals[i] / static_cast<double>(perOutput) : reals[i]);
        else
            out.setInteger(static_cast<int64_t>(i), mean ? integerMean(integers[i], perOutput, x.dtype) : integers[i]);
    return oneOutput(std::move(out));
}

} // namespace tenon
