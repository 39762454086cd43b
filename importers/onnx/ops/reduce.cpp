// Reductions over axes, and MeanVarianceNormalization and LpNormalization, which are made of them.
#include "../operators.h"
#include "../own_calls.h"

#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

//! What is done to each element before, what to each result behind.
enum class Step
{
    kNone,
    kAbs,
    kSquare,
    kLog,
    kSqrt,
    kLogOfExp, //!< exp before, log behind, with the peak taken out.
};

struct ReduceRow
{
    std::string_view op;
    Step before;
    ReduceOperation operation;
    Step behind;
};

constexpr ReduceRow kRows[]{
    {"ReduceL1", Step::kAbs, ReduceOperation::kSUM, Step::kNone},
    {"ReduceL2", Step::kSquare, ReduceOperation::kSUM, Step::kSqrt},
    {"ReduceLogSum", Step::kNone, ReduceOperation::kSUM, Step::kLog},
    {"ReduceLogSumExp", Step::kLogOfExp, ReduceOperation::kSUM, Step::kLogOfExp},
    {"ReduceMax", Step::kNone, ReduceOperation::kMAX, Step::kNone},
    {"ReduceMean", Step::kNone, ReduceOperation::kAVG, Step::kNone},
    {"ReduceMin", Step::kNone, ReduceOperation::kMIN, Step::kNone},
    {"ReduceProd", Step::kNone, ReduceOperation::kPROD, Step::kNone},
    {"ReduceSum", Step::kNone, ReduceOperation::kSUM, Step::kNone},
    {"ReduceSumSquare", Step::kSquare, ReduceOperation::kSUM, Step::kNone},
};

ReduceRow const& reduceRowOf(std::string_view op)
{
    for (ReduceRow const& row : kRows)
    {
        if (row.op == op)
        {
            return row;
        }
    }
    fail(ErrorCode::kINTERNAL_ERROR, fmt::format("{} is no reduction", op));
}

Value applied(Node& node, Step step, Value const& x)
{
    switch (step)
    {
    case Step::kAbs: return node.unary(x, UnaryOperation::kABS);
    case Step::kSquare: return node.binary(x, x, ElementWiseOperation::kPROD);
    case Step::kLog: return node.unary(x, UnaryOperation::kLOG);
    case Step::kSqrt: return node.unary(x, UnaryOperation::kSQRT);
    default: return x;
    }
}

//! log Σ exp(x), with the peak taken out so that exp() stays finite; an infinite peak is the result, or lets it be.
Value logSumExp(Node& node, Value const& x, std::vector<int32_t> const& axes, bool keep)
{
    Value const largest = node.reduce(x, ReduceOperation::kMAX, axes, true);
    Value const peak = node.select(node.unary(largest, UnaryOperation::kISINF), node.scalar(0.0, x.type()), largest);
    Value const exponentials = node.unary(node.binary(x, peak, ElementWiseOperation::kSUB), UnaryOperation::kEXP);
    Value const sum = node.reduce(exponentials, ReduceOperation::kSUM, axes, true);
    Value const result = node.binary(node.unary(sum, UnaryOperation::kLOG), peak, ElementWiseOperation::kSUM);
    return keep ? result : node.squeeze(result, axes);
}

std::vector<int32_t> axesOf(Node& node, int32_t rank)
{
    Integers given = node.has(1) ? node.integers(1, "axes") : node.intsOr("axes", {});
    if (given.empty() && node.intOr("noop_with_empty_axes", 0) == 0)
    {
        given.resize(static_cast<size_t>(rank));
        std::iota(given.begin(), given.end(), 0);
    }
    return node.axes(given, rank);
}

Outputs importReduce(Node& node)
{
    ReduceRow const& row = reduceRowOf(node.op());
    Value x = node.in(0);
    bool const keep = node.intOr("keepdims", 1) != 0;
    std::vector<int32_t> const axes = axesOf(node, x.rank());
    DataType const type = x.type();
    if (type == DataType::kBOOL || type == DataType::kUINT8)
    {
        x = node.cast(x, DataType::kINT32);
    }
    if (row.behind != Step::kNone && !isFloating(x.type())) // Roots and logarithms are none; squares may be too large.
    {
        x = node.cast(x, keepsDouble() ? kFloat64 : DataType::kFLOAT);
    }
    if (axes.empty()) // A scalar, or asked to do nothing: only what is done to each element is left.
    {
        Value const same = row.before == Step::kLogOfExp ? x : applied(node, row.behind, applied(node, row.before, x));
        return {node.output(node.api().addIdentity(node.tensor(node.cast(same, type))))};
    }
    if (row.before == Step::kLogOfExp)
    {
        return {node.cast(logSumExp(node, x, axes, keep), type)};
    }
    Value const reduced = node.reduce(applied(node, row.before, x), row.operation, axes, keep);
    if (type == DataType::kBOOL) // Of nothing, the greatest is the least integer, which is no false.
    {
        return {node.binary(reduced, node.scalar(0.0, DataType::kINT32), ElementWiseOperation::kGREATER)};
    }
    return {node.cast(applied(node, row.behind, reduced), type)};
}

Outputs importMeanVariance(Node& node)
{
    Value const x = node.in(0);
    std::vector<int32_t> const axes = node.axes(node.intsOr("axes", {0, 2, 3}), x.rank());
    Value const centred = node.binary(x, node.reduce(x, ReduceOperation::kAVG, axes, true), ElementWiseOperation::kSUB);
    Value const squares = node.binary(centred, centred, ElementWiseOperation::kPROD);
    Value const deviation = node.unary(node.reduce(squares, ReduceOperation::kAVG, axes, true), UnaryOperation::kSQRT);
    Value const floor = node.scalar(1e-9, x.type());
    return {
        node.binary(centred, node.binary(deviation, floor, ElementWiseOperation::kSUM), ElementWiseOperation::kDIV)};
}

Outputs importLpNormalization(Node& node)
{
    Value const x = node.in(0);
    int32_t const axis = node.axis(node.intOr("axis", -1), x.rank());
    int64_t const power = node.intOr("p", 2);
    if (power != 1 && power != 2)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("LpNormalization with p = {}; 1 and 2 are there", power));
    }
    bool const isFirst = power == 1;
    Value const sized = applied(node, isFirst ? Step::kAbs : Step::kSquare, x);
    Value const sum = node.reduce(sized, ReduceOperation::kSUM, {axis}, true);
    Value const norm = applied(node, isFirst ? Step::kNone : Step::kSqrt, sum);
    // A lane of zeros stays zeros.
    Value const isZero = node.binary(norm, node.scalar(0.0, x.type()), ElementWiseOperation::kEQUAL);
    Value const divisor = node.select(isZero, node.scalar(1.0, x.type()), norm);
    return {node.binary(x, divisor, ElementWiseOperation::kDIV)};
}

constexpr Operator kReduceTable[]{
    {"LpNormalization", importLpNormalization},
    {"MeanVarianceNormalization", importMeanVariance},
    {"ReduceL1", importReduce},
    {"ReduceL2", importReduce},
    {"ReduceLogSum", importReduce},
    {"ReduceLogSumExp", importReduce},
    {"ReduceMax", importReduce},
    {"ReduceMean", importReduce},
    {"ReduceMin", importReduce},
    {"ReduceProd", importReduce},
    {"ReduceSum", importReduce},
    {"ReduceSumSquare", importReduce},
};

} // namespace

constinit std::span<Operator const> const kReduceOperators{kReduceTable};

} // namespace tenon::onnx
