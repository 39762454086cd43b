// SmallStep: products too small to fill a GPU as steps: which tiles there are, and what a layer is that they compute.
#pragma once

#include "backends/cuda/cublas_product.h"
#include "backends/cuda/small_tiles_text.h"

namespace tenon::cuda
{

inline constexpr std::array<int, 3> kTileRows{16, 64, 128};
inline constexpr std::array<int, 4> kTileParts{1, 2, 4, 8}; //!< Eight blocks are what every GPU with clusters takes.
inline constexpr int32_t kByColumns{kTileRows.size() * kTileParts.size()}; //!< The tactic without tiles.

//! Tiles that it takes to cover so many.
inline int64_t tilesOf(int64_t count, int64_t tile)
{
    return (count + tile - 1) / tile;
}
//! Rows, columns and depth at the typical shape.
struct SmallSize
{
    int64_t rows;
    int64_t columns;
    int64_t depth;
};

//! Which tiles are worth a trial: those that give every multiprocessor work, at most two blocks' where depth is shared.
std::vector<int32_t> smallTactics(SmallSize const& size, int32_t major, DType type);
//! The tile of a tactic in front of kByColumns.
inline SmallTile smallTileAt(int32_t tactic)
{
    auto const at = static_cast<size_t>(tactic);
    return {kTileRows[at / kTileParts.size()], kTileParts[at % kTileParts.size()]};
}
//! The least shared memory of a block on any GPU that new, or newer.
inline int64_t leastShared(int32_t major) noexcept
{
    return major >= 8 ? 99 << 10 : 64 << 10;
}
//! Whether a GPU has the instructions, shared memory for the tile, and clusters where blocks read each other's.
bool isTileFor(int32_t major, int64_t sharedBytes, SmallTile const& tile, DType type, bool isGated = false);

//! By the library where extents or the GPU are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> smallProduct(CudaDevice const& device, StepProduct const& product,
    bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);

//! Factors of a left operand whose rows are pixels of images.
struct ImageGate
{
    size_t input;   //!< Of the step.
    int64_t pixels; //!< Of an image.
    bool isOfAll;   //!< One for all images.

    //! The most images that so many rows are of.
    int64_t imagesOf(int64_t rows) const noexcept
    {
        return (rows - 2) / pixels + 2;
    }
    //! Whether a tile has no more images than it holds gates for.
    bool isFor(SmallTile const& tile) const noexcept
    {
        return pixels > 0 && imagesOf(tile.rows) <= SmallTile::kGateRows;
    }
};
//! By tiles, operands gated; null where extents or the GPU are others than for the tactic.
Result<std::shared_ptr<Prepared const>> gatedProduct(CudaDevice const& device, StepProduct const& product,
    ImageGate const& gate, bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);

//! The first steps of an epilogue that read nothing, or tensors that lie as the result does.
Epilogue ownSteps(Epilogue const& whole, std::span<TensorArg const> inputs, TensorArg const& out);

//! Whether the rows of a product can be windows of such an image, channels last.
bool areSmallWindows(ConvolutionShape const& layer, std::vector<int64_t> const& in);
//! A convolution whose filter is channels last, too; null where extents or the GPU are others than for the tactic.
Result<std::shared_ptr<Prepared const>> smallWindows(CudaDevice const& device, ConvolutionShape const& layer,
    bool isConstantB, std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);

} // namespace tenon::cuda
