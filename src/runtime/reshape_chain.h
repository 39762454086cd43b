// Reshapes have no step of their own: which layer it was when two tensors that share memory differ in volume.
#pragma once

#include "runtime/engine_state.h"

namespace tenon
{

//! `view` and `root` share memory, and their volumes differ for the shapes at hand.
Error explainReshape(EngineState const& engine, int32_t view, int32_t root, std::span<Span const> registers);

} // namespace tenon
