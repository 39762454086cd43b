// Attention and products with few bits of the domain com.microsoft.
#include "attention.h"
#include "quantization.h"

#include "../network.h"

#include <algorithm>
#include <cmath>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;

Value optionalAt(Node& node, int input)
{
    return node.has(input) ? node.in(input) : Value{};
}

void refuseInputs(Node& node, std::initializer_list<int> inputs)
{
    for (int const input : inputs)
    {
        if (node.has(input))
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, fmt::format("input {} of {}", input, node.op()));
        }
    }
}

Value plus(Node& node, Value const& a, Value const& b)
{
    return node.binary(a, b, ElementWiseOperation::kSUM);
}

Value asWide(Node& node, Value const& integers)
{
    return node.cast(integers, DataType::kINT64);
}

//! Which keys a mask of integers lets through: lengths [batch], flags [batch, keys] or [batch, rows, keys].
void applyMask(Node& node, Value const& mask, Sight& sight, Value& visible)
{
    // Exporters of causal attention give [batch, 1] or [1, 1] where there is no mask; ONNX Runtime reads none.
    bool const isNone = sight.isCausal && mask.exists() && mask.rank() == 2 && mask.shape()[1] == 1;
    if (!mask.exists() || isNone)
    {
        return;
    }
    if (mask.rank() == 1)
    {
        sight.lengths = node.unsqueeze(asWide(node, mask), {1, 2, 3});
        return;
    }
    if (mask.rank() > 4)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format("{} with a mask of shape {}", node.op(), shapeText(mask.shape())));
    }
    Value const flags = node.binary(mask, node.scalar(0.0, mask.type(), mask.rank()), ElementWiseOperation::kGREATER);
    visible = mask.rank() == 2 ? node.unsqueeze(flags, {1, 2}) : mask.rank() == 3 ? node.unsqueeze(flags, {1}) : flags;
}

//! Where the node says what keys that its mask hides count (mask_filter_value), they are weighed rather than hidden.
void weighHidden(Node& node, AttentionParts const& parts, Sight& sight, Value& visible, Value& bias)
{
    if (!node.hasAttribute("mask_filter_value") || (!visible.exists() && !sight.lengths.exists()))
    {
        return;
    }
    Sight lengths;
    lengths.lengths = sight.lengths;
    Value const seen =
        bothOf(node, visible, visibleBy(node, lengths, extentOf(node, parts.q, 2), extentOf(node, parts.k, 2)));
    DataType const type = parts.q.type();
    // Least numbers of float32 stand in models of 16 bits, too, where infinities would leave NaN in rows all hidden.
    double const least = type == DataType::kHALF ? -65504.0 : type == DataType::kBF16 ? -0x1.FEp127 : -0x1.FFFFFEp127;
    double const given = static_cast<double>(node.floatOr("mask_filter_value", -10000.0F));
    Value const filter = node.scalar(std::max(given, least), type);
    Value const weights = node.select(seen, node.scalar(0.0, type), filter);
    bias = bias.exists() ? plus(node, bias, weights) : weights;
    visible = {};
    sight.lengths = {};
}

//! The sum of the node's own bias and what its attributes and lengths hide.
Value attended(Node& node, AttentionParts& parts, Sight sight, Value visible, Value bias)
{
    weighHidden(node, parts, sight, visible, bias);
    parts.scale = scaleOf(node, parts.q);
    parts.softcap = static_cast<double>(node.floatOr("softcap", 0.0F));
    parts.bias = bias.exists() ? node.withRank(bias, 4) : bias;
    parts.visible =
        bothOf(node, visible, visibleBy(node, sight, extentOf(node, parts.q, 2), extentOf(node, parts.k, 2)));
    parts.mayHide = visible.exists() || sight.lengths.exists();
    return headsTogether(node, attend(node, parts));
}

