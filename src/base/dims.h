// Dims: extents as the public API hands them over.
#pragma once

#include "base/dtype.h" // nvinfer1::Dims64.

#include <cstdint>
#include <vector>

namespace tenon
{

//! As many as the rank says, none where it is invalid.
std::vector<int64_t> extentsOf(nvinfer1::Dims64 const& dims);

} // namespace tenon
