// Loops whose condition counts.
#pragma once

#include "../extent.h"

namespace tenon::onnx
{

//! Whether the graph's value gives the input on, through Identity at most.
bool passesOn(::onnx::GraphProto const& graph, std::string name, std::string const& input);

//! How many rounds a Loop without a trip count has whose body goes on while a counter, which grows by one in each
//! round, is below a bound that stays: what exporters make of `while i < n`. None where the condition says anything
//! else.
std::optional<Extent> countedRounds(Node& node, ::onnx::GraphProto const& body, Value const& firstCondition);

} // namespace tenon::onnx
