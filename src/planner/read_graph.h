// readGraph: the portable graph of a plan, as a graph that can be optimized and planned again.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"

#include <functional>

namespace tenon
{

//! What makes layers and constants of what a plan stores.
struct GraphParts
{
    std::function<Result<LayerPtr>(PlanNode const& node)> layer;
    //! The row-major form of a packed weight. Null: none can be unpacked.
    Result<std::shared_ptr<Constant const>> (*unpack)(
        std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes){nullptr};
};

//! Inputs stand in the order of the plan's. Types and symbols come from inputs, profiles and the layers' own rules; an
//! error where these do not give what the plan says of its outputs. Constants share the plan's memory.
Result<Graph> readGraph(Plan const& plan, GraphParts const& parts);

} // namespace tenon
