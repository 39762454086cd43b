// Products of quantized numbers: ConvInteger, QLinearConv and QLinearMatMul. Operands become int8 numbers between
// Dequantize layers of scale 1, which devices multiply as whole numbers; results are exact.
#include "convolution.h"
#include "integer_matrices.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

//! int8 numbers times a scale.
struct Term
{
    Value numbers;
    double scale{1.0};
};

Value asReals(Node& node, Term const& term)
{
    return dequantize(node, {.x = term.numbers, .scale = node.scalar(term.scale, DataType::kFLOAT), .zeroPoint = {}},
        DataType::kFLOAT);
}

//! What is nearest to x.
Term nearest(Node& node, Value const& x, double scale)
{
    Quantization const q{.x = x, .scale = node.scalar(scale, DataType::kFLOAT), .zeroPoint = {}};
    return {quantize(node, q, DataType::kINT8), scale};
}

//! A part of the numbers along an axis, taken before they are real: devices keep the int8 ones of constants.
Value partOf(Node& node, Term const& term, int32_t axis, int64_t first, int64_t count)
{
    return asReals(node, {sliceAxis(node, term.numbers, axis, first, count), term.scale});
}

//! Numbers less their zero point, as float32; a zero point of several elements belongs to the axis.
Value centred(Node& node, Value const& x, Value const& zeroPoint, int32_t axis)
{
    Value const wide = node.cast(x, DataType::kFLOAT);
    if (isZero(zeroPoint))
    {
        return wide;
    }
    Value zero = node.cast(zeroPoint, DataType::kFLOAT);
    if (zero.rank() == 1 && zero.shape()[0] != 1)
    {
        std::vector<int32_t> behind;
        for (int32_t i = axis + 1; i < x.rank(); ++i)
        {
            behind.push_back(static_cast<int32_t>(behind.size()) + 1);
        }
        zero = node.unsqueeze(zero, behind);
    }
    return node.binary(wide, zero, ElementWiseOperation::kSUB);
}

//! Whether x less its zero point fits into int8.
bool isMiddle(Value const& x, Value const& zeroPoint)
{
    constexpr double kMiddle{128.0};
    if (x.type() != DataType::kUINT8 || !zeroPoint.exists() || !zeroPoint.isConstant())
    {
        return false;
    }
    std::vector<double> const zeros = numbersOf(zeroPoint.constant());
    return std::ranges::all_of(zeros, [](double zero) { return zero == kMiddle; });
}

//! What is added up to get the numbers less their zero point, which may need nine bits: one or two tensors of int8
//! numbers.
std::vector<Term> termsOf(Node& node, int input, int zeroPoint, int32_t axis)
{
    Value const& x = node.in(input);
    Value const zero = node.has(zeroPoint) ? node.in(zeroPoint) : Value{};
    if (x.type() == DataType::kINT8 && isZero(zero))
    {
        return {{x}};
    }
    Value const whole = centred(node, x, zero, axis);
    if (isMiddle(x, zero))
    {
        return {nearest(node, whole, 1.0)};
    }
    Term const even = nearest(node, whole, 2.0);
    Value const odd = node.binary(whole, asReals(node, even), ElementWiseOperation::kSUB); // −1, 0 or 1.
    return {even, nearest(node, odd, 1.0)};
}

//! Sums over `terms` terms of `each` products: in parts that float32 has.
template <typename Part>
Value summed(Node& node, int64_t terms, int64_t each, Part const& part)
{
    int64_t const most = std::max<int64_t>(kExactProducts / std::max<int64_t>(each, 1), 1);
    if (terms < 0 || each > kExactProducts || terms > most * kMaxParts)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format("{} with sums of {} times {} products", node.op(), terms, each));
    }
    Value sum;
    for (int64_t first = 0; first < std::max<int64_t>(terms, 1); first += most)
    {
        Value const some = wholeOf(node, part(first, std::min(most, terms - first)));
        sum = sum.exists() ? node.binary(sum, some, ElementWiseOperation::kSUM) : some;
    }
    return sum;
}

