// Symbols: where the program finds the value of each symbol of the graph.
#pragma once

#include "ir/graph.h"
#include "plan/plan.h"

#include <optional>
#include <string_view>
#include <unordered_map>

namespace tenon::planner
{

//! A symbol's place among the network inputs.
struct InputPlace
{
    int32_t io{-1};
    int32_t index{0};
};

//! Positions in the I/O list by name. The list must outlive it, and its names stay.
class BindingIndex
{
  public:
    explicit BindingIndex(std::vector<PlanIO> const& io);
    //! −1: none.
    int32_t input(std::string_view name) const;
    int32_t output(std::string_view name) const;

  private:
    std::unordered_map<std::string_view, int32_t> mInputs;
    std::unordered_map<std::string_view, int32_t> mOutputs;
};

//! By symbol: the first input extent (or element of a shape-tensor input) that is the symbol; none: no input is.
std::vector<std::optional<InputPlace>> placesOfSymbols(Graph const& graph, std::vector<PlanIO> const& io);

//! The symbols that are needed as registers, in order of their ids: `registers[id]` is the register, or −1. `source` of
//! kData symbols and all `upper` are left to the writer of the steps.
Result<std::vector<PlanSymbol>> planSymbols(Graph const& graph, std::vector<PlanIO> const& io,
    std::vector<PlanProfile> const& profiles, std::vector<bool> const& needed, std::vector<int32_t>& registers);

} // namespace tenon::planner
