// Depthwise: tiles of a block of lines of the output, side by side, and where they find their input.
#include "backends/cpu/depthwise_tiles.h"
#include "backends/cpu/isa_functions.h"

#include <iterator>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
#ifdef __AVX512F__ // Sums and as many elements of the input in registers, and a tap.
constexpr int32_t kSizes[]{14, 12, 8, 7, 4, 2, 1};
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<14, K, S, T>, &runPixels<12, K, S, T>, &runPixels<8, K, S, T>, &runPixels<7, K, S, T>,              \
            &runPixels<4, K, S, T>, &runPixels<2, K, S, T>, &runPixels<1, K, S, T>                                     \
    }
#else // Sums, five taps, and an element of the input.
constexpr int32_t kSizes[]{8, 7, 4, 2, 1};
#define TENON_DEPTHWISE_SIZES(K, S)                                                                                    \
    {                                                                                                                  \
        &runPixels<8, K, S, T>, &runPixels<7, K, S, T>, &runPixels<4, K, S, T>, &runPixels<2, K, S, T>,                \
            &runPixels<1, K, S, T>                                                                                     \
    }
#endif

template <typename T>
struct Shape
{
    int64_t taps; //!< Of one line.
    int64_t stride;
    void (*functions[std::size(kSizes)])(DepthwiseTile<T> const&);
};
template <typename T>
constexpr Shape<T> kShapes[]{{3, 1, TENON_DEPTHWISE_SIZES(3, 1)}, {3, 2, TENON_DEPTHWISE_SIZES(3, 2)},
    {5, 1, TENON_DEPTHWISE_SIZES(5, 1)}, {5, 2, TENON_DEPTHWISE_SIZES(5, 2)}, {1, 1, TENON_DEPTHWISE_SIZES(1, 1)}};

template <typename T>
Shape<T> const& shapeOf(GemmWindow const& w)
{
    for (Shape<T> const& shape : kShapes<T>)
        if (shape.taps == w.kernelWidth && shape.stride == w.strideX && w.dilationX == 1)
            return shape;
    return kShapes<T>[4]; // Single taps.
}

//! Of kSizes, the width of pairs.
constexpr int32_t kPairKind{2};
static_assert(!kGoesByPairs || kSizes[kPairKind] == kPairWidth);

//! Which of kSizes takes least for a line, whose last tile moves back over pixels that are done. Fewer than eight sums
//! wait for each other.
int32_t kindOf(int64_t width)
{
    constexpr int64_t kLeastSums{8};
    int32_t best{std::size(kSizes) - 1};
    int64_t least{INT64_MAX};
    for (int32_t kind = 0; kind < static_cast<int32_t>(std::size(kSizes)); ++kind)
    {
        int64_t const size = kSizes[kind];
        int64_t const cost = (width + size - 1) / size * (size > kLeastSums ? size : kLeastSums);
        if (size > width || cost >= least)
            continue;
        least = cost;
        best = kind;
    }
    return best;
}

//! Whether lines may go by two: those that are too narrow for the widest tile, where tiles cover a line, the last
//! moving back over pixels that are done, as one that adds in place cannot.
template <typename T>
bool isForPairs(Depthwise<T> const& d)
{
    GemmWindow const& w = d.window;
    return kGoesByPairs && w.kernelWidth == kPairTaps && w.kernelHeight == kPairTaps && w.strideX == 1 && w.strideY == 1
        && w.dilationX == 1 && w.dilationY == 1 && w.outWidth >= kPairWidth && w.outWidth < kSizes[0]
        && (d.residual == nullptr || w.outWidth % kPairWidth == 0);
}

