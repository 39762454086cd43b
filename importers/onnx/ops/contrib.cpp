// Operators of the domain com.microsoft, which exporters and optimizers of ONNX Runtime write.
#include "normalization.h"

#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;

Value sumOf(Node& node, Value const& a, Value const& b)
{
    return node.binary(a, b, ElementWiseOperation::kSUM);
}

Value productOf(Node& node, Value const& a, Value const& b)
{
    return node.binary(a, b, ElementWiseOperation::kPROD);
}

Outputs importErfGelu(Node& node)
{
    return {node.activation(node.in(0), ActivationType::kGELU_ERF)};
}

Outputs importBiasGelu(Node& node)
{
    return {node.activation(sumOf(node, node.in(0), node.in(1)), ActivationType::kGELU_ERF)};
}

Outputs importFastGelu(Node& node)
{
    Value const x = node.has(1) ? sumOf(node, node.in(0), node.in(1)) : node.in(0);
    return {node.activation(x, ActivationType::kGELU_TANH)};
}

//! x · sigmoid(alpha · x)
Outputs importQuickGelu(Node& node)
{
    Value const x = node.in(0);
    auto const alpha = static_cast<double>(node.floatOr("alpha", 1.702F));
    Value const scaled = productOf(node, x, node.scalar(alpha, x.type()));
    return {productOf(node, x, node.activation(scaled, ActivationType::kSIGMOID))};
}

//! Normalized over the last axis; without a mean, by the root of the mean square.
Value normalizedRows(Node& node, Value const& x, Value const& scale, Value const& shift, bool hasMean)
{
    float const epsilon = node.floatOr("epsilon", hasMean ? 1e-12F : 1e-6F);
    int32_t const rank = x.rank();
    if (rank < 1 || scale.rank() > rank || (shift.exists() && shift.rank() > rank))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} of {} with a scale of {}", node.op(), shapeText(x.shape()), shapeText(scale.shape())));
    }
    if (!hasMean)
    {
        return byRootMeanSquare(node, x, scale, rank - 1, epsilon).normalized;
    }
    Value const gamma = node.withRank(scale, rank);
    Value const beta = node.withRank(shift.exists() ? shift : zerosLike(node, scale), rank);
    nvinfer1::INormalizationLayer* const layer = node.added(
        node.api().addNormalizationV2(node.tensor(x), node.tensor(gamma), node.tensor(beta), 1U << (rank - 1)),
        "normalization");
    layer->setEpsilon(epsilon);
    return layer->getOutput(0);
}

//! What is normalized is output 3 besides; mean and deviation are not told.
Outputs skipNormalization(Node& node, bool hasMean)
{
    Value sum = sumOf(node, node.in(0), node.in(1));
    int const bias = hasMean ? 4 : 3;
    if (node.has(bias))
    {
        sum = sumOf(node, sum, node.in(bias));
    }
    if (node.wants(1) || node.wants(2))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("{} whose mean or deviation is read", node.op()));
    }
    Value const shift = hasMean && node.has(3) ? node.in(3) : Value{};
    return {normalizedRows(node, sum, node.in(2), shift, hasMean), Value{}, Value{}, sum};
}

Outputs importSkipLayerNorm(Node& node)
{
    return skipNormalization(node, true);
}

Outputs importSkipSimplifiedLayerNorm(Node& node)
{
    return skipNormalization(node, false);
}

