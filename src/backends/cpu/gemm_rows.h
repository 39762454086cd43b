// RowLocator: where the rows of a product's tiles lie, in a matrix or as windows of an image. Included by one file that
// is compiled once per instruction set.
#pragma once

#include "backends/cpu/gemm_tiles.h"

#include <algorithm>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! The rows of one tile.
template <typename T>
struct Located
{
    T const* pointers[kMaxSegments * kMaxTileRows];
    uint8_t active[kMaxSegments];
    int64_t activeCount;
    int64_t rowStride{0}; //!< Of equally distant rows, of which `pointers` has the first: from one to the next.
};

//! Whether no window leaves the image.
bool staysInside(GemmWindow const& w)
{
    return w.padTop == 0 && w.padLeft == 0
        && (w.outHeight - 1) * w.strideY + (w.kernelHeight - 1) * w.dilationY < w.inHeight
        && (w.outWidth - 1) * w.strideX + (w.kernelWidth - 1) * w.dilationX < w.inWidth;
}

//! Where the segments of rows are; those that lie outside for all rows of a tile are left out.
template <typename T>
class RowLocator
{
  public:
    explicit RowLocator(Gemm<T> const& gemm)
        : mGemm{gemm},
          mIsInside{gemm.window != nullptr && staysInside(*gemm.window)}
    {
    }
    //! How many tiles of `height` rows from `row` on, before `last`, have rows that are equally far apart, and no
    //! window that leaves its line; and where the first of them lies.
    int64_t locateEven(int64_t row, int64_t last, int32_t height, Located<T>& located) const
    {
        if constexpr (!kIsFloat<T>)
            return 0;
        Gemm<T> const& g = mGemm;
        if (g.window != nullptr)
            return locateLine(*g.window, row, last, height, located);
        located.pointers[0] = g.a + row * g.aStride;
        located.rowStride = g.aStride;
        located.active[0] = 0;
        located.activeCount = 1;
        return (last - row) / height;
    }
    //! Of any rows [row, row + count).
    void locate(int64_t row, int32_t count, Located<T>& located) const
    {
        Gemm<T> const& g = mGemm;
        if (g.window == nullptr)
        {
            for (int32_t r = 0; r < count; ++r)
                located.pointers[r] = g.a + (row + r) * g.aStride;
            located.active[0] = 0;
            located.activeCount = 1;
            return;
        }
        Corner corners[kMaxTileRows];
        findCorners(*g.window, row, count, corners);
        if (mIsInside)
            locateInside(*g.window, count, corners, located);
        else
            locateClipped(*g.window, count, corners, located);
    }

  private:
    //! The first element of a window.
    struct Corner
    {
        T const* image;
        int64_t top;
        int64_t left;
    };

    int64_t locateLine(GemmWindow const& w, int64_t row, int64_t last, int32_t height, Located<T>& located) const
    {
        int64_t const line = row / w.outWidth;
        int64_t const x = row - line * w.outWidth;
        int64_t const left = x * w.strideX - w.padLeft;
        int64_t const room = w.inWidth - 1 - left - (w.kernelWidth - 1) * w.dilationX;
        int64_t const inside = left < 0 || room < 0 ? 0 : room / w.strideX + 1;
        int64_t const rows = std::min({inside, w.outWidth - x, last - row});
        if (rows < height)
            return 0;
        int64_t const image = line / w.outHeight;
        int64_t const top = (line - image * w.outHeight) * w.strideY - w.padTop;
        T const* const first = mGemm.a + image * w.imageStride + left * w.pixelStride;
        T const** to = located.pointers;
        located.activeCount = 0;
        for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
        {
            int64_t const y = top + ky * w.dilationY;
            for (int64_t kx = 0; kx < w.kernelWidth && y >= 0 && y < w.inHeight; ++kx)
            {
                located.active[located.activeCount++] = static_cast<uint8_t>(ky * w.kernelWidth + kx);
                *to++ = first + y * w.lineStride + kx * w.dilationX * w.pixelStride;
            }
        }
        located.rowStride = w.strideX * w.pixelStride;
        return rows / height;
    }
    void findCorners(GemmWindow const& w, int64_t row, int32_t count, Corner* corners) const
    {
        int64_t const pixels = w.outHeight * w.outWidth;
        int64_t image = row / pixels;
        int64_t y = (row - image * pixels) / w.outWidth;
        int64_t x = row - image * pixels - y * w.outWidth;
        for (int32_t r = 0; r < count; ++r)
        {
            corners[r] = {mGemm.a + image * w.imageStride, y * w.strideY - w.padTop, x * w.strideX - w.padLeft};
            if (++x < w.outWidth)
                continue;
            x = 0;
            if (++y < w.outHeight)
                continue;
            y = 0;
            ++image;
        }
    }
    void locateInside(GemmWindow const& w, int32_t count, Corner const* corners, Located<T>& located) const
    {
        T const** to = located.pointers;
        for (int32_t r = 0; r < count; ++r)
            to[r] = corners[r].image + corners[r].top * w.lineStride + corners[r].left * w.pixelStride;
        int64_t const segments = w.kernelHeight * w.kernelWidth;
        for (int64_t s = 0, ky = 0, kx = 0; s < segments; ++s, to += count)
        {
            located.active[s] = static_cast<uint8_t>(s);
            int64_t const offset = ky * w.dilationY * w.lineStride + kx * w.dilationX * w.pixelStride;
            for (int32_t r = 0; r < count; ++r)
                to[r] = located.pointers[r] + offset;
            if (++kx == w.kernelWidth)
            {
                kx = 0;
                ++ky;
            }
        }
        located.activeCount = segments;
    }
    void locateClipped(GemmWindow const& w, int32_t count, Corner const* corners, Located<T>& located) const
    {
        located.activeCount = 0;
        T const** to = located.pointers;
        for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
            for (int64_t kx = 0; kx < w.kernelWidth; ++kx)
            {
                bool isAny{false};
                for (int32_t r = 0; r < count; ++r)
                {
                    int64_t const inY = corners[r].top + ky * w.dilationY;
                    int64_t const inX = corners[r].left + kx * w.dilationX;
                    bool const isInside = static_cast<uint64_t>(inY) < static_cast<uint64_t>(w.inHeight)
                        && static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth);
                    to[r] = isInside ? corners[r].image + inY * w.lineStride + inX * w.pixelStride : mGemm.zeros;
                    isAny = isAny || isInside;
                }
                if (!isAny)
                    continue;
                located.active[located.activeCount++] = static_cast<uint8_t>(ky * w.kernelWidth + kx);
                to += count;
            }
    }

    Gemm<T> const& mGemm;
    bool mIsInside;
};
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
