// Patch: recording and applying.
#include "ir/patch.h"

#include "ir/replaceable.h"

#include "base/check.h"

#include <algorithm>
#include <map>

namespace tenon
{

ValueId Patch::add(LayerPtr layer, std::vector<ValueId> inputs, size_t outputs)
{
    ValueId const first = mNext;
    mNext += static_cast<ValueId>(outputs);
    mNodes.push_back({std::move(layer), std::move(inputs), first, outputs});
    return first;
}

ValueId Patch::addFor(Node const& old, LayerPtr layer, std::vector<ValueId> inputs)
{
    ValueId const first = add(std::move(layer), std::move(inputs));
    mNodes.back().old = old.id;
    return first;
}

ValueId Patch::constant(std::string name, std::shared_ptr<Constant const> constant)
{
    mConstants.push_back({std::move(name), std::move(constant), mNext});
    return mNext++;
}

namespace
{
constexpr size_t kMaxNameBytes{1024};

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
        else if (name.size() + next.size() > kMaxNameBytes)
            return name.append(kMore);
        else
            name += " + " + next;
    }
    return name;
}

Origins joinedOrigins(Graph const& graph, std::vector<NodeId> const& covered)
{
    std::vector<Origins> parts;
    for (NodeId const id : covered)
        parts.push_back(graph.node(id).origins);
    return Origins::join(parts);
}
} // namespace

//! Erases what nobody reads, from where reads have ended backwards.
class DeadNodes
{
  public:
    explicit DeadNodes(Graph& graph)
        : mGraph{graph}
    {
    }
    //! The nodes that made what erased ones read.
    std::vector<NodeId> const& remove(std::vector<NodeId> candidates)
    {
        while (!candidates.empty())
        {
            NodeId const id = candidates.back();
            candidates.pop_back();
            if (!mGraph.isAlive(id) || !isDead(mGraph.node(id)))
                continue;
            for (ValueId const input : mGraph.node(id).inputs)
                if (Node const* const producer = mGraph.producerOf(input))
                {
                    candidates.push_back(producer->id);
                    mBefore.push_back(producer->id);
                }
            mGraph.eraseNode(id);
        }
        return mBefore;
    }

  private:
    bool isDead(Node const& node) const
    {
        return !node.layer->hasSideEffects()
            && std::ranges::none_of(node.outputs, [&](ValueId value) { return mGraph.readerCount(value) > 0; });
    }

    Graph& mGraph;
    std::vector<NodeId> mBefore;
};

class PatchApplication
{
  public:
    PatchApplication(Graph& graph, Patch const& patch)
        : mGraph{graph},
          mPatch{patch},
          mBefore{graph.size()}
    {
    }

    Result<std::vector<NodeId>> run()
    {
        TENON_ENSURE(mGraph.isAlive(mPatch.mAnchor), "the anchor of a patch is gone");
        std::vector<NodeId> const covered = mPatch.mCovered.empty() ? std::vector{mPatch.mAnchor} : mPatch.mCovered;
        mName = joinedName(mGraph, covered);
        mark(covered);
        for (Patch::NewConstant const& constant : mPatch.mConstants)
            mIds[constant.id] = mGraph.addConstant(constant.name, constant.constant);
        Result<Done> added = addNodes(joinedOrigins(mGraph, covered));
        if (added)
            added = checkTypes();
        if (!added)
        {
            undo();
            return std::move(added).error().in(fmt::format("rewriting '{}'", mName));
        }
        replace();
        std::vector<NodeId> const lessRead = DeadNodes{mGraph}.remove(mTouched);
        mTouched.insert(mTouched.end(), lessRead.begin(), lessRead.end());
        return std::move(mTouched);
    }

  private:
    //! New constants come from what the nodes read that they replace, as far as anybody can tell.
    void mark(std::span<NodeId const> covered) const
    {
        Replaceable* const replaceable = Replaceable::active();
        if (replaceable == nullptr || mPatch.mConstants.empty())
            return;
        WeightIds ids;
        for (NodeId const id : covered)
            for (ValueId const input : mGraph.node(id).inputs)
                if (Constant const* const constant = mGraph.constantOf(input))
                    ids = joined(ids, replaceable->idsOf(*constant));
        for (Patch::NewConstant const& fresh : mPatch.mConstants)
            replaceable->mark(fresh.constant, joined(ids, replaceable->idsOf(*fresh.constant)));
    }

    ValueId resolved(ValueId id) const
    {
        return id >= Patch::kFirstNew ? mIds.at(id) : id;
    }

    Result<Done> addNodes(Origins const& origins)
    {
        for (Patch::NewNode const& fresh : mPatch.mNodes)
        {
            std::vector<ValueId> inputs;
            for (ValueId const input : fresh.inputs)
                inputs.push_back(input == kNone ? kNone : resolved(input));
            // Several new nodes for one old one are told apart by a number; the last one keeps the plain name.
            bool const last = &fresh == &mPatch.mNodes.back();
            std::string own = last ? mName : fmt::format("{} [{}]", mName, mTouched.size());
            if (fresh.old != kNone)
                own = mGraph.node(fresh.old).name;
            Origins const& from = fresh.old == kNone ? origins : mGraph.node(fresh.old).origins;
            NodeId const id =
                TENON_TRY(mGraph.insertNode(mPatch.mAnchor, fresh.layer, std::move(own), std::move(inputs), from));
            mTouched.push_back(id);
            for (size_t i = 0; i < fresh.outputs; ++i)
                mIds[fresh.first + static_cast<ValueId>(i)] = mGraph.node(id).output(i);
        }
        return Done{};
    }

    Result<Done> checkTypes() const
    {
        for (auto const& [from, to] : mPatch.mReplacements)
            if (mGraph.typeOf(from) != mGraph.typeOf(resolved(to)))
                return errorOf(ErrorCode::kINTERNAL_ERROR, "tensor '{}' of type {} would become {}",
                    mGraph.value(from).name, mGraph.typeOf(from).show(), mGraph.typeOf(resolved(to)).show());
        return Done{};
    }

    //! Of constants, values and symbols too.
    void undo()
    {
        for (size_t i = mTouched.size(); i-- > 0;)
            mGraph.eraseNode(mTouched[i]);
        mGraph.truncate(mBefore);
    }

    void replace()
    {
        for (auto const& [from, to] : mPatch.mReplacements)
        {
            Value& kept = mGraph.mValues[static_cast<size_t>(resolved(to))];
            Value const& gone = mGraph.value(from);
            if (to >= Patch::kFirstNew && kept.constant == nullptr)
                kept.name = gone.name; // Messages go on speaking of the user's tensor.
            if (!kept.contents && gone.contents)
                kept.contents = gone.contents;
            for (NodeId const producer : {kept.producer, gone.producer})
                if (producer != kNone)
                    mTouched.push_back(producer);
            mGraph.replaceReads(from, resolved(to));
        }
    }

    Graph& mGraph;
    Patch const& mPatch;
    Graph::Size mBefore;
    std::string mName;
    std::map<ValueId, ValueId> mIds; //!< From the patch's ids to the graph's.
    std::vector<NodeId> mTouched;    //!< New nodes first.
};

Result<std::vector<NodeId>> applyPatch(Graph& graph, Patch const& patch)
{
    return PatchApplication{graph, patch}.run();
}

void removeDeadNodes(Graph& graph)
{
    static_cast<void>(DeadNodes{graph}.remove({graph.order().begin(), graph.order().end()}));
}

} // namespace tenon
