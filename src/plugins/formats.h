// Tensor formats of the API as layouts in memory, and which of them a plugin may be offered.
#pragma once

#include "base/layout.h"
#include "base/result.h"
#include "plugins/plugin.h"

#include "NvInferRuntime.h"

#include <string_view>
#include <vector>

namespace tenon::plugins
{

std::string_view nameOf(nvinfer1::TensorFormat format) noexcept;
//! An error for the formats of accelerators that are not there.
Result<Layout> layoutOf(nvinfer1::TensorFormat format);
//! What a plugin of the generation is offered for tensors of the type at this rank, kLINEAR first. Channels are the
//! second of four or five axes. V2 and V2Ext never hear of the formats that came after them (J3).
std::vector<nvinfer1::TensorFormat> formatsOf(Generation generation, DType type, int32_t rank);

} // namespace tenon::plugins
