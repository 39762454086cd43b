// Int8Gemm: where rows lie, and blocks of panels that are multiplied with one tile of rows after the other.
#include "backends/cpu/int8_gemm.h"

#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/int8_tiles.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Finds the segments of the rows of a tile.
class RowFinder
{
  public:
    RowFinder(Int8Gemm const& g, void* scratch)
        : mGemm{g},
          mSegments{g.segments},
          mQuads{quadsOf(g.length)},
          mPointers{static_cast<int8_t const**>(scratch)},
          mNumbers{reinterpret_cast<int16_t*>(mPointers + g.segments * kMaxTileRows)},
          mCopies{reinterpret_cast<int8_t*>(mNumbers + g.segments * kMaxTileRows * quadsOf(g.length) * kQuad)}
    {
        if (g.window == nullptr || g.segments > kMaxSegments)
            return;
        GemmWindow const& w = *g.window;
        mHasLines = w.kernelWidth > 1 && w.dilationX == 1 && w.pixelStride == g.length && g.length % kQuad == 0;
        for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
            for (int64_t kx = 0; kx < w.kernelWidth; ++kx)
                mOffsets[ky * w.kernelWidth + kx] = ky * w.dilationY * w.lineStride + kx * w.dilationX * w.pixelStride;
    }
    int8_t const* const* pointers() const
    {
        return mPointers;
    }
    int64_t segments() const
    {
        return mSegments;
    }
    int64_t quads() const
    {
        return mQuads;
    }
    //! Rows [row, row + count): pointers [segments()][count].
    void find(int64_t row, int32_t count)
    {
        if (mGemm.window == nullptr)
            for (int32_t r = 0; r < count; ++r)
                mPointers[r] = mGemm.a + (row + r) * mGemm.aStride;
        else
            findWindows(row, count);
        keepInside(mSegments * count);
    }
    //! Whether some element of the rows found is negative.
    bool hasNegative(int32_t count) const
    {
        for (int64_t i = 0; i < mSegments * count; ++i)
            if (anyNegative(mPointers[i], mQuads * kQuad))
                return true;
        return false;
    }
    //! The rows found as 16-bit numbers: [count][depth].
    int16_t const* widen(int32_t count)
    {
        int16_t* to = mNumbers;
        for (int32_t r = 0; r < count; ++r)
            for (int64_t s = 0; s < mSegments; ++s, to += mQuads * kQuad)
                widenNumbers(mPointers[s * count + r], mQuads * kQuad, to);
        return mNumbers;
    }

  private:
    struct Corner
    {
        int8_t const* image;
        int64_t top;
        int64_t left;
    };

