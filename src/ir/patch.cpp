// Patch: recording and applying.
#include "ir/patch.h"

#include "base/check.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace tenon
{

ValueId Patch::add(LayerPtr layer, std::vector<ValueId> inputs, size_t outputs)
{
    ValueId const first = mNext;
    mNext += static_cast<ValueId>(outputs);
    mNodes.push_back({std::move(layer), std::move(inputs), first, outputs});
    return first;
}

ValueId Patch::constant(std::string name, std::shared_ptr<Constant const> constant)
{
    mConstants.push_back({std::move(name), std::move(constant), mNext});
    return mNext++;
}

namespace
{
constexpr size_t kMostNameBytes{1024};

//! The names of what a new node stands for, as many as fit: chains of rewrites would make names as long as the graph.
std::string joinedName(Graph const& graph, std::vector<NodeId> const& covered)
{
    constexpr std::string_view kMore{" + \u2026"};
    std::string name;
    for (NodeId const id : covered)
    {
        std::string const& next = graph.node(id).name;
        if (name.empty())
            name = next;
        else if (name.ends_with(kMore))
            return name;
        else if (name.size() + next.size() > kMostNameBytes)
            return name.append(kMore);
        else
            name += " + " + next;
    }
    return name;
}

//! Each once, in order.
std::vector<std::string> joinedOrigins(Graph const& graph, std::vector<NodeId> const& covered)
{
    std::vector<std::string> origins;
    std::unordered_set<std::string_view> known;
    for (NodeId const id : covered)
        for (std::string const& origin : graph.node(id).origins)
            if (known.insert(origin).second)
                origins.push_back(origin);
    return origins;
}
} // namespace

Result<Done> applyPatch(Graph& graph, Patch const& patch)
{
    std::map<ValueId, ValueId> ids; // From the patch's ids to the graph's.
    auto const resolved = [&](ValueId id) { return id >= Patch::kFirstNew ? ids.at(id) : id; };
    auto const at = std::find(graph.mOrder.begin(), graph.mOrder.end(), patch.mAnchor);
    TENON_ENSURE(at != graph.mOrder.end(), "the anchor of a patch is gone");
    auto position = static_cast<size_t>(at - graph.mOrder.begin());
    std::vector<NodeId> const covered = patch.mCovered.empty() ? std::vector{patch.mAnchor} : patch.mCovered;
    std::string const name = joinedName(graph, covered);
    std::vector<std::string> const origins = joinedOrigins(graph, covered);
    Graph::Size const before = graph.size();
    for (Patch::NewConstant const& constant : patch.mConstants)
        ids[constant.id] = graph.addConstant(constant.name, constant.constant);
    std::vector<NodeId> added;
    auto const undo = [&](Error error) {
        for (size_t i = added.size(); i-- > 0;)
            graph.eraseNode(added[i]);
        graph.truncate(before); // Constants, values and symbols too.
        return std::move(error).in(fmt::format("rewriting '{}'", name));
    };
    for (Patch::NewNode const& fresh : patch.mNodes)
    {
        std::vector<ValueId> inputs;
        for (ValueId const input : fresh.inputs)
            inputs.push_back(input == kNone ? kNone : resolved(input));
        // Several new nodes for one old one are told apart by a number; the last one keeps the plain name.
        bool const last = &fresh == &patch.mNodes.back();
        std::string const own = last ? name : fmt::format("{} [{}]", name, added.size());
        Result<NodeId> id = graph.insertNode(position, fresh.layer, own, std::move(inputs), origins);
        if (!id)
            return undo(std::move(id).error());
        added.push_back(*id);
        ++position;
        for (size_t i = 0; i < fresh.outputs; ++i)
            ids[fresh.first + static_cast<ValueId>(i)] = graph.node(*id).output(i);
    }
    for (auto const& [from, to] : patch.mReplacements)
        if (graph.typeOf(from) != graph.typeOf(resolved(to)))
            return undo(errorOf(ErrorCode::kINTERNAL_ERROR, "tensor '{}' of type {} would become {}",
                graph.value(from).name, graph.typeOf(from).show(), graph.typeOf(resolved(to)).show()));
    for (auto const& [from, to] : patch.mReplacements)
    {
        Value& kept = graph.mValues[static_cast<size_t>(resolved(to))];
        Value const& gone = graph.value(from);
        if (to >= Patch::kFirstNew && kept.constant == nullptr)
            kept.name = gone.name; // Messages go on speaking of the user's tensor.
        if (!kept.contents && gone.contents)
            kept.contents = gone.contents;
        graph.replaceReads(from, resolved(to));
    }
    removeDeadNodes(graph);
    return Done{};
}

bool removeDeadNodes(Graph& graph)
{
    bool any{false};
    for (size_t i = graph.mOrder.size(); i-- > 0;)
    {
        NodeId const id = graph.mOrder[i];
        Node const& node = graph.node(id);
        bool const read = std::any_of(
            node.outputs.begin(), node.outputs.end(), [&](ValueId value) { return graph.readerCount(value) > 0; });
        if (read || node.layer->hasSideEffects())
            continue;
        graph.eraseNode(id);
        any = true;
    }
    return any;
}

} // namespace tenon
