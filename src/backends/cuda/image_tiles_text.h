// ImageTilesText: the kernel of first convolutions as text, with what is done to images in front and results behind,
// and its measures.
#pragma once

#include "backends/cuda/kernel_text.h"

#include <algorithm>
#include <string>

namespace tenon::cuda
{

//! Strides of x in elements: image, channel, row, column. Products are what is pooled.
TENON_DEVICE_STRUCT(ImageTilesParams, unsigned const* stop; void const* x; void const* w; void const* bias; void* y;
                    int hasConstantWeights; int hasBias; int hasWideResults; int height; int width; int productHeight;
                    int productWidth; int outHeight; int outWidth; int padY; int padX; int poolPadY; int poolPadX;
                    int across; int down; int tiles; int groups; int xStrides[4];);

struct ImageTilesForm
{
    static constexpr int kSide{16}; //!< Of a tile of products.
    static constexpr int kThreads{128};
    static constexpr int kPixel{4}; //!< Channels in shared memory, the last ones zeros.

    int channels{0};
    int maps{0};
    int size[2]{};
    int stride[2]{};
    int poolSize[2]{1, 1};
    int poolStride[2]{1, 1};
    std::string source; //!< Of the image.
    std::string type;   //!< Of weights and results.
    std::string epilogue;
    bool isByWarpgroup{false}; //!< Hopper's products, whose weights lie in shared memory; columns two pixels apart.

    int mapsOfBlock() const noexcept
    {
        return maps <= 32 ? 32 : 64;
    }
    bool isPooled() const noexcept
    {
        return poolSize[0] * poolSize[1] * poolStride[0] * poolStride[1] > 1;
    }
    //! Two pixels of a row of the window are a chunk.
    int chunksOfRow() const noexcept
    {
        return (size[1] + 1) / 2;
    }
    //! Sixteens of products.
    int steps() const noexcept
    {
        return (size[0] * chunksOfRow() + 1) / 2;
    }
    //! Results of a tile on an axis.
    int resultsOfTile(int axis) const noexcept
    {
        return (kSide - poolSize[axis]) / poolStride[axis] + 1;
    }
    //! While one loads its pixels or pools, others multiply.
    int blocksOfMultiprocessor() const noexcept
    {
        constexpr int kSharedOfAll{227 * 1024};
        constexpr int kReserved{1024};
        if (!isByWarpgroup)
            return steps() <= 8 ? 4 : 2; // Weights stay in registers.
        return std::clamp(kSharedOfAll / (sharedBytes() + kReserved), 1, isPooled() ? 3 : 5);
    }
    int sharedBytes() const noexcept
    {
        int const rows = (kSide - 1) * stride[0] + size[0];
        int const columns = (kSide - 1) * stride[1] + 2 * chunksOfRow();
        int const products = isPooled() ? kSide * kSide * mapsOfBlock() : 0;
        int const weights = mapsOfBlock() * (steps() * 16 + (isByWarpgroup ? 0 : 8));
        int const both = isByWarpgroup ? weights + products : std::max(weights, products);
        return 2 * (rows * columns * kPixel + both);
    }
};

//! Kernel "imageTiles" for blocks of kThreads threads.
std::string imageTilesText(ImageTilesForm const& form);

} // namespace tenon::cuda
