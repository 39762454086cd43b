// Quantization by ranges: layers that compute in int8 in weakly typed networks, as Quantize and Dequantize around them.
#pragma once

#include "api/build/calibration_cache.h"
#include "api/network/network.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tenon::api
{

//! What precisions say of layers, by name: asked for in int8, or in another type.
struct QuantizedLayers
{
    std::set<std::string, std::less<>> wanted;
    std::set<std::string, std::less<>> spared;
};

//! Whether the node has one of these layers in it.
bool isNamed(Node const& node, std::set<std::string, std::less<>> const& names);
//! Ranges that the user has set.
Scales scalesOf(Network& network);
//! Values whose ranges int8 needs: what convolutions and products with weights read, and what layers that are asked for
//! in int8 read. Each once, by the names that they have in the graph.
std::vector<std::string> valuesToCalibrate(Graph const& graph, QuantizedLayers const& layers);
//! Gives values that share a name names of their own, the same in all graphs of one network: ranges are found by name,
//! and layers of one name make tensors of one name. The answer has each new name with the one before.
std::map<std::string, std::string> nameApart(Graph& graph);
//! A debug tensor of its name before the first reader of each of the values.
Result<Done> observe(Graph& graph, std::vector<std::string> const& names);
//! Puts Quantize and Dequantize before those layers; weights get a scale per channel of the result. What a sum reads
//! beside is read quantized, too. The answer names the values that have no scale: their layers stay as they are.
Result<std::vector<std::string>> quantizeGraph(Graph& graph, Scales const& scales, QuantizedLayers const& layers);

} // namespace tenon::api
