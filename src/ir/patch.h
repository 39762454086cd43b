// Patch: a rewrite of one place of a graph, described before it is made. The only way to edit a graph.
#pragma once

#include "ir/graph.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenon
{

//! New nodes, put where the anchor node stands, and old values whose reads move to other values. Values made by the
//! patch have ids from kFirstNew on until it is applied.
class Patch
{
  public:
    static constexpr ValueId kFirstNew{1 << 28};

    //! The anchor: new nodes stand before it. Every input of a new node must be produced before the anchor.
    Patch(Graph const& graph, Node const& anchor)
        : mGraph{&graph},
          mAnchor{anchor.id}
    {
    }

    //! Output 0 of a new node. Its name and origins join those of the nodes it replaces (see `covers`).
    ValueId add(LayerPtr layer, std::vector<ValueId> inputs, size_t outputs = 1);
    template <typename L>
    ValueId add(L layer, std::vector<ValueId> inputs, size_t outputs = 1)
    {
        return add(makeLayer(std::move(layer)), std::move(inputs), outputs);
    }
    //! The same of a node that stands for `old` alone, and has its name and origins.
    ValueId addFor(Node const& old, LayerPtr layer, std::vector<ValueId> inputs);
    ValueId constant(std::string name, std::shared_ptr<Constant const> constant);
    //! Output i of the node whose output 0 is `first`.
    static ValueId outputOf(ValueId first, size_t i)
    {
        return first + static_cast<ValueId>(i);
    }
    //! All reads of `from` go to `to`; types must be equal when the patch is applied.
    void replace(ValueId from, ValueId to)
    {
        mReplacements.emplace_back(from, to);
    }
    //! Nodes whose names and origins the new nodes carry, in order; the anchor alone unless told otherwise.
    void covers(std::vector<NodeId> nodes)
    {
        mCovered = std::move(nodes);
    }

  private:
    friend class PatchApplication;
    struct NewNode
    {
        LayerPtr layer;
        std::vector<ValueId> inputs;
        ValueId first;
        size_t outputs;
        NodeId old{kNone}; //!< What it alone stands for; kNone: for all that the patch covers.
    };
    struct NewConstant
    {
        std::string name;
        std::shared_ptr<Constant const> constant;
        ValueId id;
    };
    Graph const* mGraph;
    NodeId mAnchor;
    std::vector<NewNode> mNodes;
    std::vector<NewConstant> mConstants;
    std::vector<std::pair<ValueId, ValueId>> mReplacements;
    std::vector<NodeId> mCovered;
    ValueId mNext{kFirstNew};
};

//! Makes the edit; nothing changes when an error is returned. Nodes that it leaves without readers go. Answers with the
//! nodes around the edit, in no order, some of them gone perhaps: new ones, those that make what is read now, and those
//! that make what is read less often. Its time goes by the edit, not by the graph.
Result<std::vector<NodeId>> applyPatch(Graph& graph, Patch const& patch);

//! Erases nodes whose outputs nobody reads, unless they have side effects.
void removeDeadNodes(Graph& graph);

//! Why a rule did not apply; an empty reason means "not my kind of node" and is not logged.
struct Skip
{
    std::string reason;
};

using Rewrite = std::variant<Skip, Patch>;

inline Rewrite skip(std::string reason = {})
{
    return Skip{std::move(reason)};
}

} // namespace tenon