//! Query, key, value, bias, mask, attention bias, past key, past value.
Outputs importMultiHead(Node& node)
{
    refuseInputs(node, {8, 9});
    int64_t const heads = node.intOr("num_heads", 0);
    Value q = node.in(0);
    Value k = optionalAt(node, 1);
    Value v = optionalAt(node, 2);
    if (q.rank() == 5) // [batch, rows, heads, 3, columns]
    {
        Value const packed = q;
        auto const part = [&](int64_t which) {
            return node.transpose(node.squeeze(sliceAxis(node, packed, 3, which, 1), {3}), {0, 2, 1, 3});
        };
        q = part(0);
        k = part(1);
        v = part(2);
    }
    else if (k.exists() && k.rank() == 5) // [batch, rows, heads, 2, columns]
    {
        Value const packed = k;
        auto const part = [&](int64_t which) {
            return node.transpose(node.squeeze(sliceAxis(node, packed, 3, which, 1), {3}), {0, 2, 1, 3});
        };
        k = part(0);
        v = part(1);
    }
    if (!k.exists() || !v.exists())
    {
        fail(ErrorCode::kINVALID_NODE, "MultiHeadAttention without keys or values");
    }
    if (node.has(3))
    {
        Extent begin{0};
        for (Value* const part : {&q, &k, &v})
        {
            if (part->rank() != 3)
            {
                fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, "MultiHeadAttention with a bias for operands of rank 4 or 5");
            }
            Extent const columns = extentOf(node, *part, 2);
            *part = plus(node, *part, node.unsqueeze(sliceAxis(node, node.in(3), 0, begin, columns), {0, 1}));
            begin = add(node, begin, columns);
        }
    }
    auto const apart = [&](Value const& x) { return x.rank() == 3 ? headsApart(node, x, heads) : x; };
    AttentionParts parts;
    Value const past = optionalAt(node, 6);
    parts.q = apart(q);
    parts.k = joinedWith(node, past, apart(k), 2);
    parts.v = joinedWith(node, optionalAt(node, 7), apart(v), 2);
    Sight sight;
    sight.isCausal = node.intOr("unidirectional", 0) != 0;
    sight.offset = past.exists() ? extentOf(node, past, 2) : Extent{0};
    Value visible;
    applyMask(node, optionalAt(node, 4), sight, visible);
    return {attended(node, parts, sight, visible, optionalAt(node, 5)), parts.k, parts.v};
}

//! What Attention and QAttention do with the joint projection [batch, rows, columns of q, k and v].
Outputs attendJointly(Node& node, Value const& projected, Value const& mask, Value const& past, Value const& bias)
{
    if (node.intOr("do_rotary", 0) != 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("{} with do_rotary", node.op()));
    }
    int64_t const heads = node.intOr("num_heads", 0);
    int64_t const columns = projected.shape().back();
    Shape const sizes = node.intsOr("qkv_hidden_sizes", Shape(3, columns / 3));
    bool const isCut = projected.rank() == 3 && columns >= 3 && sizes.size() == 3
        && std::all_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size > 0 && size < columns; })
        && sizes[0] + sizes[1] + sizes[2] == columns;
    if (!isCut)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{}: {} is not cut into {}", node.op(), shapeText(projected.shape()), shapeText(sizes)));
    }
    AttentionParts parts;
    int64_t begin{0};
    Value* const each[]{&parts.q, &parts.k, &parts.v};
    for (size_t i = 0; i < sizes.size(); ++i)
    {
        *each[i] = headsApart(node, sliceAxis(node, projected, 2, begin, sizes[i]), heads);
        begin += sizes[i];
    }
    Sight sight;
    sight.isCausal = node.intOr("unidirectional", 0) != 0;
    if (past.exists()) // [2, batch, heads, keys, columns]
    {
        auto const half = [&](int64_t which) { return node.squeeze(sliceAxis(node, past, 0, which, 1), {0}); };
        sight.offset = extentOf(node, past, 3);
        parts.k = joinedWith(node, half(0), parts.k, 2);
        parts.v = joinedWith(node, half(1), parts.v, 2);
    }
    Value visible;
    applyMask(node, mask, sight, visible);
    Value const result = attended(node, parts, sight, visible, bias);
    Value present;
    if (node.wants(1))
    {
        present = joinedWith(node, node.unsqueeze(parts.k, {0}), node.unsqueeze(parts.v, {0}), 0);
    }
    return {result, present};
}

Value multiplied(Node& node, Value const& a, Value const& b)
{
    std::vector<Value> const both = node.withEqualRanks({a, b});
    return node.output(node.api().addMatrixMultiply(
                           node.tensor(both[0]), MatrixOperation::kNONE, node.tensor(both[1]), MatrixOperation::kNONE),
        "product");
}

//! Input, weights, bias, mask, past, attention bias.
Outputs importJointAttention(Node& node)
{
    refuseInputs(node, {6});
    Value projected = multiplied(node, node.in(0), node.in(1));
    if (node.has(2))
    {
        projected = plus(node, projected, node.in(2));
    }
    return attendJointly(node, projected, optionalAt(node, 3), optionalAt(node, 4), optionalAt(node, 5));
}

