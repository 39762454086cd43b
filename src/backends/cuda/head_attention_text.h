// HeadAttentionText: attention whose products are a warpgroup's (wgmma, compute capability 9.0) and whose masks are
// read by 16 bytes a thread, as text.
#pragma once

#include "backends/cuda/attention_text.h"

namespace tenon::cuda
{

//! Warpgroups of 64 rows that share the keys and values of a head.
struct HeadShape
{
    char const* kernel;
    int groups;
    int blocks; //!< That a multiprocessor has registers for.
};
inline constexpr HeadShape kHeadShapes[]{{"heads1", 1, 3}, {"heads3", 3, 1}};

//! How many keys are multiplied at once: as many as a thread has registers for, and as leave few that are not there.
int headKeys(int64_t keys, int columns, bool isMasked) noexcept;

//! Shared memory of one block, where all keys and values of a head stay.
inline int64_t headSharedBytes(HeadShape const& shape, int64_t keys, int columns) noexcept
{
    constexpr int64_t kAlignment{1024};
    int64_t const rows = 64 * (columns + 8) * 2 + 4 * 8; // Of a warpgroup, and its warps' barriers.
    return kAlignment + keys * 2 * columns * 2 + shape.groups * rows;
}

//! Of heads of 64 or 128 columns, in q, k and v alike, whose pieces of eight lie at multiples of 16 bytes; the scale is
//! positive. `mask` as in matrixAttentionText; it lies even where pieces of eight keys do so, too, at multiples of
//! their bytes. `keys`: of headKeys.
std::string headAttentionText(
    std::string const& stored, std::string const& mask, bool isMaskEven, int columns, int keys);

} // namespace tenon::cuda
