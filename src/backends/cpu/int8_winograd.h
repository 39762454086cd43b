// Int8Winograd: 3 × 3 convolutions of stride 1 by minimal filtering (F(2 × 2, 3 × 3), see winograd.h) in whole numbers:
// transformed tiles and kernels fit into 16 bits, the kernels being taken four times, and int32 holds their sums. For
// instruction sets that multiply pairs of 16-bit numbers; those for int8 are faster without.
#pragma once

#include "backends/cpu/int8_gemm.h"

namespace tenon::cpu
{

inline constexpr int64_t kTileOut{2}; //!< Output pixels of a tile per side.
inline constexpr int64_t kTileIn{4};  //!< Input pixels that it reads per side.
inline constexpr int64_t kTileParts{kTileIn * kTileIn};

//! Four times a sum of 9 · channels products must fit into an int32.
inline constexpr int64_t kMaxInt8TileChannels{3072};
inline constexpr int64_t kInt8TileScale{4};

//! Channels of transformed tiles and kernels are padded to whole vectors.
inline constexpr int64_t paddedChannels(int64_t channels) noexcept
{
    return (channels + kPanel - 1) / kPanel * kPanel;
}
//! 16-bit numbers of the transformed kernels: [kTileParts][maps / 16][channels / 2][16][2].
inline constexpr int64_t int8TileKernelSize(int64_t channels, int64_t maps) noexcept
{
    return kTileParts * panelsOf(maps) * paddedChannels(channels) * kPanel;
}

struct Int8Tiles3x3
{
    GemmWindow window;
    int64_t channels{0};
    int64_t maps{0};
    int64_t tilesY{0};
    int64_t tilesX{0};
    int64_t block{0}; //!< Tiles that are transformed together.
    int8_t const* in{nullptr};
    int8_t const* zeros{nullptr};   //!< As many as there are channels.
    int16_t const* kernel{nullptr}; //!< As int8TileKernelSize says.
    Int8Finish finish;              //!< Factors are those of the sums over kInt8TileScale.
};

//! Bytes of memory that a lane needs: transformed tiles, and sums of one panel.
inline constexpr int64_t int8TileScratch(int64_t channels, int64_t block) noexcept
{
    return block * kTileParts
        * (paddedChannels(channels) * static_cast<int64_t>(sizeof(int16_t))
            + kPanel * static_cast<int64_t>(sizeof(int32_t)));
}

} // namespace tenon::cpu
