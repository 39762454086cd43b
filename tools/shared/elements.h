// Elements: of tensors, as numbers.
#pragma once

#include "NvInfer.h"

#include <cstddef>
#include <optional>

namespace tenon::cli
{

//! Element i as a number; types that have none in C++ have none here.
std::optional<double> elementAt(nvinfer1::DataType type, char const* data, size_t i);

} // namespace tenon::cli
