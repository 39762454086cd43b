// The runner: rows of the pipeline to their fixpoints.
#include "passes/runner.h"

#include "base/cancellation.h"
#include "ir/verify.h"
#include "passes/rule.h"
#include "passes/surroundings.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <set>

namespace tenon
{

namespace
{
// Rules that undo each other must not hang a build: so often may the graph be gone through, and nodes that a patch made
// be rewritten, and what comes of that.
constexpr int32_t kMaxSweeps{64};
constexpr uint8_t kMaxRewrites{64};
constexpr char const* kPhase{"Optimizing"};

std::string_view wordFor(RuleKind kind)
{
    switch (kind)
    {
    case RuleKind::kFuse: return "fuse";
    case RuleKind::kFold: return "fold";
    case RuleKind::kUndo: return "undo";
    default: return "simplify";
    }
}

class Runner
{
  public:
    Runner(Graph& graph, OptimizeOptions const& options)
        : mGraph{graph},
          mOptions{options}
    {
    }

    Result<Done> runRow(PassRow const& row)
    {
        removeDeadNodes(mGraph);
        auto const start = std::chrono::steady_clock::now();
        int64_t const before = mPatches;
        mCounts.clear();
        mRewrites.clear();
        for (int32_t sweep = 0; sweep < kMaxSweeps; ++sweep)
            if (!TENON_TRY(runSweep(row)))
                break;
        if (mOptions.observer && mPatches != before)
            mOptions.observer(row.name, mGraph);
        if (mOptions.verify)
        {
            Result<Done> sound = verify(mGraph);
            if (!sound)
                return std::move(sound).error().in(fmt::format("after pass '{}'", row.name));
        }
        std::chrono::duration<double, std::milli> const spent = std::chrono::steady_clock::now() - start;
        summarise(row, spent.count());
        return runBodies(row);
    }

    Result<Done> runAll()
    {
        std::vector<PassRow> rows{portableRows().begin(), portableRows().end()};
        if (!mOptions.isPortableOnly)
            rows.insert(rows.end(), targetRows().begin(), targetRows().end());
        if (mOptions.progress != nullptr)
            mOptions.progress->phaseStart(kPhase, mOptions.progressParent, static_cast<int32_t>(rows.size()));
        Result<Done> result = runRows(rows);
        if (mOptions.progress != nullptr)
            mOptions.progress->phaseFinish(kPhase);
        return result;
    }

  private:
    Result<Done> runRows(std::span<PassRow const> rows)
    {
        for (size_t i = 0; i < rows.size(); ++i)
        {
            TENON_TRY(runRow(rows[i]));
            if (mOptions.progress != nullptr && !mOptions.progress->stepComplete(kPhase, static_cast<int32_t>(i)))
                return cancelled();
        }
        return Done{};
    }

    //! Bodies are graphs like any other. Operands that have become constants are constants inside, too.
    Result<Done> runBodies(PassRow const& row)
    {
        for (NodeId const id : mGraph.order())
        {
            Node const& node = mGraph.node(id);
            size_t before{0};
            for (BodyPtr const& body : node.layer->bodies())
            {
                LoopForm const* const loop = node.layer->loopForm();
                for (size_t i = loop == nullptr ? 0 : loop->capturedInput(); i < body->inputs().size(); ++i)
                {
                    ValueId const operand = node.input(operandOfBodyInput(loop, before, i));
                    if (operand != kNone && mGraph.constantOf(operand) != nullptr)
                        body->bindInput(i, mGraph.value(operand).constant);
                }
                before += body->inputs().size();
                std::unique_ptr<Runner>& inside = mBodies[body.get()];
                if (inside == nullptr)
                    inside = std::make_unique<Runner>(*body, mOptions);
                TENON_TRY(inside->runRow(row));
            }
        }
        return Done{};
    }

    bool isOn(Rule const& rule) const
    {
        return (mOptions.fusion || rule.kind == RuleKind::kFold || rule.kind == RuleKind::kUndo)
            && std::find(mOptions.disabled.begin(), mOptions.disabled.end(), rule.name) == mOptions.disabled.end();
    }

    //! Each patch is a decision of its own.
    static bool isNoted(Rule const& rule)
    {
        return rule.kind == RuleKind::kFuse || rule.kind == RuleKind::kUndo;
    }

    //! All nodes, then, as long as something changes, those around the changes; false when all stayed as it was.
    Result<bool> runSweep(PassRow const& row)
    {
        std::vector<Rule const*> rules;
        for (Rule const& rule : row.rules)
            if (isOn(rule))
                rules.push_back(&rule);
        int64_t const before = mPatches;
        std::vector<NodeId> nodes{mGraph.order().begin(), mGraph.order().end()};
        while (!nodes.empty())
        {
            mTouched.clear();
            for (NodeId const id : nodes)
                TENON_TRY(visit(rules, id));
            nodes = passes::surroundings(mGraph, mTouched);
        }
        return mPatches != before;
    }

    Result<Done> visit(std::vector<Rule const*> const& rules, NodeId id)
    {
        for (Rule const* const rule : rules)
        {
            if (!mGraph.isAlive(id) || mPatches == mOptions.maxPatches || rewritesOf(id) >= kMaxRewrites)
                break;
            cancellationPoint();
            TENON_TRY(tryFenced(*rule, id));
        }
        return Done{};
    }

