// Layers that stand for a stock plugin in the graph of a network.
#pragma once

#include "ir/graph.h"
#include "plugins/plugin.h"

#include <optional>

namespace tenon::api
{

//! What a plugin is to be written as: its object, the layer's name, and its ports as they were agreed.
struct StockRequest
{
    plugins::Plugin& plugin;
    std::string const& name;
    plugins::Ports const& ports; //!< Extents that are not known are −1.
    std::vector<ValueId> inputs; //!< Of the types of the ports.
};

//! The values of its outputs, or why the plugin stays as it is.
struct StockLayers
{
    std::vector<ValueId> outputs;
    std::string why;
};

//! Nothing is written where the plugin stays. None: it is no stock plugin, or one whose work the user has taken over.
Result<std::optional<StockLayers>> addStockLayers(Graph& graph, StockRequest const& request);

} // namespace tenon::api