    void findWindows(int64_t row, int32_t count)
    {
        GemmWindow const& w = *mGemm.window;
        int64_t const pixels = w.outHeight * w.outWidth;
        int64_t image = row / pixels;
        int64_t y = (row - image * pixels) / w.outWidth;
        int64_t x = row - image * pixels - y * w.outWidth;
        Corner corners[kMaxTileRows];
        bool areJoined = mHasLines;
        for (int32_t r = 0; r < count; ++r)
        {
            Corner& corner = corners[r];
            corner = {mGemm.a + image * w.imageStride, y * w.strideY - w.padTop, x * w.strideX - w.padLeft};
            areJoined = areJoined && isInside(corner);
            if (++x == w.outWidth)
            {
                x = 0;
                if (++y == w.outHeight)
                {
                    y = 0;
                    ++image;
                }
            }
        }
        mSegments = areJoined ? w.kernelHeight : mGemm.segments;
        mQuads = quadsOf(mGemm.length) * (areJoined ? w.kernelWidth : 1);
        for (int32_t r = 0; r < count; ++r)
            if (areJoined)
                findLines(corners[r], mPointers + r, count);
            else
                findWindow(corners[r], mPointers + r, count);
    }
    bool isInside(Corner const& c) const
    {
        GemmWindow const& w = *mGemm.window;
        return c.top >= 0 && c.left >= 0 && c.top + (w.kernelHeight - 1) * w.dilationY < w.inHeight
            && c.left + (w.kernelWidth - 1) * w.dilationX < w.inWidth;
    }
    //! The taps of each line as one segment.
    void findLines(Corner const& c, int8_t const** to, int32_t step) const
    {
        GemmWindow const& w = *mGemm.window;
        int8_t const* line = c.image + c.top * w.lineStride + c.left * w.pixelStride;
        for (int64_t ky = 0; ky < w.kernelHeight; ++ky, to += step, line += w.dilationY * w.lineStride)
            *to = line;
    }
    //! The segments of one window, `step` pointers apart. Most windows lie inside of the image.
    void findWindow(Corner const& c, int8_t const** to, int32_t step) const
    {
        auto const& [image, top, left] = c;
        GemmWindow const& w = *mGemm.window;
        if (isInside(c) && mGemm.segments <= kMaxSegments)
        {
            int8_t const* const corner = image + top * w.lineStride + left * w.pixelStride;
            for (int64_t s = 0; s < mGemm.segments; ++s, to += step)
                *to = corner + mOffsets[s];
            return;
        }
        for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
        {
            int64_t const inY = top + ky * w.dilationY;
            bool const isLine = static_cast<uint64_t>(inY) < static_cast<uint64_t>(w.inHeight);
            for (int64_t kx = 0; kx < w.kernelWidth; ++kx, to += step)
            {
                int64_t const inX = left + kx * w.dilationX;
                bool const isPixel = isLine && static_cast<uint64_t>(inX) < static_cast<uint64_t>(w.inWidth);
                *to = isPixel ? image + inY * w.lineStride + inX * w.pixelStride : mGemm.zeros;
            }
        }
    }
    //! Whole quads are read: what would be read behind the end is copied to where that may be.
    void keepInside(int64_t count)
    {
        int64_t const whole = quadsOf(mGemm.length) * kQuad;
        // The last segment of the last row lies behind all others, unless it is outside of the image.
        if (whole == mGemm.length
            || (mPointers[count - 1] != mGemm.zeros && mGemm.aEnd - mPointers[count - 1] >= whole))
            return;
        for (int64_t i = 0; i < count; ++i)
        {
            if (mPointers[i] == mGemm.zeros || mGemm.aEnd - mPointers[i] >= whole)
                continue;
            int8_t* const copy = mCopies + i * whole;
            std::memcpy(copy, mPointers[i], static_cast<size_t>(mGemm.length));
            mPointers[i] = copy;
        }
    }

    Int8Gemm const& mGemm;
    int64_t mSegments; //!< Of the rows found.
    int64_t mQuads;
    bool mHasLines{false}; //!< Whether the taps of a line of a window lie one behind the other, in whole quads.
    int8_t const** mPointers;
    int16_t* mNumbers;
    int8_t* mCopies;
    int64_t mOffsets[kMaxSegments]; //!< From the first segment of a window to each.
};

//! Vectors of the next block when `left` panels are left: blocks of four, the rest in even parts.
int64_t int8BlockWidth(int64_t left)
{
    if (left <= 3)
        return left;
    return left == 5 || left == 6 ? 3 : kMaxInt8Vectors;
}

#ifdef __AVX512F__
constexpr int32_t kFinishedRows{2}; //!< At a time: what is the same for all rows is looked at once.
#else
constexpr int32_t kFinishedRows{1};
#endif

template <int R, int V>
TENON_INLINE void finishSome(Int8Finish const& f, int32_t const* sums, int64_t row, int64_t column, int64_t last)
{
    F16 x[R][V];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
            x[r][v] = loadNumbers(sums + (r * V + v) * kLanes);
    finishVectors(f, x, row, column, last);
}

template <int V>
void finishRows(Int8Finish const& f, int32_t const* sums, int64_t row, int32_t count, int64_t column, int64_t last)
{
#ifdef __AVX512F__
    if (V == kMaxInt8Vectors && last == kLanes && areNumbers(f))
        return finishNumbers(f, sums, row, count, column);
#endif
    int32_t r{0};
    for (; r + kFinishedRows <= count; r += kFinishedRows)
        finishSome<kFinishedRows, V>(f, sums + r * V * kLanes, row + r, column, last);
    for (; r < count; ++r)
        finishSome<1, V>(f, sums + r * V * kLanes, row + r, column, last);
}
using FinishRows = void (*)(Int8Finish const&, int32_t const*, int64_t, int32_t, int64_t, int64_t);
constexpr FinishRows kFinishRows[]{&finishRows<1>, &finishRows<2>, &finishRows<3>, &finishRows<4>};

