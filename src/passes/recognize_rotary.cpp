// Rule recognize-rotary-embedding: halves of heads that are turned by angles, as exporters write it out:
// x · cosines + [−second half of x, first half of x] · sines.
#include "ir/replaceable.h"
#include "layers/activation.h"
#include "layers/cast.h"
#include "layers/concatenation.h"
#include "layers/element_wise.h"
#include "layers/gather.h"
#include "layers/identity.h"
#include "layers/rotary_embedding.h"
#include "layers/slice.h"
#include "layers/squeeze.h"
#include "layers/unary.h"
#include "layers/unsqueeze.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <cstring>

namespace tenon::passes
{

namespace
{
using Op = nvinfer1::ElementWiseOperation;

constexpr int32_t kMostSteps{16}; //!< From angles to what multiplies.

int64_t lastExtent(Graph const& graph, ValueId value)
{
    Shape const& shape = graph.typeOf(value).shape;
    return shape.empty() || !shape.back().isConstant() ? -1 : *shape.back().constant();
}

//! What a refit may replace is no proof.
bool repeatsHalves(Constant const& constant)
{
    if (isReplaceable(constant))
        return false;
    int32_t const bits = bitsOf(constant.dtype);
    int64_t const width = constant.extents.empty() ? 0 : constant.extents.back();
    if (bits % 8 != 0 || width % 2 != 0 || width == 0)
        return false;
    auto const half = static_cast<size_t>(width / 2 * (bits / 8));
    auto const* data = static_cast<uint8_t const*>(constant.data);
    for (int64_t row = 0; row < constant.count() / width; ++row, data += 2 * half)
        if (std::memcmp(data, data + half, half) != 0)
            return false;
    return true;
}

//! Whether along its last axis the value is one half twice, whatever runs give; `steps`: that may still be gone.
bool repeatsHalves(Graph const& graph, ValueId value, int32_t steps)
{
    int64_t const width = lastExtent(graph, value);
    if (Constant const* constant = graph.constantOf(value))
        return repeatsHalves(*constant);
    Node const* node = graph.producerOf(value);
    if (node == nullptr || steps == 0 || width < 2)
        return false;
    auto const operand = [&](size_t i) {
        return lastExtent(graph, node->input(i)) == width && repeatsHalves(graph, node->input(i), steps - 1);
    };
    Layer const& layer = *node->layer;
    if (auto const* joined = as<Concatenation>(layer))
        return node->inputs.size() == 2 && node->input(0) == node->input(1)
            && joined->axis == graph.typeOf(value).rank() - 1;
    if (as<Unary>(layer) != nullptr || as<Activation>(layer) != nullptr || as<Cast>(layer) != nullptr
        || as<Identity>(layer) != nullptr || as<Squeeze>(layer) != nullptr || as<Unsqueeze>(layer) != nullptr)
        return operand(0);
    if (as<Shuffle>(layer) != nullptr)
        return isReshape(graph, node) && operand(0);
    if (as<ElementWise>(layer) != nullptr)
    {
        auto const isNumber = [&](size_t i) { return lastExtent(graph, node->input(i)) == 1; };
        return (operand(0) || isNumber(0)) && (operand(1) || isNumber(1));
    }
    if (auto const* gather = as<Gather>(layer))
        return gather->mode == nvinfer1::GatherMode::kDEFAULT
            && gather->gatherAxis < graph.typeOf(node->input(0)).rank() - 1 && operand(0);
    return false;
}

//! One half of `whole` along the last axis; kNone: the value is none.
ValueId halfOf(Graph const& graph, ValueId value, bool isSecond)
{
    Node const* node = graph.producerOf<Slice>(value);
    if (node == nullptr)
        return kNone;
    Result<Slice::Cut> const cut = layerOf<Slice>(node)->cut(operandsOf(graph, *node));
    Shape const& whole = graph.typeOf(node->input(0)).shape;
    int64_t const width = lastExtent(graph, node->input(0));
    if (!cut || width < 2 || width % 2 != 0)
        return kNone;
    for (size_t axis = 0; axis < whole.size(); ++axis)
    {
        bool const isLast = axis + 1 == whole.size();
        ShapeExpr const start{isLast && isSecond ? width / 2 : 0};
        ShapeExpr const size = isLast ? ShapeExpr{width / 2} : whole[axis];
        if (cut->stride[axis] != ShapeExpr{1} || cut->start[axis] != start || cut->size[axis] != size)
            return kNone;
    }
    return node->input(0);
}

struct Turned
{
    ValueId x{kNone};
    ValueId cosines{kNone};
    ValueId sines{kNone};
    std::vector<NodeId> nodes;
};

Node const* operationOf(Graph const& graph, ValueId value, Op operation)
{
    Node const* node = graph.producerOf<ElementWise>(value);
    return node != nullptr && layerOf<ElementWise>(node)->operation == operation && isReadOnce(graph, value) ? node
                                                                                                             : nullptr;
}

//! [−second half, first half] of what it answers.
ValueId turnedOf(Graph const& graph, ValueId value, std::vector<NodeId>& nodes)
{
    Node const* joined = graph.producerOf<Concatenation>(value);
    if (joined == nullptr || !isReadOnce(graph, value) || joined->inputs.size() != 2
        || layerOf<Concatenation>(joined)->axis != graph.typeOf(value).rank() - 1)
        return kNone;
    Node const* minus = graph.producerOf<Unary>(joined->input(0));
    if (minus == nullptr || layerOf<Unary>(minus)->operation != nvinfer1::UnaryOperation::kNEG)
        return kNone;
    ValueId const x = halfOf(graph, minus->input(0), true);
    if (x == kNone || halfOf(graph, joined->input(1), false) != x)
        return kNone;
    for (ValueId const each : {joined->input(0), minus->input(0), joined->input(1)})
        if (!isReadOnce(graph, each))
            return kNone;
    nodes.insert(nodes.end(),
        {joined->id, minus->id, graph.producerOf(minus->input(0))->id, graph.producerOf(joined->input(1))->id});
    return x;
}

std::optional<Turned> turnedBy(Graph const& graph, Node const& node)
{
    auto const* sum = as<ElementWise>(*node.layer);
    if (sum == nullptr || sum->operation != Op::kSUM)
        return std::nullopt;
    for (size_t i = 0; i < 2; ++i)
    {
        Node const* bySines = operationOf(graph, node.input(i), Op::kPROD);
        Node const* byCosines = operationOf(graph, node.input(1 - i), Op::kPROD);
        if (bySines == nullptr || byCosines == nullptr)
            continue;
        for (size_t k = 0; k < 2; ++k)
        {
            Turned turned{.nodes = {node.id, bySines->id, byCosines->id}};
            turned.x = turnedOf(graph, bySines->input(k), turned.nodes);
            if (turned.x == kNone)
                continue;
            turned.sines = bySines->input(1 - k);
            for (size_t m = 0; m < 2; ++m)
                if (byCosines->input(m) == turned.x)
                    turned.cosines = byCosines->input(1 - m);
            if (turned.cosines != kNone)
                return turned;
        }
    }
    return std::nullopt;
}
} // namespace

Rewrite recognizeRotaryEmbedding(Graph const& graph, Node const& node)
{
    std::optional<Turned> const turned = turnedBy(graph, node);
    if (!turned || graph.typeOf(turned->x) != graph.typeOf(node.output()))
        return skip();
    Shape const& x = graph.typeOf(turned->x).shape;
    if (x.size() != 4)
        return skip("heads are not the second of four axes");
    int64_t const width = *x[3].constant();
    Patch patch{graph, node};
    patch.covers(inOrder(graph, turned->nodes));
    std::vector<ValueId> inputs{turned->x};
    for (ValueId const table : {turned->cosines, turned->sines})
    {
        Shape const& shape = graph.typeOf(table).shape;
        if (shape.size() != 4 || (shape[0] != x[0] && shape[0] != ShapeExpr{1}) || shape[1] != ShapeExpr{1}
            || shape[2] != x[2] || shape[3] != x[3])
            return skip("its angles are not those of each sample's positions");
        if (!repeatsHalves(graph, table, kMostSteps))
            return skip("the angles of both halves may differ");
        Slice half;
        auto const entry = [](int64_t value) { return nvinfer1::Dims{1, {value}}; };
        half.axes = entry(3);
        half.start = entry(0);
        half.size = entry(width / 2);
        Shape const cut{shape[0], shape[1], shape[2], ShapeExpr{width / 2}};
        std::optional<Shuffle> const reshape = reshapeTo(cut, {shape[0], shape[2], ShapeExpr{width / 2}});
        if (!reshape)
            return skip("its angles cannot be reshaped");
        inputs.push_back(patch.add(*reshape, {patch.add(half, {table})}));
    }
    patch.replace(node.output(), patch.add(RotaryEmbedding{}, std::move(inputs)));
    return patch;
}

} // namespace tenon::passes
