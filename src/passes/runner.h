// The runner applies the rules of the pipeline to a graph, verifies, times and logs what they do.
#pragma once

#include "base/log.h"
#include "base/progress.h"
#include "ir/decision.h"
#include "ir/fusion_limits.h"
#include "ir/graph.h"

#include <functional>
#include <string>
#include <vector>

namespace tenon
{

struct Rule;

struct OptimizeOptions
{
    FusionLimits limits;               //!< Of the device that the graph is for.
    bool isPortableOnly{false};        //!< True: nothing is fused for a device.
    bool fusion{true};                 //!< False (TENON_FUSION=off): every layer of the user stays a step.
    bool verify{kVerifyByDefault};     //!< Checks the whole graph after each pass.
    std::vector<std::string> disabled; //!< Names of rules that do not run.
    int64_t maxPatches{-1};            //!< For bisection: stops after so many patches; −1: no limit.
    Decisions* decisions{nullptr};     //!< Every patch, and every skip that has a reason.
    Progress* progress{nullptr};
    std::string progressParent;
    Log const* log{nullptr};
    //! Nodes that no rule rewrites; null: none.
    std::function<bool(Graph const&, Node const&)> spares;
    //! Called after each pass that changed something: (name of the pass, graph).
    std::function<void(std::string_view, Graph const&)> observer;

#ifdef NDEBUG
    static constexpr bool kVerifyByDefault{false};
#else
    static constexpr bool kVerifyByDefault{true};
#endif
};

//! Runs the whole pipeline, portable rows first. Inputs, outputs and their names stay; all else may change.
Result<Done> optimize(Graph& graph, OptimizeOptions const& options);

//! Takes apart the fused nodes that are not spared, into layers that users could have written.
Result<Done> undoFusions(Graph& graph, OptimizeOptions const& options);

//! One rule alone, to its fixpoint: for tests.
Result<Done> optimizeWith(Graph& graph, std::string_view rule, OptimizeOptions const& options = {});

Result<Done> optimizeWith(Graph& graph, Rule const& rule, OptimizeOptions const& options = {});

} // namespace tenon
