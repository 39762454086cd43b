// Nodes that a stock plugin stands for, as upstream's parser has them: what no layer of the API does.
#pragma once

#include "../operators.h"

#include <utility>
#include <variant>

namespace tenon::onnx
{

using StockField = std::pair<std::string_view, std::variant<int64_t, float, std::string>>;

//! The outputs of the plugin; fails where it is not in the registry.
Outputs byStockPlugin(Node& node, char const* name, char const* version, std::vector<Value> inputs,
    std::initializer_list<StockField> fields);

} // namespace tenon::onnx
