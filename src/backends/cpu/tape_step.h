// TapeStep: a pointwise expression over tensors of given shapes, made ready for the tape machine.
#pragma once

#include "codegen/tape.h"
#include "device/kernel.h"

#include <memory>
#include <span>

namespace tenon::cpu
{

//! Operands broadcast along extents of 1; those of another rank than the output's have one element.
Result<std::shared_ptr<Prepared const>> makeTapeStep(
    Expr const& body, std::span<TensorArg const> inputs, TensorArg const& out);

//! Rough work of an expression per element, in multiplications.
double workOf(Tape const& tape);

} // namespace tenon::cpu
