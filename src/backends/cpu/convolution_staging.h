// Staging: images of few channels are copied between margins of zeros, so that a whole line of a window is one segment.
#pragma once

#include "backends/cpu/convolution_geometry.h"
#include "device/host/host_kernel.h"

#include <cstring>

namespace tenon::cpu
{

//! Up to so many channels.
inline constexpr int64_t kFewChannels{8};

//! Lines with margins, so that windows never leave them.
struct Staging
{
    bool isUsed{false};
    int64_t height{0};
    int64_t width{0};
    int64_t left{0};
    int64_t top{0};
};

bool wantsStaging(Geometry const& g);
//! False when padding makes the lines larger than any memory.
bool canStage(Geometry const& g);
//! Replaces the window by one on staged lines.
Staging stage(Geometry& g);

//! An image before it is staged.
template <typename T>
struct StagedFrom
{
    T const* x;
    int64_t height;
    int64_t width;
    bool isLinear; //!< Row-major, else channels-last.
};

//! Pixels of C channels, which lie `plane` elements apart.
template <int C, typename T>
void joinChannels(T const* from, int64_t plane, int64_t width, T* to)
{
    for (int64_t i = 0; i < width; ++i, to += C)
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c)
            to[c] = from[c * plane + i];
}

template <typename T>
void joinChannels(T const* from, int64_t plane, int64_t width, int64_t channels, T* to)
{
    switch (channels) // Written in order where the compiler knows how many.
    {
    case 1: return joinChannels<1>(from, plane, width, to);
    case 2: return joinChannels<2>(from, plane, width, to);
    case 3: return joinChannels<3>(from, plane, width, to);
    case 4: return joinChannels<4>(from, plane, width, to);
    default: break;
    }
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < width; ++i)
            to[i * channels + c] = from[c * plane + i];
}

//! Copies this lane's lines between their margins; `g` is the staged geometry.
template <typename T>
void copyLines(StagedFrom<T> const& from, Staging const& staging, Geometry const& g, T* staged, Lane const& lane)
{
    auto const [first, last] = lane.part(g.images * staging.height);
    auto const clear = [](T* at, T const* end) {
        std::memset(static_cast<void*>(at), 0, static_cast<size_t>(end - at) * sizeof(T));
    };
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const image = at / staging.height;
        int64_t const y = at % staging.height - staging.top;
        T* const line = staged + at * g.window.lineStride;
        T* const end = line + g.window.lineStride;
        if (y < 0 || y >= from.height)
        {
            clear(line, end);
            continue;
        }
        T* const to = line + staging.left * g.channels;
        int64_t const elements = from.width * g.channels;
        clear(line, to);
        if (from.isLinear)
            joinChannels(from.x + (image * g.channels * from.height + y) * from.width, from.height * from.width,
                from.width, g.channels, to);
        else
            std::memcpy(to, from.x + (image * from.height + y) * elements, static_cast<size_t>(elements) * sizeof(T));
        clear(to + elements, end);
    }
}

} // namespace tenon::cpu