//! Lines of the output of one image that tiles take together, and where these find their input.
template <typename T>
class DepthwiseBlock
{
  public:
    //! Of lines [first, last), counted over all images, it takes those before `next()`.
    DepthwiseBlock(Depthwise<T> const& depthwise, Shape<T> const& shape, int64_t first, int64_t last)
        : mDepthwise{depthwise},
          mShape{shape},
          mIsWhole{&shape != &kShapes<T>[4]},
          mLinesPerRow{mIsWhole ? 1 : depthwise.window.kernelWidth},
          mFirst{first},
          mShortSteps{shortSteps(depthwise.steps, depthwise.stepCount)}
    {
        GemmWindow const& w = depthwise.window;
        int64_t const image = first / w.outHeight;
        mImage = image * w.inHeight;
        mTop = (first - image * w.outHeight) * w.strideY - w.padTop;
        int64_t const end = (image + 1) * w.outHeight < last ? (image + 1) * w.outHeight : last;
        mLines = end - first < kMaxLines ? end - first : kMaxLines;
        mIsPair = mLines >= 2 && isForPairs(depthwise);
        if (mIsPair)
            mLines = 2;
        // With dilated rows, those that a line reads are not those that the next one does.
        int64_t const most = w.dilationY == 1 ? kMaxRows / mLinesPerRow : 0;
        while (mLines > 1 && rowsOf(mLines) > most)
            --mLines;
        // At stride 2 fewer lines read a column than it takes to be worth it.
        mWidens = kWidens<T> && mLines > 1 && mIsWhole && w.kernelWidth > 1 && w.strideX == 1 && w.strideY == 1
            && w.kernelHeight * w.kernelWidth <= kMaxWidenedTaps;
        int64_t const bytes = w.inHeight * w.lineStride * static_cast<int64_t>(sizeof(T));
        // Fewer taps do not take long enough to hide it, but where it comes from memory they wait longer without.
        bool const isFar = bytes > kNearBytes && (w.kernelWidth > 3 || depthwise.images * bytes > kCachedBytes);
        mAhead = isFar && depthwise.inRing == 0 && mIsWhole && w.kernelWidth > 1 ? w.strideX * w.pixelStride : 0;
        findRows();
    }
    int64_t next() const
    {
        return mFirst + mLines;
    }
    bool isPair() const
    {
        return mIsPair;
    }
    void run(int64_t x, int32_t kind) const
    {
        GemmWindow const& w = mDepthwise.window;
        T const* columns[kMaxPointers];
        int64_t const count = columnsOf(kSizes[kind]);
        int64_t const perRow = mLinesPerRow * count;
        for (int64_t row = 0; row < mRowCount; ++row)
            for (int64_t part = 0; part < mLinesPerRow && (mRows[row] != nullptr || mIsPair); ++part)
                locateLine(mRows[row], x * w.strideX - w.padLeft + part * w.dilationX, count,
                    columns + row * perRow + part * count);
        InputLines lines[kMaxLines];
        for (int64_t line = 0; line < mLines; ++line)
            lines[line] = {(line * w.strideY + mSpans[line].first) * perRow, mSpans[line].count * mLinesPerRow,
                mSpans[line].first * w.kernelWidth};
        int64_t const row = mFirst * w.outWidth + x;
        mShape.functions[kind](DepthwiseTile<T>{mDepthwise, columns, lines, mLines, row, mShortSteps, mIsPair,
            mAhead * kSizes[kind], mWidens ? mFirstInside * perRow : -1});
    }

  private:
    static constexpr int64_t kMaxRows{32}; //!< Of the input, where several lines of the output share them.
    static constexpr int64_t kMaxPointers{kMaxSegments * (kSizes[0] * 2 + 4)};
    static constexpr int64_t kNearBytes{int64_t{1} << 20};
    static constexpr int64_t kCachedBytes{int64_t{8} << 20}; //!< Of an operand: beside the result in the last cache.
    static_assert(kMaxRows <= kMaxSegments);
    static_assert((kMaxLines - 1 + kMaxWidenedTaps / 3) * kColumns<kSizes[0], 3, 1> <= kMaxWidened);
    static_assert((kMaxLines - 1 + kMaxWidenedTaps / 5) * kColumns<kSizes[0], 5, 1> <= kMaxWidened);

    //! Rows of the input that a line's taps touch, of those that the block reads.
    struct Span
    {
        int64_t first;
        int64_t count;
    };

