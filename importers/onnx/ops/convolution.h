// Convolution, for the operators that compute one of other operands than their own.
#pragma once

#include "../operators.h"

namespace tenon::onnx
{

//! By the node's attributes. The bias may be absent.
Value convolve(Node& node, Value const& x, Value const& kernel, Value const& bias);

//! Each channel with a kernel of its own, [channels, 1, …]; by the node's attributes but for the groups.
Value convolveChannels(Node& node, Value const& x, Value const& kernel);

} // namespace tenon::onnx
