// DepthPlanes: windows over depth, lines and columns as windows over lines and columns: the planes that an output plane
// reads stand side by side in the channels of one image.
#pragma once

#include "device/host/host_kernel.h"
#include "layers/convolution.h"

#include <cstring>
#include <vector>

namespace tenon::cpu
{

struct DepthPlanes
{
    int64_t images{0};
    int64_t depth{0};
    int64_t pixels{0}; //!< Of a plane.
    int64_t outDepth{0};
    int64_t groups{1};
    int64_t channels{0};          //!< Of a group.
    int64_t taps{1};              //!< Planes that an output plane reads.
    std::vector<int64_t> sources; //!< Of each output plane, its taps' planes; -1: zeros.
    bool isAsItIs{false};         //!< Each output plane reads the one plane of its number.

    //! Of a convolution; `in` and `out` are [n, c, d, h, w].
    static DepthPlanes ofConvolution(
        Window const& window, int64_t groups, std::vector<int64_t> const& in, std::vector<int64_t> const& out);
    //! Of a deconvolution: strides leave planes of zeros between those of the input.
    static DepthPlanes ofDeconvolution(
        Window const& window, int64_t groups, std::vector<int64_t> const& in, std::vector<int64_t> const& out);

    //! Channels of a pixel of the images that are made: by group, tap and channel.
    int64_t width() const noexcept
    {
        return groups * taps * channels;
    }
    //! Elements of all images that are made; 0: the input serves.
    int64_t elements() const noexcept
    {
        return isAsItIs ? 0 : images * outDepth * pixels * width();
    }
    //! Whether they fit any memory.
    bool isAddressable() const noexcept;
};

//! Copies this lane's pixels of a channels-last tensor.
template <typename T>
void copyPlanes(DepthPlanes const& planes, T const* x, T* to, Lane const& lane)
{
    int64_t const all = planes.groups * planes.channels;
    auto const [first, last] = lane.part(planes.images * planes.outDepth * planes.pixels);
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const image = at / planes.pixels / planes.outDepth;
        int64_t const out = at / planes.pixels % planes.outDepth;
        T* pixel = to + at * planes.width();
        for (int64_t group = 0; group < planes.groups; ++group)
            for (int64_t tap = 0; tap < planes.taps; ++tap, pixel += planes.channels)
            {
                int64_t const source = planes.sources[static_cast<size_t>(out * planes.taps + tap)];
                auto const bytes = static_cast<size_t>(planes.channels) * sizeof(T);
                int64_t const from = (image * planes.depth + source) * planes.pixels + at % planes.pixels;
                if (source < 0)
                    std::memset(static_cast<void*>(pixel), 0, bytes);
                else
                    std::memcpy(pixel, x + from * all + group * planes.channels, bytes);
            }
    }
}

} // namespace tenon::cpu
