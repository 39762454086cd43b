// Extents as the Dims of a layer's fields.
#pragma once

#include "NvInferRuntimeBase.h"

#include <vector>

namespace tenon::test
{

inline nvinfer1::Dims extentsAsDims(std::vector<int64_t> const& values)
{
    nvinfer1::Dims dims{};
    dims.nbDims = static_cast<int32_t>(values.size());
    for (size_t i = 0; i < values.size(); ++i)
        dims.d[i] = values[i];
    return dims;
}

} // namespace tenon::test