//! Input, weights, bias, their scales, mask, their zero points, past.
Outputs importQuantizedAttention(Node& node)
{
    Quantization const x{.x = node.in(0), .scale = node.in(3), .zeroPoint = optionalAt(node, 6)};
    Quantization const w{.x = node.in(1), .scale = node.in(4), .zeroPoint = optionalAt(node, 7), .axis = 1};
    DataType const type = node.in(2).type();
    Value const projected =
        plus(node, multiplied(node, dequantize(node, x, type), dequantize(node, w, type)), node.in(2));
    return attendJointly(node, projected, optionalAt(node, 5), optionalAt(node, 8), {});
}

//! Caches grow by the new keys, as the total length says; that of the run is taken at its word.
void checkCaches(Node& node, Extent const& before, Extent const& rows)
{
    Value const total = node.in(6);
    if (!total.isConstant())
    {
        node.warnOnce(
            "GroupQueryAttention appends to its caches: those of a fixed length, and rows of a batch whose past "
            "has other lengths, give other results");
        return;
    }
    int64_t const length = static_cast<int64_t>(node.number(6, "total_sequence_length", 0));
    if (before.known && rows.known && length != *before.known + *rows.known)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format(
                "GroupQueryAttention of {} keys in all (total_sequence_length), of {} before and {} new ones: caches "
                "of a fixed length are not supported, those that grow are",
                length, *before.known, *rows.known));
    }
}

//! Query, key, value, past key, past value, lengths less 1, total length, cosines, sines, positions, bias. Caches are
//! those that grow: the new keys come behind the past ones.
Outputs importGroupQuery(Node& node)
{
    refuseInputs(node, {11});
    int64_t const heads = node.intOr("num_heads", 0);
    int64_t const few = node.intOr("kv_num_heads", 0);
    constexpr int64_t kMost{1 << 20}; // The sum of all is counted below.
    if (heads < 1 || heads > kMost || few < 1 || heads % few != 0 || node.intOr("smooth_softmax", 0) == 1)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("GroupQueryAttention of {} heads for {}, smooth_softmax {}", heads, few,
                node.intOr("smooth_softmax", 0)));
    }
    AttentionParts parts;
    if (node.has(1))
    {
        parts.q = headsApart(node, node.in(0), heads);
        parts.k = headsApart(node, node.in(1), few);
        parts.v = headsApart(node, node.in(2), few);
    }
    else
    {
        Value const all = headsApart(node, node.in(0), heads + 2 * few);
        parts.q = sliceAxis(node, all, 1, 0, heads);
        parts.k = sliceAxis(node, all, 1, heads, few);
        parts.v = sliceAxis(node, all, 1, heads + few, few);
    }
    Value const past = optionalAt(node, 3);
    Extent const before = past.exists() ? extentOf(node, past, 2) : Extent{0};
    checkCaches(node, before, extentOf(node, parts.q, 2));
    if (node.intOr("do_rotary", 0) != 0)
    {
        Value positions = optionalAt(node, 9);
        if (!positions.exists())
        {
            positions = plus(node, iota(node, extentOf(node, parts.q, 2)), tensorOf(node, {before}));
            positions = node.unsqueeze(positions, {0});
        }
        Rotation const rotation{.cosines = node.in(7),
            .sines = node.in(8),
            .positions = positions,
            .interleaved = node.intOr("rotary_interleaved", 0) != 0,
            .columns = 2 * node.in(7).shape().back()};
        parts.q = rotated(node, parts.q, rotation);
        parts.k = rotated(node, parts.k, rotation);
    }
    parts.k = joinedWith(node, past, parts.k, 2);
    parts.v = joinedWith(node, optionalAt(node, 4), parts.v, 2);
    Sight sight;
    sight.isCausal = true;
    sight.offset = before;
    int64_t const window = node.intOr("local_window_size", -1);
    sight.left = window > 0 ? window - 1 : -1;
    Value const lengths = node.reshape(asWide(node, node.in(5)), {-1});
    sight.lengths = node.unsqueeze(plus(node, lengths, node.integerConstant({1})), {1, 2, 3});
    return {attended(node, parts, sight, {}, optionalAt(node, 10)), parts.k, parts.v};
}

constexpr Operator kContribAttentionTable[]{
    {"Attention", importJointAttention},
    {"GroupQueryAttention", importGroupQuery},
    {"MultiHeadAttention", importMultiHead},
    {"QAttention", importQuantizedAttention},
};

} // namespace

constinit std::span<Operator const> const kContribAttentionOperators{kContribAttentionTable};

} // namespace tenon::onnx
