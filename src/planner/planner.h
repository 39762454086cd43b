// The planner turns an optimized graph into a plan: a kernel for each node, layouts, weights, the shape program,
// memory.
#pragma once

#include "backend/candidate.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/timed_tactics.h"
#include "device/device.h"
#include "ir/decision.h"
#include "ir/graph.h"
#include "plan/plan.h"
#include "planner/offer_chooser.h"
#include "planner/source_graph.h"

namespace tenon
{

//! How the offers of a plan are timed.
struct PlanTiming
{
    Device* device{nullptr}; //!< Null: they are not, estimates decide.
    int32_t rounds{1};       //!< Of which the fastest counts.
    int32_t runs{1};         //!< Per round, at least.
    KnownTimes known;
    bool inContext{false}; //!< Between offers that took nearly as long alone, runs of the network decide.
};

struct PlanOptions
{
    std::string networkName;
    //! Network I/O in binding order; inputs have the names of the graph's inputs, outputs those of Graph::outputs().
    //! `graphValue` is filled in by the planner.
    std::vector<PlanIO> io;
    //! At least one; `PlanProfileInput::io` indexes `io`. Inputs without dynamic extents may be left out.
    std::vector<PlanProfile> profiles;
    std::vector<PlanPlugin> plugins;
    std::vector<PlanCode> code; //!< What custom layers brought; kernels add theirs behind it.
    int32_t profilingVerbosity{0};
    int64_t networkLayers{0};  //!< Layers that the user's network has.
    int32_t maxAuxStreams{-1}; //!< Streams beside a run's own; −1: as the target has it.
    PlanBatch batch;
    int32_t threads{1}; //!< That build kernels side by side, and that kernels are timed with.
    PlanTiming timing;
    std::optional<SourceGraph> source; //!< The plan stores it, so that its weights can be replaced.
    OfferChooser* chooser{nullptr};    //!< Null: what costs least is taken.
    Program const* followed{nullptr};  //!< A program of the same graph, whose kernels and layouts are taken again.
    Decisions decisions;               //!< Those of the passes; the planner's follow them.
    Progress* progress{nullptr};
    std::string progressParent;
    Log const* log{nullptr};
};

//! Symbols of kind kInputExtent and kInputValue have as `source` the position of the input in Graph::inputs().
//! Where estimates decide, same graph, backend, target and options give the same plan, bit for bit.
Result<Plan> makePlan(Graph const& graph, Backend const& backend, Target const& target, PlanOptions options);

//! Values of all symbols at one point of a profile, as ShapeExpr::evaluate takes them; kData symbols take their upper
//! bound.
enum class ProfilePoint : uint8_t
{
    kMin,
    kOpt,
    kMax,
};
Result<std::vector<int64_t>> symbolValues(
    Graph const& graph, PlanOptions const& options, size_t profile, ProfilePoint point);

} // namespace tenon
