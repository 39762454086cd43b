// SharedWindowsText: the kernel of 3 × 3 convolutions on Hopper as text, and its measures: each pixel comes into shared
// memory once, and the nine taps of a window are nine starts of the same operand.
#pragma once

#include "backends/cuda/kernel_text.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tenon::cuda
{

//! Results lie on a padded grid, lines of `pitch` positions one behind the other: a line has a position more than
//! results, and an image a line more, so that what is beside an image is the begin of the next line or image.
//! `lines`: what a tile's windows reach over; `xs`: the image, of stride 2 its four parts by even and odd lines and
//! columns; inverses: of pitch and of an image's lines, for divisions.
TENON_DEVICE_STRUCT(SharedWindowsParams, unsigned const* stop; void const* bias; void* y; int images; int height;
                    int width; int maps; int channels; int pitch; int lines; int stepsOfPart; int slabs; int stages;
                    int slabBytes; unsigned pitchInverse; unsigned linesInverse;
                    alignas(64) unsigned long long xs[4][16]; alignas(64) unsigned long long w[16];);

//! Extents of a convolution as the kernel has it.
struct SharedWindowsShape
{
    int64_t images;
    int64_t inHeight;
    int64_t inWidth;
    int64_t channels;
    int64_t maps;
    int64_t height; //!< Of results.
    int64_t width;
    int stride; //!< 1 or 2.

    int64_t pitch() const noexcept
    {
        return width + 1;
    }
    int64_t positions() const noexcept //!< Up to the last result.
    {
        return (images * (height + 1) - 1) * pitch() - 1;
    }
    int planes() const noexcept
    {
        return stride == 1 ? 1 : 4;
    }
};

//! Places for pixels, "slabs" of 64 channels, and for weights, "stages" of a tap.
struct SharedWindowsRoom
{
    int lines; //!< Of a slab.
    int slabBytes;
    int slabs;
    int stages;
    int sharedBytes;
};

//! A block's results: 64 maps of so many positions for each of two warpgroups. Parts, a cluster, share them out by
//! channels.
struct SharedWindowsTile
{
    static constexpr int kGroups{2};
    static constexpr int kThreads{320}; //!< A warp more copies pixels, and one weights.
    static constexpr int kMaps{64};
    static constexpr int kStep{64}; //!< Channels.
    static constexpr int kTaps{9};

    int positions; //!< A multiple of 8, up to 128.
    int parts;     //!< 1, 2, 4 or 8.

    int64_t tiles(SharedWindowsShape const& shape) const noexcept;
    int64_t blocks(SharedWindowsShape const& shape) const noexcept
    {
        return tiles(shape) * (shape.maps / kMaps) * parts;
    }
    int64_t stepsOfPart(SharedWindowsShape const& shape) const noexcept
    {
        return shape.channels / kStep / parts;
    }
    //! None: it does not have these channels and maps, or takes more than a multiprocessor has.
    std::optional<SharedWindowsRoom> room(SharedWindowsShape const& shape) const noexcept;
};

struct SharedWindowsForm
{
    SharedWindowsTile tile;
    int stride;
    std::string type; //!< Of all operands: "Half" or "Bfloat".
    bool hasBias;
    std::string epilogue; //!< As epilogueExpression gives it, of steps that take no tensors.
};

//! Kernel "sharedWindows".
std::string sharedWindowsText(SharedWindowsForm const& form);

} // namespace tenon::cuda
