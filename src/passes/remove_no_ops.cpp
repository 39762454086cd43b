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
    Result<Slice::Cut> const cut = slice.cut(operandsOf(graph, node));
    if (!cut)
        return false;
    Shape const& shape = graph.typeOf(node.input(0)).shape;
    ShapeExpr const one{1};
    for (size_t axis = 0; axis < shape.size(); ++axis)
    {
        // An expand has stride min(1, extent − 1): 0 where there is one element only.
        ShapeExpr const& stride = cut->stride[axis];
        bool const steps = stride == one || shape[axis] == one || stride == min(one, shape[axis] - one)
            || stride == min(shape[axis] - one, one);
        if (cut->start[axis] != ShapeExpr{0} || !steps)
            return false;
    }
    return true;
}

//! Whether And with the element leaves the others as they are: true, or an integer of nothing but ones.
bool isAllOnes(Graph const& graph, ValueId value, double element)
{
    DType const dtype = graph.typeOf(value).dtype;
    return dtype == DType::kBOOL ? element != 0.0 : element == (dtype == DType::kUINT8 ? 255.0 : -1.0);
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
    if (right && operation == Op::kAND)
        return isAllOnes(graph, node.input(1), *right);
    if (right && operation == Op::kOR)
        return *right == 0.0;
    return false;
}

//! A commutative operation whose first operand changes nothing in the second.
bool isNeutralOnLeft(Graph const& graph, Node const& node, Op operation)
{
    std::optional<double> const left = splatOf(graph, node.input(0));
    if (!left || graph.typeOf(node.input(1)) != graph.typeOf(node.output()))
        return false;
    return (operation == Op::kSUM && *left == 0.0) || (operation == Op::kPROD && *left == 1.0)
        || (operation == Op::kAND && isAllOnes(graph, node.input(0), *left)) || (operation == Op::kOR && *left == 0.0);
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

//! Every rule of coordinates maps equal extents onto themselves, but a scale may give the same extent (3 · 1.1 is 3)
//! with other points between.
bool keepsPoints(Resize const& resize)
{
    return std::all_of(resize.scales.begin(), resize.scales.end(), [](float scale) { return scale == 1.0F; });
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
    auto const* resize = as<Resize>(layer);
    return resize != nullptr && keepsPoints(*resize);
}
} // namespace

Rewrite removeNoOps(Graph const& graph, Node const& node)
{
    if (node.outputs.size() != 1 || node.input(0) == kNone)
        return skip();
    ValueId source = node.input(0);
    auto const* elementWise = as<ElementWise>(*node.layer);
    if (elementWise != nullptr && isNeutralOnLeft(graph, node, elementWise->operation))
        source = node.input(1);
    else if (graph.typeOf(source) != graph.typeOf(node.output()) || !doesNothing(graph, node))
        return skip();
    Patch patch{graph, node};
    patch.replace(node.output(), source);
    return patch;
}

} // namespace tenon::passes
