// Surroundings: a walk forwards, level by level, and one step back.
#include "passes/surroundings.h"

#include <algorithm>
#include <unordered_set>

namespace tenon::passes
{

namespace
{
constexpr int32_t kMaxLevels{4};
constexpr size_t kMaxReaders{8}; // Of one value.

class Surroundings
{
  public:
    explicit Surroundings(Graph const& graph)
        : mGraph{graph}
    {
    }

    std::vector<NodeId> around(std::vector<NodeId> const& nodes)
    {
        for (NodeId const id : nodes)
            if (mGraph.isAlive(id))
                add(id);
        size_t const given = mAll.size();
        size_t first{0};
        for (int32_t level = 0; level < kMaxLevels; ++level)
        {
            size_t const last = mAll.size();
            for (; first < last; ++first)
                addReaders(mAll[first]);
        }
        for (size_t i = 0; i < given; ++i)
            for (ValueId const input : mGraph.node(mAll[i]).inputs)
                if (Node const* const producer = mGraph.producerOf(input))
                    add(producer->id);
        std::ranges::sort(mAll, [&](NodeId a, NodeId b) { return mGraph.order().isBefore(a, b); });
        return std::move(mAll);
    }

  private:
    void add(NodeId id)
    {
        if (mKnown.insert(id).second)
            mAll.push_back(id);
    }
    void addReaders(NodeId id)
    {
        for (ValueId const output : mGraph.node(id).outputs)
        {
            std::span<Use const> const uses = mGraph.uses(output);
            for (Use const& use : uses.first(std::min(uses.size(), kMaxReaders)))
                add(use.node);
        }
    }

    Graph const& mGraph;
    std::vector<NodeId> mAll;
    std::unordered_set<NodeId> mKnown;
};
} // namespace

std::vector<NodeId> surroundings(Graph const& graph, std::vector<NodeId> const& nodes)
{
    return Surroundings{graph}.around(nodes);
}

} // namespace tenon::passes
