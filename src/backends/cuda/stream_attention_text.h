// StreamAttentionText: attention without masks by blocks that stay, whose heads the copy engine fetches one after the
// other (compute capability 9.0), as text.
#pragma once

#include "backends/cuda/kernel_text.h"

#include <cstdint>
#include <optional>

namespace tenon::cuda
{

//! Descriptions of q, k and v by columns, heads, rows and batches: boxes of 64 columns by 16 rows of q and of the
//! result, by all keys of k and v.
TENON_DEVICE_STRUCT(StreamAttentionParams, unsigned const* stop; int heads; int share; int matrices; int rows; int keys;
                    int rowTiles; float scale; alignas(64) unsigned long long q[16];
                    alignas(64) unsigned long long k[16]; alignas(64) unsigned long long v[16];
                    alignas(64) unsigned long long out[16];);

//! How a block works: three warpgroups have 64 rows of a head each, and each of their warps sixteen of them.
struct StreamShape
{
    static constexpr int kColumns{64};
    static constexpr int kTileRows{64};
    static constexpr int kSlotRows{16};
    static constexpr int kGroups{3};
    static constexpr int kThreads{(kGroups + 1) * 128}; //!< One of the last warpgroup copies.

    int keys;   //!< Of a head, a multiple of 16.
    int stages; //!< How many heads' keys and values there is room for.

    constexpr int sharedBytes() const noexcept
    {
        constexpr int kAlignment{1024};
        constexpr int kWarps{4 * kGroups};
        constexpr int kRow{2 * kColumns};
        return kAlignment + stages * 2 * keys * kRow + kWarps * 2 * kSlotRows * kRow + (3 * stages + kWarps) * 8;
    }
};
//! None: a warpgroup has no registers for so many keys, or none of a head's rows.
std::optional<StreamShape> streamShape(int64_t rows, int64_t keys) noexcept;

//! Kernel "stream", for heads of 64 columns; the scale is positive.
std::string streamAttentionText(std::string const& stored, StreamShape const& shape);

} // namespace tenon::cuda
