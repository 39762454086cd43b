// alignConstants: constants as kernels and plans read them.
#pragma once

#include "ir/graph.h"

namespace tenon
{

//! The weights of a network lie where its user has them, which may be anywhere in a file. Those that nodes or outputs
//! of the graph and of its bodies read, at addresses that are no multiple of their elements' size, are copied to memory
//! of their own, by up to `threads` threads. Whatever has the constant sees it there; others with its memory share the
//! copy.
void alignConstants(Graph& graph, int32_t threads);

} // namespace tenon
