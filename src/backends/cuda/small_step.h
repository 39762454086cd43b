// SmallStep: products too small to fill a GPU as steps: which tiles there are, and what a layer is that they compute.
#pragma once

#include "backends/cuda/cublas_product.h"
#include "backends/cuda/small_tiles_text.h"

namespace tenon::cuda
{

inline constexpr std::array<int, 3> kTileRows{16, 64, 128};
inline constexpr std::array<int, 4> kTileParts{1, 2, 4, 8}; //!< Eight blocks are what every GPU with clusters takes.
inline constexpr int32_t kByColumns{kTileRows.size() * kTileParts.size()}; //!< The tactic without tiles.

struct SmallChoices
{
    int32_t tactic{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "tactic", &SmallChoices::tactic)};
    }
};

//! Tiles that it takes to cover so many.
inline int64_t tilesOf(int64_t count, int64_t tile)
{
    return (count + tile - 1) / tile;
}
//! Whether a GPU has the instructions, shared memory for the tile, and clusters where blocks read each other's.
bool isTileFor(int32_t major, int64_t sharedBytes, SmallTile const& tile, DType type);

//! By the library where extents or the GPU are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> smallProduct(CudaDevice const& device, StepProduct const& product,
    bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, SmallChoices const& choices);

//! Whether the rows of a product can be windows of such an image, channels last.
bool areSmallWindows(ConvolutionShape const& layer, std::vector<int64_t> const& in);
//! A convolution whose filter is channels last, too; null where extents or the GPU are others than for the tactic.
Result<std::shared_ptr<Prepared const>> smallWindows(CudaDevice const& device, ConvolutionShape const& layer,
    bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, SmallChoices const& choices);

} // namespace tenon::cuda
