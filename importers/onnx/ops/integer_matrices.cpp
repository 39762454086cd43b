// MatMulInteger, DynamicQuantizeMatMul and MatMulIntegerToFloat: one product of int8 numbers, and sums of rows and
// columns for the zero points.
#include "integer_matrices.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

//! int8 numbers, and what is to be subtracted from each: int32, absent where that is 0.
struct Centred
{
    Value numbers;
    Value zeroPoint;
};

Centred centredOf(Node& node, IntegerMatrix const& matrix, bool isLeft)
{
    constexpr double kMiddle{128.0};
    double const shift = matrix.numbers.type() == DataType::kUINT8 ? -kMiddle : 0.0;
    Centred centred{signedForm(node, matrix.numbers), {}};
    Value const& given = matrix.zeroPoint;
    if (!given.exists() || given.isConstant())
    {
        Checked<double> zeros = given.exists() ? numbersOf(given.constant()) : std::vector<double>{0.0};
        std::transform(zeros.begin(), zeros.end(), zeros.begin(), [&](double zero) { return zero + shift; });
        if (std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0.0; }))
        {
            return centred;
        }
        centred.zeroPoint = node.numbers(zeros, given.exists() ? given.shape() : Shape{}, DataType::kINT32);
    }
    else
    {
        Value const wide = node.cast(given, DataType::kINT32);
        centred.zeroPoint = node.binary(wide, node.scalar(shift, DataType::kINT32), ElementWiseOperation::kSUM);
    }
    bool const isPerRow = isLeft && centred.zeroPoint.rank() == 1 && centred.zeroPoint.shape()[0] != 1;
    centred.zeroPoint = isPerRow ? node.unsqueeze(centred.zeroPoint, {1}) : centred.zeroPoint;
    return centred;
}

Value realNumbers(Node& node, Value const& numbers)
{
    return dequantize(
        node, {.x = numbers, .scale = node.scalar(1.0, DataType::kFLOAT), .zeroPoint = {}}, DataType::kFLOAT);
}

//! Of parts of the depth, which float32 has.
Value productInParts(Node& node, Value const& a, Value const& b, int64_t depth)
{
    if (depth > kExactProducts * kMaxParts)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, fmt::format("{} with sums of {} products", node.op(), depth));
    }
    Value sum;
    for (int64_t first = 0; first < std::max<int64_t>(depth, 1); first += kExactProducts)
    {
        int64_t const count = std::min(kExactProducts, depth - first);
        auto const part = [&](Value const& x, int32_t axis) {
            return realNumbers(node, count == depth ? x : sliceAxis(node, x, axis, first, count));
        };
        Value const some = wholeOf(node, matrixProduct(node, part(a, a.rank() - 1), part(b, b.rank() - 2)));
        sum = sum.exists() ? node.binary(sum, some, ElementWiseOperation::kSUM) : some;
    }
    return sum;
}

//! Of a depth that only the run tells: filled up with zeros to whole parts, which are an axis of their own.
Value productInBlocks(Node& node, Value const& a, Value const& b)
{
    int32_t const columns = a.rank() - 1;
    int32_t const rows = b.rank() - 2;
    Extent const parts = ceilDivide(node, extentOf(node, a, columns), kExactProducts);
    auto const inParts = [&](Value const& x, int32_t axis) {
        Extents const own = extentsOf(node, x);
        Cut cut{.start = Extents(own.size(), 0), .size = own, .stride = Extents(own.size(), 1), .fill = {}};
        cut.mode = nvinfer1::SampleMode::kFILL;
        cut.size[static_cast<size_t>(axis)] = multiply(node, parts, kExactProducts);
        Extents split = own;
        split[static_cast<size_t>(axis)] = kExactProducts;
        split.insert(split.begin() + axis, parts);
        return reshapeTo(node, slice(node, x, cut, "whole parts"), split);
    };
    Value left = inParts(a, columns); // [rows, parts, depth] becomes [parts, rows, depth].
    std::vector<int32_t> order;
    for (int32_t axis = 0; axis < left.rank(); ++axis)
    {
        order.push_back(axis);
    }
    std::swap(order[static_cast<size_t>(columns - 1)], order[static_cast<size_t>(columns)]);
    left = node.transpose(left, order);
    Value const product =
        wholeOf(node, matrixProduct(node, realNumbers(node, left), realNumbers(node, inParts(b, rows))));
    return node.reduce(product, ReduceOperation::kSUM, {product.rank() - 3}, false);
}

