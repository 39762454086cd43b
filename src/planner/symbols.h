// Symbols: where the program finds the value of each symbol of the graph.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"

#include <optional>

namespace tenon::planner
{

//! A symbol's place among the network inputs.
struct InputPlace
{
    int32_t io{-1};
    int32_t index{0};
};

//! First input extent (or element of a shape-tensor input) that is the symbol; none: no input tells it.
std::optional<InputPlace> placeOf(Graph const& graph, std::vector<PlanIO> const& io, int32_t symbol);

//! Position of a name in the I/O list, −1: none.
int32_t findIO(std::vector<PlanIO> const& io, std::string_view name, bool isInput);

//! The symbols that are needed as registers, in order of their ids: `registers[id]` is the register, or −1. `source` of
//! kData symbols and all `upper` are left to the writer of the steps.
Result<std::vector<PlanSymbol>> planSymbols(Graph const& graph, std::vector<PlanIO> const& io,
    std::vector<PlanProfile> const& profiles, std::vector<bool> const& needed, std::vector<int32_t>& registers);

} // namespace tenon::planner
