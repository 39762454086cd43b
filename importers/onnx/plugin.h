// Nodes that stand for custom layers: which creator makes them, and what of the node it gets.
#pragma once

#include "network.h"
#include "node.h"

namespace tenon::onnx
{

//! The creator of the plugin that the node names by its operator and the attributes plugin_version (else "1") and
//! plugin_namespace (else none, then the node's domain); null when none is registered (W2).
nvinfer1::IPluginCreatorInterface* creatorFor(Network& network, ::onnx::NodeProto const& proto);

//! In words, why there is none: what of the name is registered, with which versions and namespaces.
std::string missingCreator(Network& network, ::onnx::NodeProto const& proto);

//! Whether a plugin stands for an operator that the importer knows itself (W3).
bool overridesOperator(Network const& network, ::onnx::NodeProto const& proto);

//! Whether the creator makes plugins of the type.
bool isCreatorOf(nvinfer1::IPluginCreatorInterface& creator, std::string_view type);

//! Adds the layer of the plugin.
Outputs importPlugin(Node& node, ::onnx::NodeProto const& proto, nvinfer1::IPluginCreatorInterface& creator);

} // namespace tenon::onnx
