// How rows of a matrix whose determinant is taken must lie.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

inline constexpr int64_t kDeterminantBlock{32}; //!< Columns that are made factors before what is left of the others.
inline constexpr int64_t kDeterminantGrain{8};  //!< Elements of the longest vectors.

//! Rows of matrices that are taken so many at a time, `kDeterminantGrain` of them; none has no rows.
inline constexpr bool isSmallDeterminant(int64_t size) noexcept
{
    constexpr int64_t kMost{8};
    return size > 0 && size <= kMost;
}

//! From row to row. Where columns are taken in vectors, which may begin at any column, there is room for one behind the
//! last; and an odd number of cache lines, so that rows lie in all parts of a cache.
inline constexpr int64_t determinantStride(int64_t size) noexcept
{
    if (size <= kDeterminantBlock)
        return size;
    return ((size + 2 * (kDeterminantGrain - 1)) / kDeterminantGrain | 1) * kDeterminantGrain;
}

} // namespace tenon::cpu
