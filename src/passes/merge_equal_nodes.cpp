// merge-equal-nodes (common subexpressions): of nodes that compute the same, the first stays.
#include "base/cancellation.h"
#include "ir/replaceable.h"
#include "layers/fill.h"
#include "passes/rules.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace tenon::passes
{

namespace
{
constexpr int64_t kComparedBytes{4096}; // Larger constants are equal only when they share their data.

//! All nodes of a graph in one walk: equal ones have equal hashes, so that each is compared with few others.
class Merger
{
  public:
    explicit Merger(Graph const& graph)
        : mGraph{graph},
          mKept(graph.valueCount())
    {
        std::iota(mKept.begin(), mKept.end(), 0);
    }

    //! The earlier node that computes the same; none keeps this one for those that follow.
    Node const* earlier(Node const& node)
    {
        if (!isCandidate(node))
            return nullptr;
        size_t const hash = hashOf(node);
        auto const [first, last] = mSeen.equal_range(hash);
        for (auto at = first; at != last; ++at)
            if (isEqual(*at->second, node))
            {
                for (size_t i = 0; i < node.outputs.size(); ++i)
                    mKept[static_cast<size_t>(node.outputs[i])] = at->second->outputs[i];
                return at->second;
            }
        mSeen.emplace(hash, &node);
        return nullptr;
    }

  private:
    //! Nodes of constants alone are folded; random numbers and side effects are each node's own.
    bool isCandidate(Node const& node) const
    {
        bool const readsData = std::any_of(node.inputs.begin(), node.inputs.end(),
            [&](ValueId input) { return input != kNone && mGraph.constantOf(input) == nullptr; });
        return readsData && node.layer->bodies().empty() && !node.outputs.empty() && !node.layer->hasSideEffects()
            && as<Fill>(*node.layer) == nullptr;
    }

    //! The value that stands for this one once equal nodes are merged.
    ValueId kept(ValueId value) const
    {
        return value == kNone ? kNone : mKept[static_cast<size_t>(value)];
    }

    static std::string_view bytesOf(Constant const& constant)
    {
        return {static_cast<char const*>(constant.data), static_cast<size_t>(constant.bytes())};
    }

    size_t hashOf(ValueId value) const
    {
        Constant const* constant = mGraph.constantOf(value);
        if (constant == nullptr)
            return static_cast<size_t>(kept(value));
        return constant->bytes() <= kComparedBytes && !isReplaceable(*constant)
            ? std::hash<std::string_view>{}(bytesOf(*constant))
            : std::hash<void const*>{}(constant->data);
    }

    size_t hashOf(Node const& node) const
    {
        Bytes const stored = node.layer->stored();
        size_t hash = std::hash<std::string_view>{}(node.layer->name());
        auto const mix = [&](size_t part) { hash = (hash ^ part) * size_t{0x9E3779B97F4A7C15} + (hash >> 29); };
        mix(std::hash<std::string_view>{}({reinterpret_cast<char const*>(stored.data()), stored.size()}));
        for (ValueId const input : node.inputs)
            mix(hashOf(input));
        return hash;
    }

    bool isSame(ValueId a, ValueId b) const
    {
        if (kept(a) == kept(b))
            return true;
        Constant const* x = mGraph.constantOf(a);
        Constant const* y = mGraph.constantOf(b);
        if (x == nullptr || y == nullptr || x->dtype != y->dtype || x->extents != y->extents)
            return false;
        if (x->data == y->data || isReplaceable(*x) || isReplaceable(*y))
            return x->data == y->data;
        return x->bytes() <= kComparedBytes && bytesOf(*x) == bytesOf(*y);
    }

    bool isEqual(Node const& a, Node const& b) const
    {
        if (a.layer->name() != b.layer->name() || a.inputs.size() != b.inputs.size()
            || a.outputs.size() != b.outputs.size())
            return false;
        for (size_t i = 0; i < a.inputs.size(); ++i)
            if (!isSame(a.inputs[i], b.inputs[i]))
                return false;
        for (size_t i = 0; i < a.outputs.size(); ++i)
            if (mGraph.typeOf(a.outputs[i]) != mGraph.typeOf(b.outputs[i]))
                return false; // Extents that depend on data are each node's own.
        return a.layer->stored() == b.layer->stored();
    }

    Graph const& mGraph;
    std::vector<ValueId> mKept; //!< By value.
    std::unordered_multimap<size_t, Node const*> mSeen;
};
} // namespace

Rewrite mergeEqualNodes(Graph const& graph, Node const& node)
{
    if (graph.order().front() != node.id)
        return skip(); // The first node stands for all of them: one walk merges what is equal.
    Merger merger{graph};
    Patch patch{graph, node};
    bool any{false};
    for (NodeId const id : graph.order())
    {
        cancellationPoint();
        Node const& later = graph.node(id);
        Node const* earlier = merger.earlier(later);
        if (earlier == nullptr)
            continue;
        any = true;
        for (size_t i = 0; i < later.outputs.size(); ++i)
            patch.replace(later.outputs[i], earlier->outputs[i]);
    }
    return any ? Rewrite{std::move(patch)} : skip();
}

} // namespace tenon::passes
