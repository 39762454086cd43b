// RowStep: an expression with reductions as a step, for layers and for what is part of another step.
#pragma once

#include "backends/cuda/layer_kernel.h"
#include "ir/expr.h"

namespace tenon::cuda
{

//! out = body(inputs), which broadcast along extents of 1; its reductions go along the same axes. Input i of a call is
//! inputs[i]; `areConstant`: which of them no kernel writes.
Result<std::shared_ptr<Prepared const>> rowStep(CudaDevice const& device, Expr const& body,
    std::span<TensorArg const> inputs, TensorArg const& out, std::vector<bool> const& areConstant);

} // namespace tenon::cuda