Value swapped(Node& node, Value const& x, int32_t a, int32_t b)
{
    std::vector<int32_t> order(static_cast<size_t>(x.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
    return node.transpose(x, order);
}

//! alpha · op(a) · op(b); with a transposed batch the first axis is that of the rows.
Outputs importFusedMatMul(Node& node)
{
    auto const operand = [&](int input, char const* batch) {
        Value const x = node.in(input);
        if (node.intOr(batch, 0) == 0)
        {
            return x;
        }
        if (x.rank() < 2)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("{} with {} of an operand of shape {}", node.op(), batch, shapeText(x.shape())));
        }
        std::vector<int32_t> order(static_cast<size_t>(x.rank()));
        std::iota(order.begin(), order.end(), 1);
        order[order.size() - 2] = 0;
        order.back() = x.rank() - 1;
        return node.transpose(x, order);
    };
    Value a = operand(0, "transBatchA");
    Value b = operand(1, "transBatchB");
    auto const operation = [&](Value const& x, char const* name) {
        return x.rank() == 1           ? MatrixOperation::kVECTOR // Which nothing transposes.
            : node.intOr(name, 0) != 0 ? MatrixOperation::kTRANSPOSE
                                       : MatrixOperation::kNONE;
    };
    MatrixOperation const opA = operation(a, "transA");
    MatrixOperation const opB = operation(b, "transB");
    int32_t const batchAxes = std::max({a.rank() - 2, b.rank() - 2, 0});
    a = node.withRank(a, batchAxes + (opA == MatrixOperation::kVECTOR ? 1 : 2));
    b = node.withRank(b, batchAxes + (opB == MatrixOperation::kVECTOR ? 1 : 2));
    Value const result = node.output(node.api().addMatrixMultiply(node.tensor(a), opA, node.tensor(b), opB), "product");
    float const alpha = node.floatOr("alpha", 1.0F);
    return {alpha == 1.0F ? result : productOf(node, result, node.scalar(static_cast<double>(alpha), result.type()))};
}

//! [batch, heads, positions, columns] turned by the angles of the positions; inputs of rank 3 hold the heads side by
//! side. The caches [count, pairs] have a row per position.
Outputs importRotary(Node& node)
{
    Value x = node.in(0);
    Value const positions = node.in(1);
    Value const cosines = node.in(2);
    Value const sines = node.in(3);
    bool const isFlat = x.rank() == 3;
    if ((!isFlat && x.rank() != 4) || positions.rank() > 2 || cosines.rank() != 2 || sines.rank() != 2)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("RotaryEmbedding of {} at positions {} with cosines {} and sines {}", shapeText(x.shape()),
                shapeText(positions.shape()), shapeText(cosines.shape()), shapeText(sines.shape())));
    }
    Extents const own = extentsOf(node, x);
    int64_t heads = node.intOr("num_heads", 0);
    int64_t const pairs = cosines.shape().back();
    if (isFlat)
    {
        int64_t const columns = x.shape().back();
        if (heads == 0 && pairs > 0 && columns > 0)
        {
            heads = columns / (2 * pairs);
        }
        if (heads < 1 || columns < 1 || columns % heads != 0)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("RotaryEmbedding of {} in {} heads", shapeText(x.shape()), heads));
        }
        x = swapped(node, reshapeTo(node, x, {own[0], own[1], heads, columns / heads}), 1, 2);
    }
    Extent const batch = extentOf(node, x, 0);
    Extent const length = extentOf(node, x, 2);
    Value at = node.cast(positions, DataType::kINT64);
    if (at.rank() < 2) // One offset for all.
    {
        Value const first = reshapeTo(node, at, {1});
        at = node.unsqueeze(sumOf(node, iota(node, length), first), {0});
    }
    at = expandTo(node, at, {batch, length});
    nvinfer1::IRotaryEmbeddingLayer* const layer =
        node.added(node.api().addRotaryEmbedding(node.tensor(x), node.tensor(cosines), node.tensor(sines),
                       node.intOr("interleaved", 0) != 0, node.int32Or("rotary_embedding_dim", 0)),
            "rotary");
    layer->setInput(3, node.tensor(at));
    Value result = node.result(*layer);
    float const scale = node.floatOr("scale", 1.0F);
    if (scale != 1.0F)
    {
        result = productOf(node, result, node.scalar(static_cast<double>(scale), result.type()));
    }
    return {isFlat ? reshapeTo(node, swapped(node, result, 1, 2), own) : result};
}

constexpr Operator kContribTable[]{
    {"BiasGelu", importBiasGelu},
    {"FastGelu", importFastGelu},
    {"FusedMatMul", importFusedMatMul},
    {"Gelu", importErfGelu},
    {"QuickGelu", importQuickGelu},
    {"RotaryEmbedding", importRotary},
    {"SkipLayerNormalization", importSkipLayerNorm},
    {"SkipSimplifiedLayerNormalization", importSkipSimplifiedLayerNorm},
    {"TransposeMatMul", importFusedMatMul},
};

} // namespace

constinit std::span<Operator const> const kContribOperators{kContribTable};

} // namespace tenon::onnx