//! Panel after panel, by what the rows at hand allow.
void sumPanels(Int8Tile& tile, RowFinder& finder, int32_t count, int64_t width)
{
    bool const hasNegative = finder.hasNegative(count);
    if (hasNegative)
        tile.wide = finder.widen(count);
    SumTile const function = (hasNegative ? kPairTiles : kUnsignedTiles)[static_cast<size_t>(count - 1)];
    for (int64_t v = 0; v < width; ++v, ++tile.panel, tile.sums += kPanel)
        function(tile);
}

template <bool IsVnni>
void runInt8Block(Int8Gemm const& g, GemmShare const& share, int64_t panel, int64_t width, void* scratch)
{
    Int8Tiles tiles{kPairRows, kPairTiles.data()};
#ifdef __AVX512F__
    if constexpr (IsVnni)
        tiles = quadTilesOf(width);
#endif
    alignas(64) int32_t sums[kMaxTileRows * kMaxInt8Vectors * kPanel];
    RowFinder finder{g, scratch};
    int64_t const depth = g.segments * quadsOf(g.length) * kQuad;
    int64_t const column = panel * kPanel;
    int64_t const end = g.columns - column - (width - 1) * kPanel;
    int64_t const last = end < kLanes ? end : kLanes;
    for (int64_t row = share.firstRow; row < share.lastRow;)
    {
        // Tiles of even heights: one of few rows would cost as much as a whole one.
        int64_t const left = share.lastRow - row;
        int64_t const parts = (left + tiles.rows - 1) / tiles.rows;
        auto const count = static_cast<int32_t>((left + parts - 1) / parts);
        finder.find(row, count);
        Int8Tile tile{
            g, finder.pointers(), finder.segments(), finder.quads(), nullptr, depth, panel, sums, width * kPanel};
        if constexpr (IsVnni)
            tiles.functions[count - 1](tile);
        else
            sumPanels(tile, finder, count, width);
        kFinishRows[width - 1](g.finish, sums, row, count, column, last);
        row += count;
    }
}

//! As many rows as stay in the second cache while blocks of panels pass.
int64_t int8RowsPerPass(Int8Gemm const& g, GemmShare const& share)
{
    constexpr int64_t kGrain{24};
    constexpr int64_t kLeastRows{96};
    constexpr int64_t kPassBytes{int64_t{320} << 10};
    int64_t const length = g.length > 0 ? g.length : 1;
    int64_t const perRow = g.window == nullptr ? length : length * g.window->strideY * g.window->strideX;
    int64_t const fitting = kPassBytes / perRow / kGrain * kGrain;
    int64_t const rows = share.lastRow - share.firstRow;
    int64_t const step = fitting < kLeastRows ? kLeastRows : fitting;
    return rows <= 2 * step ? (rows > 0 ? rows : 1) : step;
}

template <bool IsVnni>
void runInt8Passes(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    int64_t const step = int8RowsPerPass(gemm, share);
    for (int64_t row = share.firstRow; row < share.lastRow; row += step)
    {
        GemmShare part{share};
        part.firstRow = row;
        part.lastRow = share.lastRow - row < step ? share.lastRow : row + step;
        for (int64_t panel = share.firstPanel; panel < share.lastPanel;)
        {
            int64_t const width = int8BlockWidth(share.lastPanel - panel);
            runInt8Block<IsVnni>(gemm, part, panel, width, scratch);
            panel += width;
        }
    }
}
} // namespace

void runInt8Gemm(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    runInt8Passes<false>(gemm, share, scratch);
}

#ifdef __AVX512F__
void runInt8GemmVnni(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    runInt8Passes<true>(gemm, share, scratch);
}
#endif

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
