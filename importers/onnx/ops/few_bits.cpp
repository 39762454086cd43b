// MatMulNBits: a product with weights of four or eight bits, as the engine's dequantization in front of a product. Zero
// points beside the middle of the range become a second product, of sums over the blocks of the rows.
#include "../network.h"
#include "quantization.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;
using nvinfer1::ReduceOperation;

//! What the node says of its weights: `columns` of `depth` numbers, in blocks.
struct FewBits
{
    int64_t depth;
    int64_t columns;
    int64_t bits;
    int64_t block;
    int64_t blocks;

    int64_t middle() const noexcept
    {
        return int64_t{1} << (bits - 1);
    }
};

FewBits fewBitsOf(Node& node)
{
    FewBits f{node.intOr("K", 0), node.intOr("N", 0), node.intOr("bits", 4), node.intOr("block_size", 0), 0};
    if (f.bits != 4 && f.bits != 8)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("weights of {} bits: they may have 4 or 8", f.bits));
    }
    if (f.depth < 1 || f.columns < 1 || f.block < 1 || f.depth % f.block != 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("K = {}, N = {} and blocks of {}: blocks must divide K", f.depth, f.columns, f.block));
    }
    if (node.has(4))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, "an order of its groups (g_idx)");
    }
    f.blocks = f.depth / f.block;
    return f;
}

//! How many bytes hold rows of numbers of so many bits, each row in whole bytes; fails where that is beyond counting.
int64_t bytesOfRows(int64_t rows, int64_t each, int64_t bits)
{
    int64_t const perByte = 8 / bits;
    return volumeOf({rows, each / perByte + (each % perByte != 0 ? 1 : 0)});
}

uint8_t const* bytesOfInput(Constant const& constant, DataType type, int64_t count, char const* what)
{
    if (constant.type != type || constant.count != count)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} of type {} and shape {}, where {} numbers of type {} are needed", what,
                nameOf(constant.type), shapeText(constant.dims), count, nameOf(type)));
    }
    return static_cast<uint8_t const*>(constant.data);
}

//! Signed numbers: the middle of the range is taken off.
Value signedWeights(Node& node, FewBits const& f)
{
    int64_t const bytes = bytesOfRows(volumeOf({f.columns, f.blocks}), f.block, f.bits);
    uint8_t const* const from = bytesOfInput(node.constant(1, "weights"), DataType::kUINT8, bytes, "weights");
    uint8_t const flip = f.bits == 4 ? 0x88 : 0x80;
    std::vector<uint8_t> numbers(from, from + bytes);
    std::transform(numbers.begin(), numbers.end(), numbers.begin(), [flip](uint8_t b) { return b ^ flip; });
    DataType const type = f.bits == 4 ? DataType::kINT4 : DataType::kINT8;
    return node.named(node.network().model.own(type, Shape{f.columns, f.depth}, numbers), "weights");
}

//! Zero points less the middle of the range, [columns][blocks]; empty when all are there.
std::vector<double> zeroPointsOf(Node& node, FewBits const& f)
{
    auto const middle = static_cast<double>(f.middle());
    std::vector<double> points;
    if (!node.has(3))
    {
        return points;
    }
    Constant const& given = node.constant(3, "zero points");
    if (given.type != DataType::kUINT8)
    {
        points = numbersOf(given);
    }
    else
    {
        int64_t const perByte = 8 / f.bits;
        int64_t const stride = bytesOfRows(1, f.blocks, f.bits);
        int64_t const bytes = bytesOfRows(f.columns, f.blocks, f.bits);
        uint8_t const* const from = bytesOfInput(given, DataType::kUINT8, bytes, "zero points");
        for (int64_t i = 0; i < f.columns * f.blocks; ++i)
        {
            int64_t const block = i % f.blocks;
            uint8_t const byte = from[i / f.blocks * stride + block / perByte];
            points.push_back(f.bits == 8 ? byte : byte >> (block % 2 * 4) & 0xF);
        }
    }
    if (static_cast<int64_t>(points.size()) != f.columns * f.blocks)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} zero points, {} are needed", points.size(), f.columns * f.blocks));
    }
    std::transform(points.begin(), points.end(), points.begin(), [middle](double p) { return p - middle; });
    bool const isAny = std::any_of(points.begin(), points.end(), [](double p) { return p != 0.0; });
    return isAny ? points : std::vector<double>{};
}

