// Operators that meant something else before opset 9.
#pragma once

#include "node.h"

namespace tenon::onnx
{

//! Fails when the node would be read by rules that came after its opset.
void refuseOldMeaning(Node const& node);

} // namespace tenon::onnx
