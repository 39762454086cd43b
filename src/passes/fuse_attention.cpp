// fuse-attention: softmax(alpha · q · kᵀ + mask) · v with the transposes around it becomes one layer that reads q, k
// and v where they lie, and heads of k and v that several heads of q share without the copies that a model makes of
// them; a guard against rows that may attend to nothing becomes its field.
#include "layers/attention.h"
#include "layers/dequantize.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/quantize.h"
#include "layers/select.h"
#include "layers/slice.h"
#include "layers/soft_max.h"
#include "layers/unary.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
using Matrix = nvinfer1::MatrixOperation;

//! The layers of one attention, from its last product backwards.
struct Parts
{
    Node const* values{nullptr}; //!< Weights · v.
    Node const* softMax{nullptr};
    Node const* scores{nullptr}; //!< q · kᵀ.
    ValueId mask{kNone};
    bool isGuarded{false};
    std::vector<NodeId> nodes; //!< In order.
};

//! Select(isNaN(p), 0, p): gives p.
ValueId unguarded(Graph const& graph, Parts& parts, ValueId value)
{
    Node const* select = graph.producerOf<Select>(value);
    if (select == nullptr || splatOf(graph, select->input(1)) != 0.0)
        return value;
    Node const* test = graph.producerOf<Unary>(select->input(0));
    ValueId const inner = select->input(2);
    if (test == nullptr || layerOf<Unary>(test)->operation != nvinfer1::UnaryOperation::kISNAN
        || test->input(0) != inner || graph.readerCount(inner) != 2 || !isReadOnce(graph, value)
        || !isReadOnce(graph, test->output()))
        return value;
    parts.isGuarded = true;
    parts.nodes.insert(parts.nodes.begin(), {test->id, select->id});
    return inner;
}

//! Whether a mask leaves the shape of the scores as it is. Extents of keys come from several inputs of a decoder, by
//! names that nobody compares; that the product behind reads as many rows of v makes them equal, or the run fails.
bool keepsShape(Graph const& graph, Parts const& parts, ValueId scores, ValueId sum)
{
    TensorType const& before = graph.typeOf(scores);
    TensorType const& after = graph.typeOf(sum);
    if (before == after)
        return true;
    bool const isTurned = layerOf<MatrixMultiply>(parts.values)->operation1 == Matrix::kTRANSPOSE;
    Shape const& v = graph.typeOf(parts.values->input(1)).shape;
    if (before.dtype != after.dtype || before.rank() != 4 || after.rank() != 4
        || before.shape[3] != v[isTurned ? 3 : 2])
        return false;
    return std::equal(before.shape.begin(), before.shape.end() - 1, after.shape.begin());
}

//! The sum of products and mask; leaves `value` when there is no mask.
ValueId unmasked(Graph const& graph, Parts& parts, ValueId value)
{
    Node const* sum = graph.producerOf<ElementWise>(value);
    if (sum == nullptr || layerOf<ElementWise>(sum)->operation != nvinfer1::ElementWiseOperation::kSUM
        || !isReadOnce(graph, value))
        return value;
    for (size_t i = 0; i < 2; ++i)
        if (graph.producerOf<MatrixMultiply>(sum->input(i)) != nullptr
            && keepsShape(graph, parts, sum->input(i), value))
        {
            parts.mask = sum->input(1 - i);
            parts.nodes.insert(parts.nodes.begin(), sum->id);
            return sum->input(i);
        }
    return value;
}

bool isPlainProduct(Node const& node)
{
    MatrixMultiply const& product = *layerOf<MatrixMultiply>(&node);
    return node.input(2) == kNone && product.epilogue.empty() && product.operation0 != Matrix::kVECTOR
        && product.operation1 != Matrix::kVECTOR;
}

