// Formats of network inputs and outputs: which ones fit a type and rank, and the layouts that they are.
#pragma once

#include "base/layout.h"
#include "base/result.h"

#include "NvInferRuntime.h"

#include <string>

namespace tenon::api
{

//! The layout of an input or output that allows these formats (bits by number): linear where it may be, else the first
//! that is for the type at the rank. Shape tensors are linear.
Result<Layout> chooseLayout(uint32_t allowed, DType type, int32_t rank, bool isShape, std::string const& tensor);
//! The format that a tensor of the layout has at the rank.
nvinfer1::TensorFormat formatOf(Layout layout, int32_t rank) noexcept;
//! For people.
char const* describe(nvinfer1::TensorFormat format) noexcept;

} // namespace tenon::api
