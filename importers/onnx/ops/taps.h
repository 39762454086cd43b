// Poolings as one slice per place of the window, for the forms that the engine's layer has not.
#pragma once

#include "window.h"

namespace tenon::onnx
{

//! The maxima, and where they lay in x. Of spatial axes whose extents are known.
Outputs maxByTaps(Node& node, Value const& x, WindowAttributes const& window);
Value averageByTaps(Node& node, Value const& x, WindowAttributes const& window);
Outputs importMaxUnpool(Node& node);
//! As AveragePool says it, by the node's attributes.
Value averagePool(Node& node, Value const& x);

} // namespace tenon::onnx
