// runBody: a body evaluated by the plain loops of its layers: the meaning of loops and conditionals.
#pragma once

#include "ir/graph.h"

namespace tenon
{

//! Outputs of the body for these inputs, one per input of the body. Answers an error that names the layer which failed.
Result<std::vector<HostTensor>> runBody(Graph const& body, HostTensors const& in);

} // namespace tenon
