// StridedCopy: elements moved from one arrangement of memory to another by one kernel per element size.
#pragma once

#include "backends/cuda/layer_kernel.h"

namespace tenon::cuda
{

//! One loop of a copy; strides in elements, 0 to repeat, negative to go backwards.
struct CopyAxis
{
    int64_t extent{1};
    int64_t from{0};
    int64_t to{0};
};

//! Out of one input, into output 0; offsets in elements.
struct CopyPart
{
    size_t input{0};
    std::vector<CopyAxis> axes;
    int64_t fromOffset{0};
    int64_t toOffset{0};
};

//! A step that does all parts; `elementBytes` is 1, 2, 4 or 8.
Result<std::shared_ptr<Prepared const>> stridedCopies(
    CudaDevice const& device, int32_t elementBytes, std::vector<CopyPart> const& parts);

} // namespace tenon::cuda
