// Dims: copied into vectors.
#include "base/dims.h"

#include <algorithm>

namespace tenon
{

std::vector<int64_t> extentsOf(nvinfer1::Dims64 const& dims)
{
    return {dims.d, dims.d + std::clamp(dims.nbDims, 0, +nvinfer1::Dims64::MAX_DIMS)};
}

} // namespace tenon