//! Sum of the products of each a with each b.
template <typename Product>
Value ofEachPair(Node& node, std::vector<Term> const& a, std::vector<Term> const& b, Product const& product)
{
    Value sum;
    for (Term const& left : a)
    {
        for (Term const& right : b)
        {
            Value const some = product(left, right);
            sum = sum.exists() ? node.binary(sum, some, ElementWiseOperation::kSUM) : some;
        }
    }
    return sum;
}

//! int32.
Value convolutionOf(Node& node, Term const& x, Term const& kernel)
{
    Shape const shape = kernel.numbers.shape();
    int64_t const each = volumeOf(spatialOf(shape));
    int64_t const channels = shape[1];
    bool const isGrouped = node.intOr("group", 1) != 1;
    if (isGrouped && channels * each > kExactProducts)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format("{} in groups with sums of {} products", node.op(), channels * each));
    }
    return summed(
        node, isGrouped ? 1 : channels, isGrouped ? channels * each : each, [&](int64_t first, int64_t count) {
            bool const isAll = isGrouped || count == channels;
            return convolve(node, isAll ? asReals(node, x) : partOf(node, x, 1, first, count),
                isAll ? asReals(node, kernel) : partOf(node, kernel, 1, first, count), {});
        });
}

//! int32; a zero point of the kernel may differ from map to map.
Value integerConvolution(Node& node, int kernelInput, int xZero, int kernelZero)
{
    return ofEachPair(node, termsOf(node, 0, xZero, 1), termsOf(node, kernelInput, kernelZero, 0),
        [&](Term const& x, Term const& kernel) { return convolutionOf(node, x, kernel); });
}

Outputs importConvInteger(Node& node)
{
    return {integerConvolution(node, 1, 2, 3)};
}

//! A scale per index of an axis of a tensor of the rank; one for all stays a number.
Value scaleAlong(Node& node, Value const& scale, int32_t axis, int32_t rank)
{
    Value const wide = node.cast(scale, DataType::kFLOAT);
    if (wide.rank() != 1 || wide.shape()[0] == 1)
    {
        return wide;
    }
    std::vector<int32_t> behind;
    for (int32_t i = axis + 1; i < rank; ++i)
    {
        behind.push_back(static_cast<int32_t>(behind.size()) + 1);
    }
    return node.unsqueeze(wide, behind);
}

//! int32 sums with the scales of their operands, quantized anew by inputs 6 and 7; one factor stands for all scales,
//! as in engines that multiply integers.
Value requantized(Node& node, Value const& sums, Value const& a, Value const& b, Value const& result)
{
    Value const scales =
        node.binary(node.binary(a, b, ElementWiseOperation::kPROD), result, ElementWiseOperation::kDIV);
    Value const x = node.binary(node.cast(sums, DataType::kFLOAT), scales, ElementWiseOperation::kPROD);
    return quantize(
        node, {.x = x, .scale = node.scalar(1.0, DataType::kFLOAT), .zeroPoint = node.in(7)}, node.in(7).type());
}

//! Known, and such as Quantize and Dequantize layers take.
bool isAboveZero(Value const& scale)
{
    return scale.isConstant() && std::ranges::all_of(numbersOf(scale.constant()), [](double x) { return x > 0.0; });
}

//! A zero point of all numbers that layers take.
bool isKnownPoint(Value const& zeroPoint)
{
    return isZero(zeroPoint) || (zeroPoint.isConstant() && zeroPoint.constant().count == 1);
}

//! Whether scales and zero points are known, and the kernel's numbers have none: what stands between Dequantize and
//! Quantize layers of these is the same then.
bool isBetweenLayers(Node& node)
{
    return node.in(3).type() == DataType::kINT8 && isKnownPoint(node.in(2)) && isZero(node.in(5))
        && isKnownPoint(node.in(7)) && isAboveZero(node.in(1)) && isAboveZero(node.in(4)) && isAboveZero(node.in(6))
        && node.in(1).constant().count == 1 && node.in(6).constant().count == 1;
}

Value dequantizedInput(Node& node, int input, int32_t axis)
{
    Quantization const q{
        .x = node.in(input), .scale = node.in(input + 1), .zeroPoint = node.in(input + 2), .axis = axis};
    return dequantize(node, q, DataType::kFLOAT);
}

