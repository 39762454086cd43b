// DepthwiseText: the kernels of depthwise convolutions as text, and which of them a window has.
#pragma once

#include "backends/cuda/epilogue_text.h"
#include "layers/convolution.h"

namespace tenon::cuda
{

TENON_DEVICE_STRUCT(DepthwiseParams, unsigned const* stop; void const* x; void const* w; void const* bias; void* y;
                    int hasConstantWeights; int hasBias; int height; int width; int channels; int outHeight;
                    int outWidth; int padY; int padX; int rows; int lanes; int strips; int across; int down; int slices;
                    int groups; EpilogueOperand extra[4];);

enum class DepthwiseKind : uint8_t
{
    kWindow,  //!< A thread makes neighbouring results of one row.
    kSliding, //!< A thread goes down the image.
    kStaged,  //!< The same, over a tile of the image in shared memory; types of 16 bits.
};

//! One way of doing it: a kernel, and how many columns a thread makes.
struct DepthwiseWay
{
    char const* kernel;
    int columns;
    DepthwiseKind kind;

    bool slides() const noexcept
    {
        return kind != DepthwiseKind::kWindow;
    }
};

inline constexpr int64_t kMaxDepthwiseColumns{31}; //!< Of a window: the inputs of a strip are bits of a word.

//! Beyond it the rows of a window come one after the other.
inline constexpr int64_t kMaxTapsInRegisters{25};

//! Windows on two axes; one axis has a window of 1 in front.
struct DepthwiseWindow
{
    int64_t size[2]{1, 1};
    int64_t stride[2]{1, 1};
    int64_t dilation[2]{1, 1};

    explicit DepthwiseWindow(Window const& window)
    {
        for (size_t axis = 0; axis < window.rank() && axis < 2; ++axis)
        {
            size_t const at = axis + 2 - std::min<size_t>(window.rank(), 2);
            size[at] = window.size[axis];
            stride[at] = window.stride[axis];
            dilation[at] = window.dilation[axis];
        }
    }
    int64_t taps() const noexcept
    {
        return size[0] * size[1];
    }
    //! Columns of input that so many columns of results read.
    int64_t inputs(int64_t columns) const noexcept
    {
        return (columns - 1) * stride[1] + (size[1] - 1) * dilation[1] + 1;
    }
    bool isSmall() const noexcept
    {
        return taps() <= kMaxTapsInRegisters && inputs(2) <= 12;
    }
    bool slides() const noexcept
    {
        return isSmall() && dilation[0] == 1 && dilation[1] == 1 && stride[0] <= size[0] && inputs(4) <= 16;
    }
    //! Channels of one thread: the more taps, the fewer.
    int vector() const noexcept
    {
        return taps() <= 9 || !isSmall() ? 4 : 2;
    }
    std::span<DepthwiseWay const> ways(DType type) const noexcept;
};

//! Tiles in shared memory: two channels of a thread, eight of a copy.
inline constexpr int kStagedPair{2};
inline constexpr int kStagedPiece{8};
inline constexpr int kMaxStagedThreads{384};

//! The kernels of all ways but the staged, and "odd" for channels and addresses that are no multiples.
Result<std::string> depthwiseText(Convolution const& layer, DType type);
//! The staged kernels, for so many pairs of channels a block.
Result<std::string> stagedText(Convolution const& layer, DType type, int lanes);

} // namespace tenon::cuda
