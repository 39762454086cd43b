// What layers with an epilogue share: rules for its fields and inputs, and its part of the reference.
#pragma once

#include "ir/layer.h"
#include "layers/check.h"
#include "layers/epilogue.h"

namespace tenon
{

Result<Done> verifyEpilogue(Epilogue const& epilogue);
//! Extra inputs [first, …) are there, of `type`'s element type, and broadcast to its shape.
Result<Done> checkExtras(
    Inputs const& in, std::string_view kind, Epilogue const& epilogue, int32_t first, TensorType const& type);
//! The steps on a tensor whose numbers are not yet rounded to `type`; rounds at the end.
Result<HostTensor> applyEpilogue(
    Epilogue const& epilogue, DType type, HostTensor const& unrounded, HostTensors const& in, int32_t first);

} // namespace tenon