Value quantizedResult(Node& node, Value const& x)
{
    return quantize(node, {.x = x, .scale = node.in(6), .zeroPoint = node.in(7)}, node.in(7).type());
}

//! A scale per row of a product of the rank, which has lost its only column where the right operand is a vector.
Value scaleOfRows(Node& node, Value const& scale, int32_t rank, bool isOfVector)
{
    if (!isOfVector)
    {
        return scaleAlong(node, scale, std::max(rank - 2, 0), rank);
    }
    Value const rows = scale.rank() > 1 ? node.squeeze(scale, {scale.rank() - 1}) : scale;
    return scaleAlong(node, rows, std::max(rank - 1, 0), rank);
}

Outputs importQLinearMatMul(Node& node)
{
    Value const& b = node.in(3);
    bool const isPlain = node.in(0).type() == DataType::kINT8 && isZero(node.in(2));
    bool const isOneMatrix = b.isConstant() && b.rank() == 2;
    if (isBetweenLayers(node) && (isPlain || isOneMatrix) && node.in(0).rank() > 1 && b.rank() > 1
        && (node.in(4).constant().count == 1 || (node.in(4).rank() == 1 && b.isConstant())))
    { // Other scales of columns have no int8 kernels: real products would be off by a rounding.
        Value const product =
            matrixProduct(node, dequantizedInput(node, 0, 0), dequantizedInput(node, 3, b.rank() - 1));
        return {quantizedResult(node, product)};
    }
    Value const sums = integerProduct(node, integersAt(node, 0, 2), integersAt(node, 3, 5));
    int32_t const rank = sums.rank();
    bool const isOfVector = b.rank() == 1;
    return {requantized(node, sums, scaleOfRows(node, node.in(1), rank, isOfVector),
        scaleAlong(node, node.in(4), rank - 1, rank), scaleOfRows(node, node.in(6), rank, isOfVector))};
}

//! Of a QLinearConv between layers: the int32 numbers of input 8 as real ones.
Value realBias(Node& node)
{
    if (!node.has(8))
    {
        return {};
    }
    std::vector<double> bias = numbersOf(node.in(8).constant());
    std::vector<double> const kernel = numbersOf(node.in(4).constant());
    double const x = numbersOf(node.in(1).constant()).front();
    for (size_t i = 0; i < bias.size(); ++i)
    {
        bias[i] *= x * kernel[kernel.size() == 1 ? 0 : checkedIndex(i, kernel.size())];
    }
    return node.numbers(bias, node.in(8).shape(), DataType::kFLOAT);
}

Outputs importQLinearConv(Node& node)
{
    bool const isOfImages = node.in(0).rank() == 4; // What int8 kernels take.
    if (isBetweenLayers(node) && isOfImages && node.in(3).isConstant() && (!node.has(8) || node.in(8).isConstant()))
    {
        Value const sums = convolve(node, dequantizedInput(node, 0, 0), dequantizedInput(node, 3, 0), realBias(node));
        return {quantizedResult(node, sums)};
    }
    Value sums = integerConvolution(node, 3, 2, 5);
    int32_t const rank = sums.rank();
    if (node.has(8))
    {
        std::vector<int32_t> behind;
        for (int32_t i = 2; i < rank; ++i)
        {
            behind.push_back(i - 1);
        }
        sums = node.binary(sums, node.unsqueeze(node.in(8), behind), ElementWiseOperation::kSUM);
    }
    return {requantized(node, sums, scaleAlong(node, node.in(1), 1, rank), scaleAlong(node, node.in(4), 1, rank),
        scaleAlong(node, node.in(6), 1, rank))};
}

constexpr Operator kIntegerTable[]{
    {"ConvInteger", importConvInteger},
    {"MatMulInteger", importMatMulInteger},
    {"QLinearConv", importQLinearConv},
    {"QLinearMatMul", importQLinearMatMul},
};

} // namespace

constinit std::span<Operator const> const kIntegerOperators{kIntegerTable};

} // namespace tenon::onnx