std::optional<Parts> partsOf(Graph const& graph, Node const& node)
{
    auto const* product = as<MatrixMultiply>(*node.layer);
    if (product == nullptr || product->operation0 != Matrix::kNONE || product->alpha != 1.0F || !isPlainProduct(node)
        || graph.typeOf(node.output()).rank() != 4)
        return std::nullopt;
    Parts parts;
    parts.values = &node;
    parts.nodes = {node.id};
    ValueId const weights = unguarded(graph, parts, node.input(0));
    parts.softMax = graph.producerOf<SoftMax>(weights);
    if (parts.softMax == nullptr || layerOf<SoftMax>(parts.softMax)->axis() != 3
        || (!parts.isGuarded && !isReadOnce(graph, weights)))
        return std::nullopt;
    parts.nodes.insert(parts.nodes.begin(), parts.softMax->id);
    ValueId const products = unmasked(graph, parts, parts.softMax->input(0));
    parts.scores = graph.producerOf<MatrixMultiply>(products);
    if (parts.scores == nullptr || !isPlainProduct(*parts.scores) || !isReadOnce(graph, products))
        return std::nullopt;
    parts.nodes.insert(parts.nodes.begin(), parts.scores->id);
    return parts;
}

//! A value of rank 4 and the axes of batch, head, row and column in it.
struct Operand
{
    ValueId value{kNone};
    AttentionView view;
};

//! Columns of a wider tensor that a slice cuts off: where they start and where the whole is.
struct Columns
{
    ValueId whole{kNone};
    int64_t start{0};
};

