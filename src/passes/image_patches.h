// Image patches: the question that rules ask of convolutions at the entry of vision transformers.
#pragma once

#include "layers/convolution.h"
#include "passes/rule.h"

namespace tenon::passes
{

//! Whether windows lie side by side, none of them over an image's edge, and the device has kernels for them as far as
//! the type of the node's result, their width and the groups go. Epilogue and channels are the asker's.
bool isOfPatches(Graph const& graph, Node const& node, Convolution const& conv, FusionLimits const& limits);

} // namespace tenon::passes
