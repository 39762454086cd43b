// Rules that move what follows a convolution or matrix product into it: fuse-activation, fuse-int8-activation,
// fuse-residual.
#include "layers/convolution.h"
#include "layers/deconvolution.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"
#include "passes/activation_match.h"
#include "passes/int8_products.h"
#include "passes/rules.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon::passes
{

namespace
{
constexpr size_t kMaxActivationNodes{16}; // The longest activation that exporters write, with room.

Epilogue const* epilogueOf(Node const* node)
{
    if (auto const* conv = layerOf<Convolution>(node))
        return &conv->epilogue;
    if (auto const* conv = layerOf<Deconvolution>(node))
        return &conv->epilogue;
    if (auto const* product = layerOf<MatrixMultiply>(node))
        return &product->epilogue;
    if (auto const* conv = layerOf<QuantizedConvolution>(node))
        return conv->outputScale == 0.0F ? &conv->product.epilogue : nullptr;
    if (auto const* product = layerOf<QuantizedMatrixMultiply>(node))
        return product->outputScale == 0.0F ? &product->product.epilogue : nullptr;
    return nullptr;
}

template <typename L>
LayerPtr withStep(L layer, EpilogueStep const& step)
{
    layer.epilogue.steps.push_back(step);
    return makeLayer(std::move(layer));
}

LayerPtr withStep(Node const& node, EpilogueStep const& step)
{
    if (auto const* conv = layerOf<Convolution>(&node))
        return withStep(*conv, step);
    if (auto const* conv = layerOf<Deconvolution>(&node))
        return withStep(*conv, step);
    if (std::optional<Int8Product> product = int8ProductOf(&node))
    {
        product->epilogue.steps.push_back(step);
        return withProduct(node, *product);
    }
    return withStep(*layerOf<MatrixMultiply>(&node), step);
}

//! The new node in place of producer and what follows it.
Patch fused(Graph const& graph, Node const& anchor, Node const& producer, EpilogueStep const& step,
    std::vector<NodeId> covered, ValueId extra = kNone)
{
    Patch patch{graph, anchor};
    std::vector<ValueId> inputs = producer.inputs;
    if (extra != kNone)
    {
        inputs.resize(std::max<size_t>(inputs.size(), 3), kNone); // Extras follow the bias.
        inputs.push_back(extra);
    }
    patch.covers(inOrder(graph, std::move(covered)));
    patch.replace(anchor.output(), patch.add(withStep(producer, step), std::move(inputs)));
    return patch;
}

//! The layers between a producer with an epilogue and a node, as one expression of the producer's result.
class ActivationRegion
{
  public:
    explicit ActivationRegion(Graph const& graph)
        : mGraph{graph}
    {
    }
    //! The expression of a value; none when it depends on more than one producer, or on one without an epilogue.
    std::optional<Expr> exprOf(ValueId value)
    {
        if (auto const known = mExprs.find(value); known != mExprs.end())
            return known->second;
        std::optional<Expr> expr = build(value);
        if (expr)
            mExprs.emplace(value, *expr);
        return expr;
    }
    //! Whether nothing outside of the region reads the producer or what lies between.
    bool isClosed(ValueId result) const
    {
        std::vector<ValueId> inner{mSource};
        for (NodeId const id : mNodes)
            inner.push_back(mGraph.node(id).output());
        for (ValueId const value : inner)
        {
            if (value == result)
                continue;
            if (mGraph.isOutput(value))
                return false;
            for (Use const& use : mGraph.uses(value))
                if (mNodes.count(use.node) == 0)
                    return false;
        }
        return true;
    }
    ValueId source() const
    {
        return mSource;
    }
    std::vector<NodeId> nodes() const
    {
        return {mNodes.begin(), mNodes.end()};
    }

  private:
    std::optional<Expr> build(ValueId value)
    {
        if (std::optional<double> const scalar = scalarOf(mGraph, value))
            return Expr{*scalar};
        Node const* node = mGraph.producerOf(value);
        if (node == nullptr)
            return std::nullopt;
        if (epilogueOf(node) != nullptr)
        {
            if (mSource != kNone && mSource != value)
                return std::nullopt;
            mSource = value;
            return Expr::input(0);
        }
        std::optional<Expr> const body = pointwiseBody(mGraph, *node);
        if (!body || mNodes.size() >= kMaxActivationNodes)
            return std::nullopt;
        mNodes.insert(node->id);
        std::vector<Expr> operands;
        for (ValueId const input : node->inputs)
        {
            if (input == kNone)
            {
                operands.emplace_back();
                continue;
            }
            std::optional<Expr> operand = exprOf(input);
            if (!operand)
                return std::nullopt;
            operands.push_back(std::move(*operand));
        }
        return body->compose(operands);
    }

    Graph const& mGraph;
    ValueId mSource{kNone};
    std::set<NodeId> mNodes;
    std::map<ValueId, Expr> mExprs;
};
} // namespace

namespace
{
Rewrite fuseActivation(Graph const& graph, Node const& node, FusionLimits const& limits, size_t steps, bool isInt8)
{
    if (!pointwiseBody(graph, node) || !limits.epilogueTypes.has(graph.typeOf(node.output()).dtype))
        return skip();
    ActivationRegion region{graph};
    std::optional<Expr> const expr = region.exprOf(node.output());
    if (!expr || region.source() == kNone || graph.typeOf(region.source()) != graph.typeOf(node.output()))
        return skip();
    if (!region.isClosed(node.output()))
        return skip(); // Usually part of a longer activation, whose last node will do.
    Node const& producer = *graph.producerOf(region.source());
    if (int8ProductOf(&producer).has_value() != isInt8)
        return skip();
    if (epilogueOf(&producer)->steps.size() >= steps)
        return skip("the epilogue is full");
    std::optional<EpilogueStep> const step = matchActivation(*expr, graph.typeOf(node.output()).dtype);
    if (!step)
        return skip();
    std::vector<NodeId> covered = region.nodes();
    covered.push_back(producer.id);
    return fused(graph, node, producer, *step, std::move(covered));
}
} // namespace

Rewrite fuseActivationIntoEpilogue(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    return fuseActivation(graph, node, limits, limits.epilogueSteps, false);
}

Rewrite fuseInt8Activation(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    return limits.int8Steps == 0 ? skip() : fuseActivation(graph, node, limits, limits.int8Steps, true);
}

Rewrite fuseResidualIntoEpilogue(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* sum = as<ElementWise>(*node.layer);
    if (sum == nullptr || sum->operation != nvinfer1::ElementWiseOperation::kSUM
        || graph.typeOf(node.input(0)) != graph.typeOf(node.input(1)) || node.input(0) == node.input(1)
        || !limits.epilogueTypes.has(graph.typeOf(node.output()).dtype))
        return skip();
    std::optional<size_t> best;
    for (size_t i = 0; i < 2; ++i)
    {
        Node const* producer = graph.producerOf(node.input(i));
        if (epilogueOf(producer) == nullptr || int8ProductOf(producer) || !isReadOnce(graph, node.input(i))
            || epilogueOf(producer)->steps.size() >= limits.epilogueSteps
            || graph.constantOf(node.input(1 - i)) != nullptr)
            continue;
        // Of two convolutions the later one takes the sum: the other's result exists by then.
        if (!best || graph.order().isBefore(graph.producerOf(node.input(*best))->id, producer->id))
            best = i;
    }
    if (!best)
        return skip();
    Node const& producer = *graph.producerOf(node.input(*best));
    return fused(graph, node, producer, {EpilogueKind::kAdd}, {producer.id, node.id}, node.input(1 - *best));
}

} // namespace tenon::passes