std::optional<Columns> columnsOf(Graph const& graph, ValueId value)
{
    Node const* node = graph.producerOf<Slice>(value);
    if (node == nullptr)
        return std::nullopt;
    Result<Slice::Cut> const cut = layerOf<Slice>(node)->cut(operandsOf(graph, *node));
    Shape const& whole = graph.typeOf(node->input(0)).shape;
    if (!cut || layerOf<Slice>(node)->mode != nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return std::nullopt;
    size_t const last = whole.size() - 1;
    for (size_t axis = 0; axis < whole.size(); ++axis)
        if (cut->stride[axis] != ShapeExpr{1}
            || (axis != last && (cut->start[axis] != ShapeExpr{0} || cut->size[axis] != whole[axis])))
            return std::nullopt;
    if (!cut->start[last].isConstant() || !whole[last].isConstant())
        return std::nullopt;
    return Columns{node->input(0), *cut->start[last].constant()};
}

//! Heads that are columns of a joint projection: [b, s, 3·h·d] seen as [b, s, 3·h, d].
std::optional<Operand> packedOperand(Graph const& graph, Patch& patch, Node const& shuffle, AttentionView const& view)
{
    Shape middle = middleShape(graph, shuffle);
    std::optional<Columns> const columns = columnsOf(graph, shuffle.input(0));
    if (!columns || view.axes[1] != 2 || view.axes[3] != 3 || !middle[3].isConstant() || !middle[2].isConstant())
        return std::nullopt;
    Shape const& whole = graph.typeOf(columns->whole).shape;
    int64_t const width = *middle[3].constant();
    int64_t const all = *whole.back().constant();
    if (width <= 0 || whole.size() != 3 || whole[0] != middle[0] || whole[1] != middle[1] || columns->start % width != 0
        || all % width != 0)
        return std::nullopt;
    AttentionView packed = view;
    packed.firstHead = static_cast<int32_t>(columns->start / width);
    packed.heads = static_cast<int32_t>(*middle[2].constant());
    middle[2] = all / width;
    std::optional<Shuffle> const reshape = reshapeTo(whole, middle);
    if (!reshape)
        return std::nullopt;
    return Operand{patch.add(*reshape, {columns->whole}), packed};
}

//! x [b, h, s, d] of a reshape to [b, h · n, s, d] of x with each head repeated n times: broadcast along an axis of its
//! own.
std::optional<ValueId> sharedHeads(Graph const& graph, Patch& patch, Node const& shuffle)
{
    Node const* repeat = graph.producerOf<Slice>(shuffle.input(0));
    if (repeat == nullptr || !isIdentity(layerOf<Shuffle>(&shuffle)->firstTranspose))
        return std::nullopt;
    Result<Slice::Cut> const cut = layerOf<Slice>(repeat)->cut(operandsOf(graph, *repeat));
    Shape const& from = graph.typeOf(repeat->input(0)).shape;
    Shape const middle = middleShape(graph, shuffle);
    if (!cut || from.size() != 5 || from[2] != ShapeExpr{1}
        || layerOf<Slice>(repeat)->mode != nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return std::nullopt;
    for (size_t axis = 0; axis < from.size(); ++axis)
        if (cut->start[axis] != ShapeExpr{0} || (axis != 2 && cut->size[axis] != from[axis])
            || (cut->stride[axis] != ShapeExpr{axis == 2 ? 0 : 1} && from[axis] != ShapeExpr{1}))
            return std::nullopt;
    Shape const heads{from[0], from[1], from[3], from[4]};
    if (middle != Shape{from[0], from[1] * cut->size[2], from[3], from[4]})
        return std::nullopt;
    std::optional<Shuffle> const reshape = reshapeTo(from, heads);
    return reshape ? std::optional{patch.add(*reshape, {repeat->input(0)})} : std::nullopt;
}

//! Heads that are some of a wider tensor's: the slice goes.
Operand ofWhole(Graph const& graph, Operand operand)
{
    bool const isNew = operand.value >= Patch::kFirstNew;
    Node const* node = isNew || operand.view.heads != 0 ? nullptr : graph.producerOf<Slice>(operand.value);
    if (node == nullptr || layerOf<Slice>(node)->mode != nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return operand;
    Result<Slice::Cut> const cut = layerOf<Slice>(node)->cut(operandsOf(graph, *node));
    Shape const& whole = graph.typeOf(node->input(0)).shape;
    auto const heads = static_cast<size_t>(operand.view.axes[1]);
    if (!cut || whole.size() != operand.view.axes.size() || !whole[heads].isConstant()
        || !cut->start[heads].isConstant() || !cut->size[heads].isConstant())
        return operand;
    for (size_t axis = 0; axis < whole.size(); ++axis)
        if (cut->stride[axis] != ShapeExpr{1}
            || (axis != heads && (cut->start[axis] != ShapeExpr{0} || cut->size[axis] != whole[axis])))
            return operand;
    operand.value = node->input(0);
    operand.view.firstHead = static_cast<int32_t>(*cut->start[heads].constant());
    operand.view.heads = static_cast<int32_t>(*cut->size[heads].constant());
    return operand;
}

//! Looks through the transposes that put an operand into the order of the product.
//! `sharesHeads`: the operand may have fewer heads than q.
Operand inOrderOfProduct(Graph const& graph, Patch& patch, ValueId value, int32_t row, int32_t column, bool sharesHeads)
{
    Operand operand{value, {.axes = {0, 1, row, column}}};
    Node const* node = graph.producerOf<Shuffle>(value);
    if (node == nullptr)
        return operand;
    Shuffle shuffle = *layerOf<Shuffle>(node);
    if (std::optional<AxisOrder> const order = transposeOf(graph, node))
    {
        for (int32_t& axis : operand.view.axes)
            axis = (*order)[static_cast<size_t>(axis)];
        operand.value = node->input(0);
        return operand;
    }
    if (middleShape(graph, *node).size() != 4)
        return operand;
    for (int32_t& axis : operand.view.axes)
        axis = shuffle.secondTranspose[static_cast<size_t>(axis)];
    if (std::optional<ValueId> const shared = sharesHeads ? sharedHeads(graph, patch, *node) : std::nullopt)
    {
        operand.value = *shared;
        return operand;
    }
    if (isIdentity(shuffle.firstTranspose))
        if (std::optional<Operand> packed = packedOperand(graph, patch, *node, operand.view))
            return *packed;
    if (!isIdentity(shuffle.secondTranspose))
    {
        shuffle.secondTranspose = kSameOrder;
        operand.value = patch.add(shuffle, node->inputs);
    }
    return operand;
}
} // namespace

Rewrite fuseAttention(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<Parts> parts = partsOf(graph, node);
    if (!parts)
        return skip();
    DType const type = graph.typeOf(node.output()).dtype;
    if (!limits.attentionTypes.has(type))
        return skip(fmt::format("the device has no attention of {}", nameOf(type)));
    MatrixMultiply const& scores = *layerOf<MatrixMultiply>(parts->scores);
    MatrixMultiply const& values = *layerOf<MatrixMultiply>(parts->values);
    bool const isWideMask = parts->mask != kNone && graph.typeOf(parts->mask).rank() != 4;
    if (isWideMask)
        return skip("the mask has another rank than the scores");
    ShapeExpr const& batch = graph.typeOf(parts->scores->input(0)).shape[0];
    if (graph.typeOf(parts->scores->input(1)).shape[0] != batch
        || graph.typeOf(parts->values->input(1)).shape[0] != batch)
        return skip("q, k and v may differ in batch: the products broadcast, an attention does not");
    bool const qTurned = scores.operation0 == Matrix::kTRANSPOSE;
    bool const kTurned = scores.operation1 == Matrix::kTRANSPOSE;
    bool const vTurned = values.operation1 == Matrix::kTRANSPOSE;
    Patch patch{graph, node};
    patch.covers(inOrder(graph, parts->nodes));
    auto const operandOf = [&](ValueId value, bool isTurned, bool sharesHeads) {
        return ofWhole(graph, inOrderOfProduct(graph, patch, value, isTurned ? 3 : 2, isTurned ? 2 : 3, sharesHeads));
    };
    Operand const q = operandOf(parts->scores->input(0), qTurned, false);
    Operand const k = operandOf(parts->scores->input(1), !kTurned, true);
    Operand const v = operandOf(parts->values->input(1), vTurned, true);
    Attention attention;
    attention.scale = scores.alpha;
    attention.q = q.view;
    attention.k = k.view;
    attention.v = v.view;
    attention.outputAxes = {0, 2, 1, 3}; // [b, s, h, d]: what the projection behind reads without a copy.
    attention.maskedRowsAreZero = parts->isGuarded;
    std::vector<ValueId> inputs{q.value, k.value, v.value};
    if (parts->mask != kNone)
        inputs.push_back(parts->mask);
    ValueId const result = patch.add(attention, std::move(inputs));
    patch.replace(node.output(), patch.add(Shuffle::transpose({0, 2, 1, 3, 4, 5, 6, 7}), {result}));
    return patch;
}

Rewrite fuseRealAttention(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    bool const isProduct = as<MatrixMultiply>(*node.layer) != nullptr; // What has no result is no reader either.
    Node const* reader = isProduct && limits.int8Steps > 0 ? &node : nullptr;
    do
        reader = reader == nullptr ? nullptr : onlyReader(graph, reader->output());
    while (reader != nullptr && as<Shuffle>(*reader->layer) != nullptr);
    bool const isQuantized = reader != nullptr && as<Quantize>(*reader->layer) != nullptr;
    std::optional<Parts> const parts = isQuantized ? partsOf(graph, node) : std::nullopt;
    if (!parts)
        return skip();
    for (ValueId value : {parts->scores->input(0), parts->scores->input(1), parts->values->input(1)})
    {
        Node const* producer = graph.producerOf(value);
        while (
            producer != nullptr && (as<Shuffle>(*producer->layer) != nullptr || as<Slice>(*producer->layer) != nullptr))
            producer = graph.producerOf(producer->input(0));
        if (producer != nullptr && as<Dequantize>(*producer->layer) != nullptr)
            return skip();
    }
    return fuseAttention(graph, node, limits);
}

} // namespace tenon::passes