Value exactProduct(Node& node, Value const& a, Value const& b)
{
    int64_t const depth = std::max(a.shape().back(), b.shape()[static_cast<size_t>(b.rank() - 2)]);
    return depth < 0 ? productInBlocks(node, a, b) : productInParts(node, a, b, depth);
}

Value sumAlong(Node& node, Value const& numbers, int32_t axis)
{
    return node.reduce(node.cast(numbers, DataType::kINT32), ReduceOperation::kSUM, {axis}, true);
}

//! Σ (a − za) · (b − zb) = Σ ab − za · Σ b − zb · Σ a + depth · za · zb
Value centredProduct(Node& node, Centred const& a, Centred const& b)
{
    auto const times = [&](Value const& x, Value const& y) { return node.binary(x, y, ElementWiseOperation::kPROD); };
    auto const less = [&](Value const& x, Value const& y) { return node.binary(x, y, ElementWiseOperation::kSUB); };
    Value result = exactProduct(node, a.numbers, b.numbers);
    if (a.zeroPoint.exists())
    {
        result = less(result, times(a.zeroPoint, sumAlong(node, b.numbers, b.numbers.rank() - 2)));
    }
    if (!b.zeroPoint.exists())
    {
        return result;
    }
    Value sums = sumAlong(node, a.numbers, a.numbers.rank() - 1);
    if (a.zeroPoint.exists())
    {
        Extent const depth = extentOf(node, a.numbers, a.numbers.rank() - 1);
        sums = less(sums, times(a.zeroPoint, node.cast(scalarOf(node, depth), DataType::kINT32)));
    }
    return less(result, times(b.zeroPoint, sums));
}

//! int32 sums by the scales of both operands, and an optional bias.
Value realProduct(Node& node, Value const& sums, Value const& a, Value const& b, int bias)
{
    Value const scales = node.binary(a, b, ElementWiseOperation::kPROD);
    Value const result = node.binary(node.cast(sums, DataType::kFLOAT), scales, ElementWiseOperation::kPROD);
    return node.has(bias) ? node.binary(result, node.in(bias), ElementWiseOperation::kSUM) : result;
}

//! Inputs: real a, numbers b, their scale, zero point and a bias.
Outputs importDynamicQuantizeMatMul(Node& node)
{
    Outputs const a = dynamicallyQuantized(node, node.in(0));
    Value const sums = integerProduct(node, {a[0], a[2]}, integersAt(node, 1, 3));
    return {realProduct(node, sums, a[1], node.in(2), 4)};
}

//! Inputs: numbers a and b, their scales, their zero points and a bias.
Outputs importMatMulIntegerToFloat(Node& node)
{
    Value const sums = integerProduct(node, integersAt(node, 0, 4), integersAt(node, 1, 5));
    return {realProduct(node, sums, node.in(2), node.in(3), 6)};
}

constexpr Operator kContribIntegerTable[]{
    {"DynamicQuantizeMatMul", importDynamicQuantizeMatMul},
    {"MatMulIntegerToFloat", importMatMulIntegerToFloat},
};

} // namespace

IntegerMatrix integersAt(Node& node, int numbers, int zeroPoint)
{
    return {node.in(numbers), node.has(zeroPoint) ? node.in(zeroPoint) : Value{}};
}

Value matrixProduct(Node& node, Value const& a, Value const& b)
{
    std::vector<Value> const both = node.withEqualRanks({a, b});
    return node.output(node.api().addMatrixMultiply(
                           node.tensor(both[0]), MatrixOperation::kNONE, node.tensor(both[1]), MatrixOperation::kNONE),
        "product");
}

Value wholeOf(Node& node, Value const& x)
{
    return node.cast(node.unary(x, UnaryOperation::kROUND), DataType::kINT32);
}

Value integerProduct(Node& node, IntegerMatrix const& a, IntegerMatrix const& b)
{
    Centred left = centredOf(node, a, true);
    Centred right = centredOf(node, b, false);
    std::vector<int32_t> squeezed;
    if (a.numbers.rank() == 1)
    {
        left.numbers = node.unsqueeze(left.numbers, {0});
        squeezed.push_back(std::max(b.numbers.rank(), 2) - 2);
    }
    if (b.numbers.rank() == 1)
    {
        right.numbers = node.unsqueeze(right.numbers, {1});
        squeezed.push_back(std::max(a.numbers.rank(), 2) - 1);
    }
    return node.squeeze(centredProduct(node, left, right), squeezed);
}

Outputs importMatMulInteger(Node& node)
{
    return {integerProduct(node, integersAt(node, 0, 2), integersAt(node, 1, 3))};
}

constinit std::span<Operator const> const kContribIntegerOperators{kContribIntegerTable};

} // namespace tenon::onnx
