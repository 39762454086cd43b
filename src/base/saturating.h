// Integer sums and products that stay at the least or greatest integer where they would overflow.
#pragma once

#include <cstdint>

namespace tenon
{

inline int64_t saturatingAdd(int64_t a, int64_t b) noexcept
{
    int64_t sum{0};
    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

inline int64_t saturatingMul(int64_t a, int64_t b) noexcept
{
    int64_t product{0};
    if (__builtin_mul_overflow(a, b, &product))
        return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
    return product;
}

} // namespace tenon
