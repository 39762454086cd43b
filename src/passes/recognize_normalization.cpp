// Rules that find normalizations written out as arithmetic: recognize-layer-norm (and root mean square norm),
// recognize-group-norm, fold-affine-into-normalization.
#include "layers/element_wise.h"
#include "layers/normalization.h"
#include "layers/reduce.h"
#include "layers/unary.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>
#include <cmath>

namespace tenon::passes
{

namespace
{
using Op = nvinfer1::ElementWiseOperation;
using UnaryOp = nvinfer1::UnaryOperation;

//! The node that makes the value when it is this operation.
Node const* elementWise(Graph const& graph, ValueId value, Op operation)
{
    Node const* node = graph.producerOf<ElementWise>(value);
    return node != nullptr && layerOf<ElementWise>(node)->operation == operation ? node : nullptr;
}

Node const* unary(Graph const& graph, ValueId value, UnaryOp operation)
{
    Node const* node = graph.producerOf<Unary>(value);
    return node != nullptr && layerOf<Unary>(node)->operation == operation ? node : nullptr;
}

//! The pattern from the last division or product backwards; collects its nodes.
class NormPattern
{
  public:
    explicit NormPattern(Graph const& graph)
        : mGraph{graph}
    {
    }
    //! node = centred / sqrt(mean(centred²) + epsilon), in any of its spellings.
    bool match(Node const& node)
    {
        nodes = {node.id};
        auto const* layer = as<ElementWise>(*node.layer);
        if (layer == nullptr)
            return false;
        if (layer->operation == Op::kDIV)
            return matchRoot(node.input(1)) && matchCentre(node.input(0));
        if (layer->operation != Op::kPROD)
            return false;
        for (size_t i = 0; i < 2; ++i)
            if (matchInverseRoot(node.input(i)))
                return matchCentre(node.input(1 - i));
        return false;
    }

    ValueId x{kNone};
    uint32_t axes{0};
    double epsilon{0.0};
    bool rms{false};
    std::vector<NodeId> nodes;

  private:
    //! sqrt(v + epsilon) or (v + epsilon)^0.5.
    bool matchRoot(ValueId value)
    {
        if (Node const* root = unary(mGraph, value, UnaryOp::kSQRT))
            return take(*root) && matchVariance(root->input(0));
        Node const* power = elementWise(mGraph, value, Op::kPOW);
        return power != nullptr && splatOf(mGraph, power->input(1)) == 0.5 && take(*power)
            && matchVariance(power->input(0));
    }
    bool matchInverseRoot(ValueId value)
    {
        if (Node const* inverse = unary(mGraph, value, UnaryOp::kRECIP))
            return take(*inverse) && matchRoot(inverse->input(0));
        if (Node const* quotient = elementWise(mGraph, value, Op::kDIV))
            return splatOf(mGraph, quotient->input(0)) == 1.0 && take(*quotient) && matchRoot(quotient->input(1));
        Node const* power = elementWise(mGraph, value, Op::kPOW);
        return power != nullptr && splatOf(mGraph, power->input(1)) == -0.5 && take(*power)
            && matchVariance(power->input(0));
    }
    bool matchVariance(ValueId value)
    {
        Node const* sum = elementWise(mGraph, value, Op::kSUM);
        if (sum == nullptr || !take(*sum))
            return false;
        for (size_t i = 0; i < 2; ++i)
            if (std::optional<double> const constant = scalarOf(mGraph, sum->input(i)))
            {
                epsilon = *constant;
                return matchMeanOfSquares(sum->input(1 - i));
            }
        return false;
    }
    bool matchMeanOfSquares(ValueId value)
    {
        Node const* mean = meanAt(value);
        if (mean == nullptr || !take(*mean))
            return false;
        axes = layerOf<Reduce>(mean)->reduceAxes;
        ValueId const squares = mean->input(0);
        if (Node const* product = elementWise(mGraph, squares, Op::kPROD))
            mCentred = product->input(0) == product->input(1) && take(*product) ? product->input(0) : kNone;
        else if (Node const* power = elementWise(mGraph, squares, Op::kPOW))
            mCentred = splatOf(mGraph, power->input(1)) == 2.0 && take(*power) ? power->input(0) : kNone;
        return mCentred != kNone;
    }
    //! The numerator is what was squared; x − mean(x) for a layer norm, else x itself.
    bool matchCentre(ValueId value)
    {
        if (value != mCentred)
            return false;
        Node const* difference = elementWise(mGraph, value, Op::kSUB);
        Node const* mean = difference == nullptr ? nullptr : meanAt(difference->input(1));
        bool const isCentred =
            mean != nullptr && layerOf<Reduce>(mean)->reduceAxes == axes && mean->input(0) == difference->input(0);
        x = isCentred ? difference->input(0) : value;
        rms = !isCentred;
        if (isCentred)
            nodes.insert(nodes.end(), {difference->id, mean->id});
        return !isCentred || mGraph.readers(value).size() == 2;
    }
    Node const* meanAt(ValueId value) const
    {
        Node const* node = mGraph.producerOf<Reduce>(value);
        Reduce const* reduce = layerOf<Reduce>(node);
        return reduce != nullptr && reduce->operation == nvinfer1::ReduceOperation::kAVG && reduce->keepDimensions
            ? node
            : nullptr;
    }
    //! Part of the pattern: nothing else reads it.
    bool take(Node const& node)
    {
        nodes.push_back(node.id);
        return isReadOnce(mGraph, node.output());
    }

