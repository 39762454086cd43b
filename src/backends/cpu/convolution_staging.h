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

//! Copies this lane's lines between their margins; `g` is the staged geometry.
template <typename T>
void copyLines(StagedFrom<T> const& from, Staging const& staging, Geometry const& g, T* staged, Lane const& lane)
{
    auto const [first, last] = lane.part(g.images * staging.height);
    auto const lineBytes = static_cast<size_t>(g.window.lineStride) * sizeof(T);
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const image = at / staging.height;
        int64_t const y = at % staging.height - staging.top;
        T* const line = staged + at * g.window.lineStride;
        std::memset(static_cast<void*>(line), 0, lineBytes);
        if (y < 0 || y >= from.height)
            continue;
        T* const to = line + staging.left * g.channels;
        if (!from.isLinear)
        {
            std::memcpy(to, from.x + (image * from.height + y) * from.width * g.channels,
                static_cast<size_t>(from.width * g.channels) * sizeof(T));
            continue;
        }
        for (int64_t c = 0; c < g.channels; ++c)
        {
            T const* const plane = from.x + ((image * g.channels + c) * from.height + y) * from.width;
            for (int64_t i = 0; i < from.width; ++i)
                to[i * g.channels + c] = plane[i];
        }
    }
}

} // namespace tenon::cpu
