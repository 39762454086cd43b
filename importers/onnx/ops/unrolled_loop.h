// Loops that carry sequences.
#pragma once

#include "../node.h"

namespace tenon::onnx
{

//! Rounds that carry sequences, whose lengths differ from round to round, stand one behind the other in the network:
//! how many they are must be known at import.
Outputs importUnrolled(Node& node);

} // namespace tenon::onnx