    //! Input rows that so many lines read.
    int64_t rowsOf(int64_t lines) const
    {
        return (lines - 1) * mDepthwise.window.strideY + mDepthwise.window.kernelHeight;
    }
    int64_t columnsOf(int64_t pixels) const
    {
        return (pixels - 1) * mShape.stride + mShape.taps;
    }
    void findRows()
    {
        GemmWindow const& w = mDepthwise.window;
        mRowCount = rowsOf(mLines);
        for (int64_t row = 0; row < mRowCount; ++row)
        {
            int64_t const y = mTop + row * w.dilationY;
            bool const isInside = static_cast<uint64_t>(y) < static_cast<uint64_t>(w.inHeight);
            int64_t const line = mDepthwise.inRing > 0 ? (mImage + y) % mDepthwise.inRing : mImage + y;
            mRows[row] = isInside ? mDepthwise.in + line * w.lineStride : nullptr;
        }
        for (int64_t line = 0; line < mLines; ++line)
        {
            T const* const* const rows = mRows + line * w.strideY;
            int64_t first = 0;
            while (!mIsPair && first < w.kernelHeight && rows[first] == nullptr)
                ++first;
            int64_t last = w.kernelHeight;
            while (last > first && rows[last - 1] == nullptr)
                --last;
            mSpans[line] = {first, last - first};
        }
        mFirstInside = 0;
        while (mFirstInside < mRowCount && mRows[mFirstInside] == nullptr)
            ++mFirstInside;
    }
    //! Null: a row outside of the image.
    void locateLine(T const* in, int64_t left, int64_t count, T const** to) const
    {
        GemmWindow const& w = mDepthwise.window;
        int64_t const step = mIsWhole ? 1 : w.strideX;
        if (in != nullptr && left >= 0 && left + (count - 1) * step < w.inWidth)
        {
            for (int64_t i = 0; i < count; ++i)
                to[i] = in + (left + i * step) * w.pixelStride;
            return;
        }
        for (int64_t i = 0; i < count; ++i)
        {
            int64_t const x = left + i * step;
            bool const isInside = in != nullptr && static_cast<uint64_t>(x) < static_cast<uint64_t>(w.inWidth);
            to[i] = isInside ? in + x * w.pixelStride : mDepthwise.zeros;
        }
    }

    Depthwise<T> const& mDepthwise;
    Shape<T> const& mShape;
    bool mIsWhole;        //!< Lines of its input hold all taps of a row.
    int64_t mLinesPerRow; //!< Of the input, for each of its rows.
    int64_t mFirst;
    int64_t mShortSteps;
    int64_t mImage; //!< First input row of the image.
    int64_t mTop;   //!< Input row of the first tap, within the image.
    int64_t mLines; //!< Of the output.
    bool mIsPair{false};
    int64_t mRowCount{0};
    T const* mRows[kMaxSegments]; //!< Of the input; null: outside of the image.
    Span mSpans[kMaxLines];
    bool mWidens{false};     //!< Columns become floats before the lines that read them.
    int64_t mFirstInside{0}; //!< The first of the rows that is not null.
    int64_t mAhead;          //!< From a column to the next, where what the next tile reads is fetched.
};
} // namespace

template <typename T>
void runDepthwise(Depthwise<T> const& depthwise, int64_t first, int64_t last)
{
    int64_t const width = depthwise.window.outWidth;
    Shape<T> const& shape = shapeOf<T>(depthwise.window);
    for (int64_t line = first; line < last;)
    {
        // A line of which a part is wanted stands alone.
        int64_t const left = line == first ? depthwise.left : 0;
        int64_t const whole = depthwise.right > 0 && line + 1 < last ? last - 1 : last;
        int64_t const end = left > 0 ? line + 1 : whole;
        int64_t const right = end == last ? width - depthwise.right : width;
        DepthwiseBlock<T> const block{depthwise, shape, line, end};
        int32_t kind = block.isPair() ? kPairKind : kindOf(right - left);
        for (int64_t x = left; x < right; x += kSizes[kind])
        {
            // What adds in place must not be done twice.
            while (depthwise.residual != nullptr && kSizes[kind] > right - x)
                ++kind;
            block.run(kSizes[kind] > right - x ? right - kSizes[kind] : x, kind);
        }
        line = block.next();
    }
}

template <typename T>
void transposeElements(T const* from, int64_t fromStride, int64_t rows, int64_t columns, T* to, int64_t toStride)
{
    auto const* const source = reinterpret_cast<Movable<T> const*>(from);
    auto* const target = reinterpret_cast<Movable<T>*>(to);
    for (int64_t r = 0; r < rows; r += kLanes)
        for (int64_t c = 0; c < columns; c += kLanes)
        {
            int64_t const height = rows - r < kLanes ? rows - r : kLanes;
            int64_t const width = columns - c < kLanes ? columns - c : kLanes;
            F16 block[kLanes];
            Mask const in = firstLanes(width);
            for (int64_t i = 0; i < kLanes; ++i)
                block[i] = i < height ? load(source + (r + i) * fromStride + c, in) : zero();
            transpose16(block);
            Mask const out = firstLanes(height);
            for (int64_t i = 0; i < width; ++i)
                if (height == kLanes)
                    store(target + (c + i) * toStride + r, block[i]);
                else
                    store(target + (c + i) * toStride + r, block[i], out);
        }
}

#define TENON_ROW(T)                                                                                                   \
    template void runDepthwise(Depthwise<T> const&, int64_t, int64_t);                                                 \
    template void transposeElements(T const*, int64_t, int64_t, int64_t, T*, int64_t)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
