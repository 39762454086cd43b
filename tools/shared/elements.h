// Elements: of tensors, as numbers.
#pragma once

#include "NvInfer.h"
#include "tenon/network.h"

#include <cstddef>
#include <optional>

namespace tenon::cli
{

//! The type of doubles, which the API has not.
inline constexpr nvinfer1::DataType kFloat64{static_cast<nvinfer1::DataType>(TENON_FLOAT64)};

//! Element i as a number; types that have none in C++ have none here.
std::optional<double> elementAt(nvinfer1::DataType type, char const* data, size_t i);

} // namespace tenon::cli
