// Winograd: 3 × 3 convolutions of stride 1 by the minimal filtering algorithm F(2 × 2, 3 × 3): sixteen products of
// transformed tiles take 4/9 of the multiplications (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2015).
#pragma once

#include "backends/cpu/gemm.h"

namespace tenon::cpu
{

inline constexpr int64_t kTileOut{2}; //!< Output pixels of a tile per side.
inline constexpr int64_t kTileIn{4};  //!< Input pixels that it reads per side.
inline constexpr int64_t kTileParts{kTileIn * kTileIn};

//! Tiles are counted in the order image, line, column.
template <typename T>
struct WinogradTiles
{
    GemmWindow window;
    T const* zeros{nullptr}; //!< As many as there are channels: what lies outside of the image.
    int64_t channels{0};
    int64_t maps{0};
    int64_t tilesY{0};
    int64_t tilesX{0};
    T const* in{nullptr};
    T* out{nullptr};
    T const* bias{nullptr};
    T const* residual{nullptr};
    int64_t residualStride{0};
    float low{0.0F};
    float high{0.0F};
    GemmStep<T> const* steps{nullptr};
    int64_t stepCount{0};
};

} // namespace tenon::cpu
