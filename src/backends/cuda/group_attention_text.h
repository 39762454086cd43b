// GroupAttentionText: attention whose products are a warpgroup's (wgmma, compute capability 9.0), as text.
#pragma once

#include "backends/cuda/attention_text.h"

namespace tenon::cuda
{

//! Rows of q, and keys of a tile, that a warpgroup multiplies at once.
inline constexpr int kGroupRows{64};
inline constexpr int kGroupKeys{64};

//! How the warpgroups of a block share its work: so many have rows of their own, so many keys of the same rows.
struct GroupShape
{
    char const* kernel;
    int rows;
    int keys;
    int blocks;      //!< That a multiprocessor has registers for.
    int mostColumns; //!< Of heads.
};
inline constexpr GroupShape kGroupShapes[]{
    {"rows2", 2, 1, 2, 128}, {"rows3", 3, 1, 1, 64}, {"rows1", 1, 1, 2, 128}, {"keys2", 1, 2, 1, 128}};
//! Whether the shape is for many rows; others are for few.
inline constexpr bool isForManyRows(GroupShape const& shape) noexcept
{
    return shape.rows > 1;
}

//! Shared memory of one block, where all keys and values of a head stay: kernels read each once.
inline int64_t groupSharedBytes(GroupShape const& shape, int64_t keyTiles, int columns) noexcept
{
    constexpr int64_t kAlignment{1024};
    int64_t const operands = keyTiles * kGroupKeys * 2 * columns * 2;
    int64_t const parts = shape.keys == 1 ? 0 : int64_t{shape.keys} * kGroupRows * (columns + 8 + 2) * 4;
    return kAlignment + (operands > parts ? operands : parts);
}

//! Of heads of 64 or 128 columns, in q, k and v alike, whose pieces of eight lie at multiples of 16 bytes; the scale is
//! not negative. `mask` as in matrixAttentionText.
std::string groupAttentionText(std::string const& stored, std::string const& mask, int columns);

} // namespace tenon::cuda
