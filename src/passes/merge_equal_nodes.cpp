// merge-equal-nodes (common subexpressions): of two nodes that compute the same, the later one goes.
#include "layers/fill.h"
#include "passes/rules.h"

#include <cstring>

namespace tenon::passes
{

namespace
{
constexpr int64_t kComparedBytes{4096};

bool isSame(Graph const& graph, ValueId a, ValueId b)
{
    if (a == b)
        return true;
    Constant const* x = graph.constantOf(a);
    Constant const* y = graph.constantOf(b);
    if (x == nullptr || y == nullptr || x->dtype != y->dtype || x->extents != y->extents)
        return false;
    return x->data == y->data
        || (x->bytes() <= kComparedBytes && std::memcmp(x->data, y->data, static_cast<size_t>(x->bytes())) == 0);
}

bool isEqual(Graph const& graph, Node const& a, Node const& b)
{
    if (a.layer->name() != b.layer->name() || a.inputs.size() != b.inputs.size()
        || a.outputs.size() != b.outputs.size())
        return false;
    for (size_t i = 0; i < a.inputs.size(); ++i)
        if (!isSame(graph, a.inputs[i], b.inputs[i]))
            return false;
    for (size_t i = 0; i < a.outputs.size(); ++i)
        if (graph.typeOf(a.outputs[i]) != graph.typeOf(b.outputs[i]))
            return false; // Extents that depend on data are each node's own.
    return a.layer->stored() == b.layer->stored();
}

//! The first operand that is no constant: equal nodes share it.
ValueId sharedInput(Graph const& graph, Node const& node)
{
    for (ValueId const input : node.inputs)
        if (input != kNone && graph.constantOf(input) == nullptr)
            return input;
    return kNone;
}
} // namespace

Rewrite mergeEqualNodes(Graph const& graph, Node const& node)
{
    ValueId const shared = sharedInput(graph, node);
    if (shared == kNone || node.outputs.empty() || node.layer->hasSideEffects() || as<Fill>(*node.layer) != nullptr)
        return skip();
    for (NodeId const id : graph.readers(shared))
    {
        Node const& other = graph.node(id);
        if (id == node.id || !isEqual(graph, node, other) || positionOf(graph, id) > positionOf(graph, node.id))
            continue;
        Patch patch{graph, node};
        for (size_t i = 0; i < node.outputs.size(); ++i)
            patch.replace(node.outputs[i], other.outputs[i]);
        return patch;
    }
    return skip();
}

} // namespace tenon::passes