Value timesTransposed(Node& node, Value const& a, Value const& b)
{
    Value const matrix = node.withRank(b, a.rank());
    return node.output(node.api().addMatrixMultiply(
                           node.tensor(a), MatrixOperation::kNONE, node.tensor(matrix), MatrixOperation::kTRANSPOSE),
        "product");
}

//! [..., blocks]: the sum over each block of the last axis.
Value sumsOfBlocks(Node& node, Value const& a, FewBits const& f)
{
    Extents extents = extentsOf(node, a);
    extents.back() = Extent{f.blocks};
    extents.push_back(Extent{f.block});
    return node.reduce(reshapeTo(node, a, extents), ReduceOperation::kSUM, {a.rank()}, false);
}

//! Weights as they are stored, which kernels read.
Outputs importAsStored(Node& node)
{
    FewBits const f = fewBitsOf(node);
    Value const a = node.in(0);
    std::vector<double> scales = numbersOf(node.constant(2, "scales"));
    if (static_cast<int64_t>(scales.size()) != volumeOf({f.columns, f.blocks}) || a.rank() < 2)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} scales and an operand of shape {}", scales.size(), shapeText(a.shape())));
    }
    Shape const ofScales{f.columns, f.blocks};
    Value const scale = node.reshapedConstant(node.in(2), ofScales);
    Quantization const q{.x = signedWeights(node, f), .scale = scale, .zeroPoint = {}, .axis = 1, .blockSize = f.block};
    Value result = timesTransposed(node, a, dequantize(node, q, a.type()));
    std::vector<double> points = zeroPointsOf(node, f);
    if (!points.empty())
    {
        std::transform(points.begin(), points.end(), scales.begin(), points.begin(), std::multiplies<>{});
        Value const shift = timesTransposed(node, sumsOfBlocks(node, a, f), node.numbers(points, ofScales, a.type()));
        result = node.binary(result, shift, ElementWiseOperation::kSUB);
    }
    return {node.has(5) ? node.binary(result, node.in(5), ElementWiseOperation::kSUM) : result};
}

//! The numbers of a packed list of `bits` each, lowest first, row by row.
std::vector<int8_t> unpacked(Integers const& bytes, int64_t rows, int64_t each, int64_t bits)
{
    int64_t const perByte = 8 / bits;
    int64_t const width = bytesOfRows(1, each, bits);
    int64_t const mask = (int64_t{1} << bits) - 1;
    std::vector<int8_t> numbers;
    numbers.reserve(static_cast<size_t>(rows * each));
    for (int64_t row = 0; row < rows; ++row)
    {
        for (int64_t i = 0; i < each; ++i)
        {
            int64_t const byte = bytes[static_cast<size_t>(row * width + i / perByte)];
            numbers.push_back(static_cast<int8_t>((byte >> (i % perByte * bits)) & mask));
        }
    }
    return numbers;
}

//! The layer's scales are above 0: a sign moves into the numbers, and where the scale is 0 these are.
Value positiveScales(Node& node, Value const& given, Shape const& dims, int64_t block, std::vector<int8_t>& numbers)
{
    if (!given.isConstant())
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, "MatMulNBits with scales that are not known");
    }
    std::vector<double> scales = numbersOf(given.constant());
    if (static_cast<int64_t>(scales.size()) != volumeOf(dims))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("MatMulNBits with {} scales, {} are needed", scales.size(), volumeOf(dims)));
    }
    for (size_t i = 0; i < scales.size(); ++i)
    {
        int const sign = scales[i] < 0.0 ? -1 : scales[i] > 0.0 ? 1 : 0;
        scales[i] = sign == 0 ? 1.0 : std::abs(scales[i]);
        auto const first = numbers.begin() + static_cast<int64_t>(i) * block;
        std::transform(first, first + block, first, [sign](int8_t n) { return static_cast<int8_t>(n * sign); });
    }
    return node.numbers(scales, dims, given.type());
}

