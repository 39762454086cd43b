// Products of quantized numbers: ConvInteger, MatMulInteger, QLinearConv and QLinearMatMul. Sums of few enough products
// are whole numbers that float32 has; longer ones are added up in int32, part by part, so that results are exact.
#include "convolution.h"
#include "quantization.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;

constexpr int64_t kExactProducts{(int64_t{1} << 24) / (255 * 255)}; //!< Of differences of eight-bit numbers.
constexpr int64_t kMaxParts{256};

//! Numbers less their zero point, as float32; a zero point of several elements belongs to the axis.
Value centred(Node& node, Value const& x, int zeroPoint, int32_t axis)
{
    Value const wide = node.cast(x, DataType::kFLOAT);
    if (!node.has(zeroPoint))
    {
        return wide;
    }
    Value zero = node.cast(node.in(zeroPoint), DataType::kFLOAT);
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

//! Sums over `terms` terms of `each` products: in parts that float32 computes exactly.
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
        Value const some = node.cast(part(first, std::min(most, terms - first)), DataType::kINT32);
        sum = sum.exists() ? node.binary(sum, some, ElementWiseOperation::kSUM) : some;
    }
    return sum;
}

Value matrixProduct(Node& node, Value const& a, Value const& b)
{
    std::vector<Value> const both = node.withEqualRanks({a, b});
    return node.output(node.api().addMatrixMultiply(
                           node.tensor(both[0]), MatrixOperation::kNONE, node.tensor(both[1]), MatrixOperation::kNONE),
        "product");
}

//! int32; operands are inputs ia and ib, zero points inputs iza and izb.
Value integerProduct(Node& node, int ia, int iza, int ib, int izb)
{
    Value a = centred(node, node.in(ia), iza, node.in(ia).rank() - 2);
    Value b = centred(node, node.in(ib), izb, node.in(ib).rank() - 1);
    std::vector<int32_t> squeezed;
    if (a.rank() == 1)
    {
        a = node.unsqueeze(a, {0});
        squeezed.push_back(std::max(b.rank(), 2) - 2);
    }
    if (b.rank() == 1)
    {
        b = node.unsqueeze(b, {1});
        squeezed.push_back(a.rank() - 1);
    }
    int32_t const columns = a.rank() - 1;
    int32_t const rows = b.rank() - 2;
    int64_t const depth = std::max(a.shape().back(), b.shape()[static_cast<size_t>(rows)]);
    Value const result = summed(node, depth, 1, [&](int64_t first, int64_t count) {
        bool const isAll = count == depth;
        return matrixProduct(node, isAll ? a : sliceAxis(node, a, columns, first, count),
            isAll ? b : sliceAxis(node, b, rows, first, count));
    });
    return node.squeeze(result, squeezed);
}

//! int32; a zero point of the kernel may differ from map to map.
Value integerConvolution(Node& node, int kernelInput, int xZero, int kernelZero)
{
    Value const x = centred(node, node.in(0), xZero, 1);
    Value const kernel = centred(node, node.in(kernelInput), kernelZero, 0);
    Shape const shape = kernel.shape();
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
            return convolve(node, isAll ? x : sliceAxis(node, x, 1, first, count),
                isAll ? kernel : sliceAxis(node, kernel, 1, first, count), {});
        });
}

Outputs importMatMulInteger(Node& node)
{
    return {integerProduct(node, 0, 2, 1, 3)};
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

//! int32 sums with the scales of their operands, quantized anew by inputs 6 and 7.
Value requantized(Node& node, Value const& sums, Value const& a, Value const& b)
{
    Value const scales = node.binary(a, b, ElementWiseOperation::kPROD);
    Value const real = node.binary(node.cast(sums, DataType::kFLOAT), scales, ElementWiseOperation::kPROD);
    Quantization const q{.x = real, .scale = node.cast(node.in(6), DataType::kFLOAT), .zeroPoint = node.in(7)};
    return quantize(node, q, node.in(7).type());
}

Outputs importQLinearMatMul(Node& node)
{
    Value const sums = integerProduct(node, 0, 2, 3, 5);
    int32_t const rank = sums.rank();
    return {requantized(node, sums, scaleAlong(node, node.in(1), std::max(rank - 2, 0), rank),
        scaleAlong(node, node.in(4), rank - 1, rank))};
}

Outputs importQLinearConv(Node& node)
{
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
    return {requantized(node, sums, scaleAlong(node, node.in(1), 1, rank), scaleAlong(node, node.in(4), 1, rank))};
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
