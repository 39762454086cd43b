// PointwiseStep: an expression of tensors, element by element, for layers and for what follows in the same step.
#pragma once

#include "backends/cuda/layer_kernel.h"
#include "ir/expr.h"

namespace tenon::cuda
{

//! out = body(inputs), which broadcast along extents of 1; `out` may be the memory of an input of the same extents.
//! Input i of a call is inputs[i].
Result<std::shared_ptr<Prepared const>> pointwiseStep(
    CudaDevice const& device, Expr const& body, std::span<TensorArg const> inputs, TensorArg const& out);

} // namespace tenon::cuda
