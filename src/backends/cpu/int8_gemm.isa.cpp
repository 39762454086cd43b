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
        if (g.window == nullptr)
            return;
        GemmWindow const& w = *g.window;
        mLeavesImage = w.padTop > 0 || w.padLeft > 0 || !isInside(cornerOf({0, w.outHeight - 1, w.outWidth - 1}));
        if (g.segments > kMaxSegments)
            return;
        bool const hasLines =
            w.kernelWidth > 1 && w.dilationX == 1 && w.pixelStride == g.length && g.length % kQuad == 0;
        int64_t const across = hasLines ? 1 : w.kernelWidth;
        mInnerSegments = w.kernelHeight * across;
        mInnerQuads = mQuads * (g.segments / mInnerSegments);
        for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
            for (int64_t kx = 0; kx < across; ++kx)
                mOffsets[ky * across + kx] = ky * w.dilationY * w.lineStride + kx * w.dilationX * w.pixelStride;
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
    //! From the first segment of a row to the others, where that is the same for all rows, which have one pointer each
    //! then; else null. By findQuads() only.
    int64_t const* offsets() const
    {
        return mSharedOffsets;
    }
    //! Of the product, the first segment of these rows: those in front of it and behind the last one, taps of a window
    //! that are outside of the image for all of the rows, are left out by findQuads().
    int64_t firstSegment() const
    {
        return mFirstSegment;
    }
    //! Rows [row, row + count): pointers [segments()][count].
    void find(int64_t row, int32_t count)
    {
        find(row, count, false);
    }
    //! The same for tiles that add quads: with as few segments and pointers as do.
    void findQuads(int64_t row, int32_t count)
    {
        find(row, count, true);
    }
    //! How many rows from this one on may be in a tile with it: where an image is as wide as a tile, windows that leave
    //! it above or below have tiles of their own, line by line.
    int64_t rowsTogether(int64_t row)
    {
        constexpr int64_t kLeastWidth{4};
        if (!mLeavesImage || mGemm.window->outWidth < kLeastWidth)
            return INT64_MAX;
        GemmWindow const& w = *mGemm.window;
        Position const at = positionOf(row);
        int64_t const firstInside = (w.padTop + w.strideY - 1) / w.strideY;
        int64_t const reach = w.inHeight + w.padTop - (w.kernelHeight - 1) * w.dilationY;
        int64_t const endInside = reach <= 0 ? 0 : (reach + w.strideY - 1) / w.strideY; // Of windows that end inside.
        int64_t end = at.y + 1;
        if (at.y >= firstInside && at.y < endInside)
            end = endInside < w.outHeight ? endInside : w.outHeight;
        return (end - at.y) * w.outWidth - at.x;
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
    //! Of a row of the product in the result.
    struct Position
    {
        int64_t image;
        int64_t y;
        int64_t x;
    };
    //! Where a window begins.
    struct Corner
    {
        int8_t const* image;
        int8_t const* start; //!< Of its first tap, if that is inside of the image.
        int64_t top;
        int64_t left;
    };

    void find(int64_t row, int32_t count, bool isForQuads)
    {
        mSharedOffsets = nullptr;
        if (mGemm.window == nullptr)
            for (int32_t r = 0; r < count; ++r)
                mPointers[r] = mGemm.a + (row + r) * mGemm.aStride;
        else
            findWindows(row, count, isForQuads);
        if (mSharedOffsets == nullptr)
            keepInside(mSegments * count);
    }
    //! Without divisions behind the rows that were found last.
    Position positionOf(int64_t row) const
    {
        if (row == mNextRow)
            return mNext;
        GemmWindow const& w = *mGemm.window;
        int64_t const line = row / w.outWidth;
        return {line / w.outHeight, line % w.outHeight, row - line * w.outWidth};
    }
    Corner cornerOf(Position const& at) const
    {
        GemmWindow const& w = *mGemm.window;
        int8_t const* const image = mGemm.a + at.image * w.imageStride;
        int64_t const top = at.y * w.strideY - w.padTop;
        int64_t const left = at.x * w.strideX - w.padLeft;
        return {image, image + top * w.lineStride + left * w.pixelStride, top, left};
    }
    void findWindows(int64_t row, int32_t count, bool isForQuads)
    {
        GemmWindow const& w = *mGemm.window;
        Position at = positionOf(row);
        Corner corners[kMaxTileRows];
        bool areInside = mGemm.segments <= kMaxSegments;
        for (int32_t r = 0; r < count; ++r)
        {
            corners[r] = cornerOf(at);
            areInside = areInside && (!mLeavesImage || isInside(corners[r]));
            if (++at.x == w.outWidth)
            {
                at.x = 0;
                if (++at.y == w.outHeight)
                {
                    at.y = 0;
                    ++at.image;
                }
            }
        }
        mNextRow = row + count;
        mNext = at;
        if (areInside)
            return findInner(corners, count, isForQuads);
        Lines const lines = isForQuads ? linesInside(corners, count) : Lines{0, w.kernelHeight};
        mFirstSegment = lines.first * w.kernelWidth;
        mSegments = (lines.end - lines.first) * w.kernelWidth;
        mQuads = quadsOf(mGemm.length);
        for (int32_t r = 0; r < count; ++r)
            findWindow(corners[r], lines, mPointers + r, count);
    }
    bool isInside(Corner const& c) const
    {
        GemmWindow const& w = *mGemm.window;
        return c.top >= 0 && c.left >= 0 && c.top + (w.kernelHeight - 1) * w.dilationY < w.inHeight
            && c.left + (w.kernelWidth - 1) * w.dilationX < w.inWidth;
    }
    //! Windows that lie inside of the image, as most do: the taps of each line are one segment where they can be.
    void findInner(Corner const* corners, int32_t count, bool isForQuads)
    {
        mFirstSegment = 0;
        mSegments = mInnerSegments;
        mQuads = mInnerQuads;
        int8_t const* const lastStart = corners[count - 1].start;
        if (isForQuads && lastStart + mOffsets[mSegments - 1] + mQuads * kQuad <= mGemm.aEnd)
        {
            mSharedOffsets = mOffsets;
            for (int32_t r = 0; r < count; ++r)
                mPointers[r] = corners[r].start;
            return;
        }
        int8_t const** to = mPointers;
        for (int64_t s = 0; s < mSegments; ++s, to += count)
            for (int32_t r = 0; r < count; ++r)
                to[r] = corners[r].start + mOffsets[s];
    }
    //! Lines of taps.
    struct Lines
    {
        int64_t first;
        int64_t end;
    };
    //! From the first to the last line of taps that is inside of the image for some of the windows.
    Lines linesInside(Corner const* corners, int32_t count) const
    {
        GemmWindow const& w = *mGemm.window;
        auto const isInside = [&w](Corner const& c, int64_t ky) {
            return static_cast<uint64_t>(c.top + ky * w.dilationY) < static_cast<uint64_t>(w.inHeight);
        };
        Lines lines{w.kernelHeight, 0};
        for (int32_t r = 0; r < count; ++r)
        {
            Corner const& c = corners[r];
            if (r > 0 && c.top == corners[r - 1].top)
                continue;
            for (int64_t ky = 0; ky < lines.first; ++ky)
                if (isInside(c, ky))
                    lines.first = ky;
            for (int64_t ky = w.kernelHeight; ky > lines.end; --ky)
                if (isInside(c, ky - 1))
                    lines.end = ky;
        }
        return lines.first < lines.end ? lines : Lines{0, 0};
    }
    //! The segments of one window, `step` pointers apart.
    void findWindow(Corner const& c, Lines const& lines, int8_t const** to, int32_t step) const
    {
        auto const& [image, start, top, left] = c;
        GemmWindow const& w = *mGemm.window;
        for (int64_t ky = lines.first; ky < lines.end; ++ky)
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
        // The last segment of the last row lies behind all others, unless it is outside of the image. There is none
        // where no tap of any row is inside.
        if (count == 0 || whole == mGemm.length
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
    int64_t mFirstSegment{0};
    int64_t mSegments; //!< Of the rows found.
    int64_t mQuads;
    bool mLeavesImage{false}; //!< Some windows do.
    int64_t mNextRow{-1};     //!< Behind the rows found last.
    Position mNext{0, 0, 0};
    int64_t mInnerSegments{1}; //!< Of windows inside of the image: lines of taps that lie one behind the other are one.
    int64_t mInnerQuads{0};
    int64_t const* mSharedOffsets{nullptr};
    int8_t const** mPointers;
    int16_t* mNumbers;
    int8_t* mCopies;
    int64_t mOffsets[kMaxSegments]; //!< From the first segment of a window inside of the image to each.
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
    if (V == kMaxInt8Vectors && last == kLanes)
        if (NumbersForm const form = numbersForm(f); form.isThere)
        {
            if (form.rounding != nullptr)
                return finishNumbers<true, true>(f, form, sums, row, count, column);
            if (form.residual != nullptr)
                return finishNumbers<false, true>(f, form, sums, row, count, column);
            return finishNumbers<false, false>(f, form, sums, row, count, column);
        }
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

#ifdef __AVX512F__
//! What the sums of a block of panels begin with when some segments are left out: these would add as much to each row.
class Beginnings
{
  public:
    Beginnings(Int8Gemm const& g, int64_t panel, int64_t width)
        : mGemm{g},
          mPanel{panel},
          mWidth{width}
    {
    }
    //! With segments [first, first + count) multiplied.
    int32_t const* of(int64_t first, int64_t count)
    {
        if (first == 0 && count == mGemm.segments)
            return mGemm.shifts + mPanel * kPanel;
        if (first != mFirst || count != mCount)
            addLeftOut(first, first + count);
        mFirst = first;
        mCount = count;
        return mShifts;
    }

  private:
    __attribute__((noinline, target("avx512vnni"))) void addLeftOut(int64_t first, int64_t end)
    {
        int64_t const quads = quadsOf(mGemm.length);
        int64_t const panelBytes = mGemm.segments * quads * kPanel * kQuad;
        int8_t const* const b = mGemm.panels + mPanel * panelBytes;
        __m512i const x = _mm512_set1_epi8(static_cast<int8_t>(*mGemm.zeros ^ -128));
        __m512i sums[kMaxInt8Vectors];
#pragma GCC unroll 4
        for (int64_t v = 0; v < kMaxInt8Vectors; ++v)
            sums[v] = _mm512_maskz_loadu_epi32(v < mWidth ? 0xFFFF : 0, mGemm.shifts + (mPanel + v) * kPanel);
        int64_t const all = mGemm.segments * quads;
        for (int64_t quad = 0; quad < all; ++quad)
        {
            if (quad == first * quads)
                quad = end * quads; // Behind what is multiplied.
            if (quad == all)
                break;
#pragma GCC unroll 4
            for (int64_t v = 0; v < kMaxInt8Vectors; ++v) // Side by side: each waits for itself only.
                if (v < mWidth)
                    sums[v] =
                        _mm512_dpbusd_epi32(sums[v], x, _mm512_loadu_si512(b + v * panelBytes + quad * kPanel * kQuad));
        }
#pragma GCC unroll 4
        for (int64_t v = 0; v < kMaxInt8Vectors; ++v)
            _mm512_store_si512(mShifts + v * kPanel, sums[v]);
    }

    Int8Gemm const& mGemm;
    int64_t mPanel;
    int64_t mWidth;
    int64_t mFirst{0};
    int64_t mCount{-1};
    alignas(64) int32_t mShifts[kMaxInt8Vectors * kPanel];
};
#endif

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
#ifdef __AVX512F__
    Beginnings beginnings{g, panel, width};
#endif
    for (int64_t row = share.firstRow; row < share.lastRow;)
    {
        int64_t left = share.lastRow - row;
        if constexpr (IsVnni)
            if (int64_t const together = finder.rowsTogether(row); together < left)
                left = together;
        // Tiles of even heights: one of few rows would cost as much as a whole one.
        int64_t const parts = (left + tiles.rows - 1) / tiles.rows;
        auto const count = static_cast<int32_t>((left + parts - 1) / parts);
        if constexpr (IsVnni)
            finder.findQuads(row, count);
        else
            finder.find(row, count);
        Int8Tile tile{g, finder.pointers(), finder.offsets(), finder.segments(), finder.quads(), nullptr, depth, panel,
            g.panels + (panel * depth + finder.firstSegment() * quadsOf(g.length) * kQuad) * kPanel, g.shifts, sums,
            width * kPanel};
#ifdef __AVX512F__
        if constexpr (IsVnni)
        {
            if (finder.quads() == quadsOf(g.length)) // Else lines of taps are segments, and none is left out.
                tile.shifts = beginnings.of(finder.firstSegment(), finder.segments());
            else
                tile.shifts += panel * kPanel;
            tiles.functions[count - 1](tile);
        }
#endif
        if constexpr (!IsVnni)
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