//! As int4 where all of them fit.
Value fewBits(Node& node, std::vector<int8_t> const& numbers, Shape const& dims)
{
    Model& model = node.network().model;
    bool const fit = std::all_of(numbers.begin(), numbers.end(), [](int8_t n) { return n >= -8 && n <= 7; });
    if (!fit || dims.back() % 2 != 0)
    {
        return node.named(model.own(DataType::kINT8, dims, numbers), "weights");
    }
    std::vector<uint8_t> packed(numbers.size() / 2);
    for (size_t i = 0; i < packed.size(); ++i)
    {
        auto const low = static_cast<uint8_t>(numbers[2 * i]) & 0xFU;
        auto const high = static_cast<uint8_t>(numbers[2 * i + 1]) & 0xFU;
        packed[i] = static_cast<uint8_t>(low | high << 4U);
    }
    return node.named(model.own(DataType::kINT4, dims, packed), "weights");
}

//! With zero points taken off the numbers, which then may be of int8, and signs of scales moved into them.
Outputs importCentred(Node& node)
{
    if (node.has(4))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, "an order of its groups (g_idx)");
    }
    int64_t const rows = node.intOr("N", 0);
    int64_t const columns = node.intOr("K", 0);
    int64_t const bits = node.intOr("bits", 4);
    int64_t const block = node.intOr("block_size", 32);
    Constant const& packed = node.constant(1, "weights");
    bool const isKnown = bits == 4 || bits == 2;
    int64_t const blocks = block > 0 ? columns / block + (columns % block != 0 ? 1 : 0) : 0;
    if (!isKnown || rows < 1 || columns < 1 || blocks < 1 || packed.type != DataType::kUINT8
        || packed.count != bytesOfRows(volumeOf({rows, blocks}), block, bits))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("MatMulNBits of {} x {} in blocks of {} with {} bits", rows, columns, block, bits));
    }
    std::vector<int8_t> const numbers = unpacked(integersOf(packed), rows * blocks, block, bits);
    std::vector<int8_t> zeros(static_cast<size_t>(rows * blocks), static_cast<int8_t>(1 << (bits - 1)));
    if (node.has(3))
    {
        if (node.in(3).type() != DataType::kUINT8)
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, "MatMulNBits whose zero points are no packed integers");
        }
        Constant const& given = node.constant(3, "zero points");
        if (given.count != bytesOfRows(rows, blocks, bits))
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("MatMulNBits with {} bytes of zero points", given.count));
        }
        zeros = unpacked(integersOf(given), rows, blocks, bits);
    }
    std::vector<int8_t> centred(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i)
    {
        centred[i] = static_cast<int8_t>(numbers[i] - zeros[i / static_cast<size_t>(block)]);
    }
    Value const scales = positiveScales(node, node.in(2), {rows, blocks}, block, centred);
    Quantization const q{.x = fewBits(node, centred, {rows, blocks * block}),
        .scale = scales,
        .zeroPoint = {},
        .axis = 1,
        .blockSize = block};
    Value weights = dequantize(node, q, node.in(0).type());
    weights = blocks * block == columns ? weights : sliceAxis(node, weights, 1, 0, columns);
    Value const a = node.in(0);
    std::vector<Value> const both = node.withEqualRanks({a, weights});
    Value result = node.output(node.api().addMatrixMultiply(node.tensor(both[0]), MatrixOperation::kNONE,
                                   node.tensor(both[1]), MatrixOperation::kTRANSPOSE),
        "product");
    return {node.has(5) ? node.binary(result, node.in(5), ElementWiseOperation::kSUM) : result};
}

//! A times the transpose of weights in blocks of few bits: [n, blocks, bytes] with a scale per block.
Outputs importMatMulNBits(Node& node)
{
    int64_t const block = node.intOr("block_size", 0);
    int64_t const bits = node.intOr("bits", 4);
    bool const areBytes = bits == 8 || (bits == 4 && block % 2 == 0);
    bool const isWhole = block > 0 && node.intOr("K", 0) % block == 0 && areBytes;
    std::vector<double> const scales = numbersOf(node.constant(2, "scales"));
    bool const isPositive = std::all_of(scales.begin(), scales.end(), [](double scale) { return scale > 0.0; });
    return isWhole && isPositive ? importAsStored(node) : importCentred(node);
}

constexpr Operator kFewBitsTable[]{
    {"MatMulNBits", importMatMulNBits},
};

} // namespace

constinit std::span<Operator const> const kFewBitsOperators{kFewBitsTable};

} // namespace tenon::onnx
