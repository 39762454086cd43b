// IntegerReduction: sums, products, extremes and means of integers along one axis of three.
#pragma once

#include "backends/cpu/spatial.h"
#include "base/dtype.h"

#include <cstdint>

namespace tenon::cpu
{

//! out[o, i] = in[o, 0, i] and in[o, 1, i] and … Sums and products wrap.
struct IntegerReduction
{
    ReductionKind kind{ReductionKind::kSum};
    bool isMean{false}; //!< Of kSum: divided by the length, towards zero.
    DType type{DType::kINT32};
    void const* in{nullptr};
    void* out{nullptr};
    int64_t length{1};
    int64_t inner{1};
};

//! Outputs [firstOuter, lastOuter) x [firstInner, lastInner).
struct ReductionShare
{
    int64_t firstOuter{0};
    int64_t lastOuter{0};
    int64_t firstInner{0};
    int64_t lastInner{0};
};

} // namespace tenon::cpu
