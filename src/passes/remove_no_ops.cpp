// remove-no-ops: nodes that give what they get are taken out.
#include "layers/cast.h"
#include "layers/concatenation.h"
#include "layers/element_wise.h"
#include "layers/identity.h"
#include "layers/pooling.h"
#include "layers/reduce.h"
#include "layers/resize.h"
#include "layers/scale.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
using Op = nvinfer1::ElementWiseOperation;

bool isWholeSlice(Graph const& graph, Node const& node, Slice const& slice)
{
    // Operands are constants or fields here: contents that are constant have been folded.
    std::vector<Input> views;
    for (ValueId const input : node.inputs)
    {
        if (input == kNone)
        {
            views.push_back({});
            continue;
        }
        Value const& value = graph.value(input);
        views.push_back({&value.type, value.contents ? &*value.contents : nullptr, value.constant.get(), value.name});
    }
    Result<Slice::Cut> const cut = slice.cut(Inputs{std::move(views), node.name});
    if (!cut)
        return false;
    auto const all = [](Shape const& shape, int64_t value) {
        return std::all_of(shape.begin(), shape.end(), [&](ShapeExpr const& each) { return each == ShapeExpr{value}; });
    };
    // An expand has stride 0 where the extent is 1 already: it moves nothing there either.
    bool sameStride{true};
    for (size_t axis = 0; axis < cut->stride.size(); ++axis)
        sameStride = sameStride
            && (cut->stride[axis] == ShapeExpr{1} || graph.typeOf(node.input(0)).shape[axis] == ShapeExpr{1});
    return all(cut->start, 0) && sameStride;
}

bool isNeutral(Graph const& graph, Node const& node, Op operation)
{
    std::optional<double> const right = splatOf(graph, node.input(1));
    if (right && (operation == Op::kSUM || operation == Op::kSUB))
        return *right == 0.0;
    if (right && (operation == Op::kPROD || operation == Op::kDIV))
        return *right == 1.0;
    if (right && operation == Op::kPOW)
        return *right == 1.0;
    return false;
}

bool isUnitPooling(Pooling const& pooling)
{
    Window const window = pooling.window();
    auto const all = [](std::vector<int64_t> const& list, int64_t value) {
        return std::all_of(list.begin(), list.end(), [&](int64_t each) { return each == value; });
    };
    return all(window.size, 1) && all(window.stride, 1) && all(window.pre, 0) && all(window.post, 0);
}

bool reducesNothing(Graph const& graph, Node const& node, Reduce const& reduce)
{
    Shape const& shape = graph.typeOf(node.input(0)).shape;
    for (size_t axis = 0; axis < shape.size(); ++axis)
        if ((reduce.reduceAxes >> axis & 1U) != 0 && shape[axis] != ShapeExpr{1})
            return false;
    return reduce.keepDimensions;
}

bool doesNothing(Graph const& graph, Node const& node)
{
    Layer const& layer = *node.layer;
    if (as<Identity>(layer) != nullptr || as<Cast>(layer) != nullptr)
        return true; // A cast to another type has been told apart by the type of the result.
    if (auto const* shuffle = as<Shuffle>(layer))
        return shuffle->isReshape(graph.typeOf(node.input(0)).shape);
    if (auto const* slice = as<Slice>(layer))
        return isWholeSlice(graph, node, *slice);
    if (auto const* pooling = as<Pooling>(layer))
        return isUnitPooling(*pooling);
    if (auto const* reduce = as<Reduce>(layer))
        return reducesNothing(graph, node, *reduce);
    if (auto const* elementWise = as<ElementWise>(layer))
        return isNeutral(graph, node, elementWise->operation);
    if (auto const* scale = as<Scale>(layer))
        return !scale->hasPower && !scale->hasScale && !scale->hasShift;
    if (as<Concatenation>(layer) != nullptr)
        return node.inputs.size() == 1;
    return as<Resize>(layer) != nullptr; // Every rule of coordinates maps equal extents onto themselves.
}
} // namespace

Rewrite removeNoOps(Graph const& graph, Node const& node)
{
    if (node.outputs.size() != 1 || node.input(0) == kNone)
        return skip();
    ValueId source = node.input(0);
    auto const* elementWise = as<ElementWise>(*node.layer);
    bool const isCommutative
        = elementWise != nullptr && (elementWise->operation == Op::kSUM || elementWise->operation == Op::kPROD);
    if (isCommutative && graph.typeOf(node.input(1)) == graph.typeOf(node.output())
        && splatOf(graph, source) == (elementWise->operation == Op::kSUM ? 0.0 : 1.0))
        source = node.input(1);
    else if (graph.typeOf(source) != graph.typeOf(node.output()) || !doesNothing(graph, node))
        return skip();
    Patch patch{graph, node};
    patch.replace(node.output(), source);
    return patch;
}

} // namespace tenon::passes
