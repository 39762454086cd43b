// Questions that rules ask of a graph.
#include "passes/rule.h"

#include "ir/replaceable.h"

#include <algorithm>

namespace tenon::passes
{

Node const* onlyReader(Graph const& graph, ValueId value)
{
    if (graph.isOutput(value))
        return nullptr;
    std::span<Use const> const uses = graph.uses(value);
    if (uses.empty() || std::ranges::any_of(uses, [&](Use const& use) { return use.node != uses.front().node; }))
        return nullptr;
    return &graph.node(uses.front().node);
}

std::optional<double> splatOf(Graph const& graph, ValueId value)
{
    constexpr int64_t kMaxCompared{1 << 16};
    Constant const* constant = graph.constantOf(value);
    if (constant == nullptr || constant->count() < 1 || constant->count() > kMaxCompared || isReplaceable(*constant))
        return std::nullopt;
    HostTensor const host = HostTensor::fromConstant(*constant);
    double const first = host.real(0);
    for (int64_t i = 1; i < host.count(); ++i)
        if (host.real(i) != first)
            return std::nullopt;
    return first;
}

bool readsReplaceable(Graph const& graph, Node const& node)
{
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
        Constant const* const constant = graph.constantOf(input);
        return constant != nullptr && isReplaceable(*constant);
    });
}

std::optional<double> scalarOf(Graph const& graph, ValueId value)
{
    Constant const* constant = graph.constantOf(value);
    if (constant == nullptr || constant->count() != 1 || !isFloating(constant->dtype) || isReplaceable(*constant))
        return std::nullopt;
    return HostTensor::fromConstant(*constant).real(0);
}

std::optional<Expr> pointwiseBody(Graph const& graph, Node const& node)
{
    if (node.outputs.size() != 1 || node.layer->hasSideEffects() || graph.value(node.output()).contents)
        return std::nullopt;
    std::optional<Expr> body = node.layer->body(static_cast<int32_t>(node.inputs.size()));
    if (!body || body->hasReduction())
        return std::nullopt;
    return body;
}

Inputs operandsOf(Graph const& graph, Node const& node)
{
    return Inputs{graph.viewsOf(node.inputs), node.name};
}

std::vector<NodeId> inOrder(Graph const& graph, std::vector<NodeId> nodes)
{
    std::ranges::sort(nodes, [&](NodeId a, NodeId b) { return graph.order().isBefore(a, b); });
    return nodes;
}

std::shared_ptr<Constant const> splat(DType dtype, size_t rank, double value)
{
    HostTensor host{dtype, std::vector<int64_t>(rank, 1)};
    host.set(0, value);
    return host.toConstant();
}

std::shared_ptr<Constant const> reshapedConstant(
    std::shared_ptr<Constant const> const& from, std::vector<int64_t> extents)
{
    return std::make_shared<Constant const>(Constant{from->dtype, std::move(extents), from->data, from});
}

} // namespace tenon::passes
