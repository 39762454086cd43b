// FewChannelsText: the kernel of convolutions of few channels as text, and its measures.
#pragma once

#include "backends/cuda/epilogue_text.h"

namespace tenon::cuda
{

//! Strides of x in elements: image, channel, row, column.
TENON_DEVICE_STRUCT(FewChannelsParams, unsigned const* stop; void const* x; void const* w; void const* bias; void* y;
                    int hasConstantWeights; int hasBias; int height; int width; int outHeight; int outWidth; int padY;
                    int padX; int across; int down; int tiles; int groups; int hasWideWeights; int hasWideResults;
                    long long xStrides[4]; EpilogueOperand extra[4];);

struct FewChannelsForm
{
    static constexpr int kTileRows{8}; //!< Of results; a warp has two.
    static constexpr int kTileColumns{16};

    int channels;
    int maps;
    int size[2];
    int stride[2];

    //! Channels of a pixel in shared memory: a pair of elements is one word.
    int paddedChannels() const noexcept
    {
        return channels <= 2 ? 2 : 4;
    }
    int mapsOfBlock() const noexcept
    {
        return maps <= 16 ? 16 : maps <= 32 ? 32 : 64;
    }
    //! That one thread stores of a pixel in one piece.
    int mapsOfThread() const noexcept
    {
        return mapsOfBlock() == 16 ? 4 : 8;
    }
    //! Products of a result, in sixteens.
    int depth() const noexcept
    {
        return (size[0] * size[1] * paddedChannels() + 15) / 16 * 16;
    }
    int64_t sharedBytes() const noexcept
    {
        int64_t const rows = (kTileRows - 1) * stride[0] + size[0];
        int64_t const columns = (kTileColumns - 1) * stride[1] + size[1];
        return 2 * (int64_t{mapsOfBlock()} * (depth() + 8) + rows * columns * paddedChannels());
    }
};

//! Kernel "fewChannels" for blocks of 128 threads; `epilogue` as epilogueText gives it.
std::string fewChannelsText(FewChannelsForm const& form, std::string const& stored, std::string const& epilogue);

} // namespace tenon::cuda
