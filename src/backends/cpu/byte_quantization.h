// Quantization to bytes and back by one scale, found in expressions: the API has layers of it for int8 alone, and
// importers say the rest in arithmetic.
#pragma once

#include "backends/cpu/step_kernel.h"
#include "ir/expr.h"

#include <optional>

namespace tenon::cpu
{

//! The step of an expression that quantizes floats to int8 or uint8, or makes floats of them, over operands that lie
//! alike; nothing where it does something else.
std::optional<Step> byteQuantizationStep(Expr const& expr, std::span<TensorArg const> inputs, TensorArg const& out);

} // namespace tenon::cpu
