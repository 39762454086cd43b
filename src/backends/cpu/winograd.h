// Winograd: 3 × 3 convolutions of stride 1 by the minimal filtering algorithms F(2 × 2, 3 × 3) and F(4 × 4, 3 × 3):
// products of transformed tiles take 4/9 and 1/4 of the multiplications (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2015).
#pragma once

#include "backends/cpu/gemm.h"

namespace tenon::cpu
{

//! Output pixels of a tile per side.
inline constexpr int64_t kSmallSide{2};
inline constexpr int64_t kLargeSide{4};

//! Input pixels that a tile reads per side.
inline constexpr int64_t tileIn(int64_t side) noexcept
{
    return side + 2;
}
//! Elements of a transformed tile, each of which has a product of its own.
inline constexpr int64_t tileParts(int64_t side) noexcept
{
    return tileIn(side) * tileIn(side);
}

//! Tiles are counted in the order image, line, column.
template <typename T>
struct WinogradTiles
{
    GemmWindow window;
    int64_t side{kSmallSide};
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