    uint8_t rewritesOf(NodeId id) const
    {
        return static_cast<size_t>(id) < mRewrites.size() ? mRewrites[static_cast<size_t>(id)] : uint8_t{0};
    }

    //! A rule that throws ends the build, not the process; the graph may be half edited then.
    Result<Done> tryFenced(Rule const& rule, NodeId id)
    {
        try
        {
            tryRule(rule, id);
            return Done{};
        }
        catch (std::bad_alloc const&)
        {
            throw; // Not the rule's fault: the fence of the public call has the word for it.
        }
        catch (std::exception const& problem)
        {
            std::string const name = mGraph.isAlive(id) ? mGraph.node(id).name : "?";
            return errorOf(
                ErrorCode::kINTERNAL_ERROR, "[layer '{}'] rule '{}' failed: {}", name, rule.name, problem.what());
        }
    }

    Rewrite ask(Rule const& rule, Node const& node) const
    {
        if (auto const* portable = std::get_if<PortableRule>(&rule.apply))
            return (*portable)(mGraph, node);
        return std::get<TargetRule>(rule.apply)(mGraph, node, mOptions.limits);
    }

    //! Fields of fused layers are floats, and nothing fused computes in double.
    bool mayFuse(Node const& node) const
    {
        auto const isDouble = [&](ValueId value) { return value != kNone && mGraph.typeOf(value).dtype == kFloat64; };
        return std::ranges::none_of(node.inputs, isDouble) && std::ranges::none_of(node.outputs, isDouble);
    }

    void tryRule(Rule const& rule, NodeId id)
    {
        Node const& node = mGraph.node(id);
        if (rule.kind == RuleKind::kFuse && !mayFuse(node))
            return;
        Rewrite const rewrite = ask(rule, node);
        if (auto const* skipped = std::get_if<Skip>(&rewrite))
            return noteSkip(rule, node, skipped->reason);
        if (mOptions.spares && mOptions.spares(mGraph, node))
            return;
        std::string const name = node.name;
        NodeId const firstNew = mGraph.nodeIdEnd();
        Result<std::vector<NodeId>> const applied = applyPatch(mGraph, std::get<Patch>(rewrite));
        if (!applied) // A rule that proposes what does not fit loses its chance; the graph is as it was.
            return noteSkip(rule, node, applied.error().message);
        auto const rewrites = static_cast<uint8_t>(rewritesOf(id) + 1);
        mRewrites.resize(static_cast<size_t>(mGraph.nodeIdEnd()), 0);
        std::fill(mRewrites.begin() + firstNew, mRewrites.end(), rewrites);
        mTouched.insert(mTouched.end(), applied->begin(), applied->end());
        ++mPatches;
        ++mCounts[rule.name];
        if (isNoted(rule))
            note(wordFor(rule.kind), name, std::string{rule.name});
    }

    void noteSkip(Rule const& rule, Node const& node, std::string const& reason)
    {
        if (!reason.empty() && mSkips.insert({rule.name, node.name, reason}).second)
            note("skip", node.name, fmt::format("{}: {}", rule.name, reason));
    }

    void note(std::string_view kind, std::string layer, std::string text)
    {
        if (mOptions.decisions != nullptr)
            mOptions.decisions->push_back({std::string{kind}, std::move(layer), std::move(text)});
    }

    void summarise(PassRow const& row, double milliseconds)
    {
        for (Rule const& rule : row.rules)
            if (!isNoted(rule) && mCounts.count(rule.name) != 0)
                note(wordFor(rule.kind), "", fmt::format("{}: {} times", rule.name, mCounts[rule.name]));
        if (mOptions.log == nullptr)
            return;
        std::string text;
        for (auto const& [name, count] : mCounts)
            text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, name);
        mOptions.log->verbose(fmt::format("pass '{}': {:.1f} ms, {} layers, {}", row.name, milliseconds,
            mGraph.order().size(), text.empty() ? "nothing to do" : text));
    }

    Graph& mGraph;
    OptimizeOptions const& mOptions;
    int64_t mPatches{0};
    std::vector<NodeId> mTouched;   //!< By patches since the last selection of nodes.
    std::vector<uint8_t> mRewrites; //!< By node: how many patches led to it, each from what the one before made.
    std::map<std::string_view, int32_t> mCounts;
    std::set<std::tuple<std::string_view, std::string, std::string>> mSkips;
    std::map<Graph const*, std::unique_ptr<Runner>> mBodies;
};
} // namespace

Result<Done> optimize(Graph& graph, OptimizeOptions const& options)
{
    return Runner{graph, options}.runAll();
}

Result<Done> undoFusions(Graph& graph, OptimizeOptions const& options)
{
    return Runner{graph, options}.runRow(undoing());
}

Result<Done> optimizeWith(Graph& graph, std::string_view rule, OptimizeOptions const& options)
{
    for (std::span<PassRow const> const rows : {portableRows(), targetRows(), std::span{&undoing(), 1}})
        for (PassRow const& row : rows)
            for (Rule const& each : row.rules)
                if (each.name == rule)
                    return optimizeWith(graph, each, options);
    return badArgument("there is no rule '{}'", rule);
}

Result<Done> optimizeWith(Graph& graph, Rule const& rule, OptimizeOptions const& options)
{
    return Runner{graph, options}.runRow({rule.name, {&rule, 1}});
}

} // namespace tenon