    Graph const& mGraph;
    ValueId mCentred{kNone};
};

std::shared_ptr<Constant const> filled(DType dtype, std::vector<int64_t> extents, double value)
{
    HostTensor tensor{dtype, std::move(extents)};
    for (int64_t i = 0; i < tensor.count(); ++i)
        tensor.set(i, value);
    return tensor.toConstant();
}

//! Element-wise a · b (or a + b) where one of them may be a splat of another shape.
std::shared_ptr<Constant const> combined(Graph const& graph, ValueId a, ValueId b, Op operation)
{
    Constant const* x = graph.constantOf(a);
    Constant const* y = graph.constantOf(b);
    if (x == nullptr || y == nullptr)
        return nullptr;
    std::optional<double> const splat = splatOf(graph, a);
    if (x->extents != y->extents && !splat)
        return nullptr;
    HostTensor const left = HostTensor::fromConstant(*x);
    HostTensor result = HostTensor::fromConstant(*y);
    for (int64_t i = 0; i < result.count(); ++i)
    {
        double const first = splat ? *splat : left.real(i);
        result.set(i, operation == Op::kPROD ? first * result.real(i) : first + result.real(i));
    }
    return result.toConstant();
}
} // namespace

Rewrite recognizeLayerNorm(Graph const& graph, Node const& node)
{
    NormPattern pattern{graph};
    if (!pattern.match(node) || graph.typeOf(pattern.x) != graph.typeOf(node.output()))
        return skip();
    Shape const& shape = graph.typeOf(pattern.x).shape;
    std::vector<int64_t> extents(shape.size(), 1);
    for (size_t axis = 0; axis < shape.size(); ++axis)
        if ((pattern.axes >> axis & 1U) != 0)
        {
            if (!shape[axis].isConstant())
                return skip("a normalized extent is known at run time only");
            extents[axis] = *shape[axis].constant();
        }
    Normalization norm;
    norm.epsilon = static_cast<float>(pattern.epsilon);
    norm.axes = pattern.axes;
    norm.rms = pattern.rms;
    norm.v2 = true;
    Patch patch{graph, node};
    patch.covers(inOrder(graph, pattern.nodes));
    ValueId const ones = patch.constant(node.name + " scale", filled(graph.typeOf(pattern.x).dtype, extents, 1.0));
    patch.replace(node.output(), patch.add(norm, {pattern.x, ones}));
    return patch;
}

Rewrite recognizeGroupNorm(Graph const& graph, Node const& node)
{
    Node const* inner = isReshape(graph, &node) ? graph.producerOf<Normalization>(node.input(0)) : nullptr;
    Node const* split = inner == nullptr ? nullptr : graph.producerOf<Shuffle>(inner->input(0));
    if (split == nullptr || !isReshape(graph, split))
        return skip();
    Normalization norm = *layerOf<Normalization>(inner);
    Shape const& x = graph.typeOf(split->input(0)).shape;
    Shape const& grouped = graph.typeOf(inner->input(0)).shape;
    bool const isInstanceNorm = norm.nbGroups == 1 && grouped.size() == 3 && norm.axes == 4U && !norm.rms;
    if (!isInstanceNorm || graph.typeOf(node.output()).shape != x || x.size() < 3 || !x[1].isConstant()
        || !grouped[1].isConstant() || grouped[0] != x[0])
        return skip();
    int64_t const groups = *grouped[1].constant();
    int64_t const channels = *x[1].constant();
    std::optional<double> const scale = splatOf(graph, inner->input(1));
    std::optional<double> const bias = inner->input(2) == kNone ? 0.0 : splatOf(graph, inner->input(2));
    if (groups < 2 || channels % groups != 0 || !scale || !bias || !isReadOnce(graph, node.input(0)))
        return skip("the groups have scales of their own, or others read them");
    norm.nbGroups = groups;
    norm.v2 = true;
    norm.axes = ((1U << x.size()) - 1U) & ~3U;
    std::vector<int64_t> extents(x.size(), 1);
    extents[1] = channels;
    DType const dtype = graph.typeOf(node.output()).dtype;
    Patch patch{graph, node};
    patch.covers({split->id, inner->id, node.id});
    patch.replace(node.output(),
        patch.add(norm,
            {split->input(0), patch.constant(inner->name + " scale", filled(dtype, extents, *scale)),
                patch.constant(inner->name + " bias", filled(dtype, extents, *bias))}));
    return patch;
}

Rewrite foldAffineIntoNormalization(Graph const& graph, Node const& node)
{
    auto const* layer = as<ElementWise>(*node.layer);
    if (layer == nullptr || (layer->operation != Op::kPROD && layer->operation != Op::kSUM))
        return skip();
    for (size_t i = 0; i < 2; ++i)
    {
        Node const* norm = graph.producerOf<Normalization>(node.input(i));
        ValueId const constant = node.input(1 - i);
        if (norm == nullptr || !isReadOnce(graph, node.input(i)) || graph.constantOf(constant) == nullptr
            || graph.typeOf(node.input(i)) != graph.typeOf(node.output()))
            continue;
        bool const hasBias = norm->input(2) != kNone;
        Patch patch{graph, node};
        patch.covers({norm->id, node.id});
        std::vector<ValueId> inputs = norm->inputs;
        inputs.resize(3, kNone);
        for (size_t k = 1; k < 3; ++k)
        {
            bool const isTouched = k == 1 ? layer->operation == Op::kPROD : hasBias || layer->operation == Op::kSUM;
            if (!isTouched)
                continue;
            std::shared_ptr<Constant const> made = k == 2 && !hasBias
                ? graph.value(constant).constant
                : combined(graph, norm->input(k), constant, layer->operation);
            if (made == nullptr)
                return skip("the factors of the normalization vary along other axes");
            inputs[k] = patch.constant(norm->name + (k == 1 ? " scale" : " bias"), std::move(made));
        }
        patch.replace(node.output(), patch.add(norm->layer, std::move(inputs)));
        return patch;
    }
    return skip();
}

} // namespace tenon::passes
