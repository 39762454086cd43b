// Tiles of depthwise convolutions: some pixels by a register of channels, of several lines of the output. Included by
// one file that is compiled once per instruction set.
#pragma once

#include "backends/cpu/depthwise.h"
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/simd_register.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! What one line of the output needs: lines of its input, of one input row each, K taps wide, or, for other widths and
//! dilations, of one tap each; those outside of the image are left out.
struct InputLines
{
    int64_t first; //!< Of the tile's columns.
    int64_t count;
    int64_t tap; //!< The first of them.
};

//! Lines of the output below each other, some pixels wide.
template <typename T>
struct DepthwiseTile
{
    Depthwise<T> const& work;
    T const* const* columns; //!< [lines][columns]: pixel, or zeros where it is outside.
    InputLines const* lines;
    int64_t lineCount;
    int64_t row; //!< First output pixel, counted over all images; further lines are as far apart as the image is wide.
    int64_t shortSteps;
    bool isPair;   //!< Two lines with kPairTaps by kPairTaps taps at stride 1, none of whose input lines is left out.
    int64_t ahead; //!< Elements from a column to the one that the next tile has there, which is fetched; 0: none is.
    int64_t firstWidened; //!< Columns from there on, which several lines read, become floats first; -1: none does.
};

//! Lines that a tile has at most. Each takes a cache line of channels at once, so that one line after the other finds
//! there what the line before has read. Where registers are half as wide, two narrow lines are made at once.
constexpr int64_t kMaxLines{8};
#ifdef __AVX512F__
constexpr bool kGoesByPairs{false};
#else
constexpr bool kGoesByPairs{true};
#endif
constexpr int64_t kCacheLineFloats{16};
//! Columns that become floats, and taps: what stays in the nearest cache beside the elements that they are made of.
constexpr int64_t kMaxWidened{288};
constexpr int64_t kMaxWidenedTaps{32};
template <typename T>
constexpr bool kWidens{!kIsFloat<T> && !kGoesByPairs};
constexpr int kPairWidth{4};
constexpr int kPairTaps{3};

//! Input columns that P pixels read, with K taps at stride S.
template <int P, int K, int S>
inline constexpr int kColumns{(P - 1) * S + K};

//! A register of channels, the `count` first of which are there, of input columns and taps as they are stored.
template <typename T>
struct StoredOperands
{
    T const* const* columns;
    T const* kernel;
    int64_t channels;
    int64_t c;
    bool isCut;
    Mask mask;

    [[gnu::always_inline]] Register column(int i) const
    {
        return isCut ? loadRegister(columns[i] + c, mask) : loadRegister(columns[i] + c);
    }
    [[gnu::always_inline]] Register tap(int i) const
    {
        T const* const from = kernel + i * channels;
        return isCut ? loadRegister(from, mask) : loadRegister(from);
    }
    [[gnu::always_inline]] void advance(int columnCount, int tapCount)
    {
        columns += columnCount;
        kernel += tapCount * channels;
    }
};

//! The same where they have become floats, register by register.
struct WidenedOperands
{
    float const* columns;
    float const* kernel;

    [[gnu::always_inline]] Register column(int i) const
    {
        return loadRegister(columns + i * kRegister);
    }
    [[gnu::always_inline]] Register tap(int i) const
    {
        return loadRegister(kernel + i * kRegister);
    }
    [[gnu::always_inline]] void advance(int columnCount, int tapCount)
    {
        columns += columnCount * kRegister;
        kernel += tapCount * kRegister;
    }
};

#ifdef __AVX512F__
//! Every S-th tap from `First` on, over those columns that these read: tap by tap, so that no sum waits for itself.
template <int P, int K, int S, int First, typename Operands>
TENON_INLINE void addTaps(Operands const& from, Register (&sum)[P])
{
    constexpr int kTaps{(K - First + S - 1) / S};
    Register x[P + kTaps];
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i)
        x[i] = from.column(First + i * S);
#pragma GCC unroll 8
    for (int t = 0; t < kTaps; ++t)
    {
        Register const k = from.tap(First + t * S);
#pragma GCC unroll 16
        for (int i = 0; i < P; ++i)
            sum[i] = fma(x[t + i], k, sum[i]);
        if (t + 1 == kTaps)
            break;
        x[t + P] = from.column(First + (t + P) * S);
    }
}

//! One line of the input.
template <int P, int K, int S, typename Operands>
TENON_INLINE void addLine(Operands const& from, Register (&sum)[P])
{
    addTaps<P, K, S, 0>(from, sum);
    if constexpr (S == 2)
        addTaps<P, K, S, 1>(from, sum);
}
#else
//! One line of the input: column by column, with all taps in registers, of which there are too few for the columns.
template <int P, int K, int S, typename Operands>
TENON_INLINE void addLine(Operands const& from, Register (&sum)[P])
{
    Register k[K];
#pragma GCC unroll 8
    for (int t = 0; t < K; ++t)
        k[t] = from.tap(t);
#pragma GCC unroll 32
    for (int i = 0; i < kColumns<P, K, S>; ++i)
    {
        Register const x = from.column(i);
#pragma GCC unroll 8
        for (int t = 0; t < K; ++t)
            if (i >= t && (i - t) % S == 0 && (i - t) / S < P)
                sum[(i - t) / S] = fma(x, k[t], sum[(i - t) / S]);
    }
}
#endif

//! Brings what the next tile reads of one row into the second cache.
template <int P, int K, int S, typename T>
TENON_INLINE void fetch(T const* const* columns, int64_t ahead)
{
#pragma GCC unroll 32
    for (int i = kColumns<P, K, S> - P * S; i < kColumns<P, K, S>; ++i)
        if (i >= 0)
            _mm_prefetch(reinterpret_cast<char const*>(columns[i] + ahead), _MM_HINT_T1);
}

//! Brings the lines of the result that come behind channels [c, c + count) of a line of a tile into the nearest cache,
//! as the core's own: where they come from memory, stores wait for them one after the other.
template <int P, typename T>
TENON_INLINE void ownNext(DepthwiseTile<T> const& tile, int64_t line, int64_t c, int64_t count)
{
    Depthwise<T> const& d = tile.work;
    T* const out = d.out + (tile.row + line * d.window.outWidth) * d.channels;
    T* const next = c + count < d.channels ? out + c + count : out + P * d.channels;
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i)
        asm volatile("prefetchw %0" : : "m"(next[i * d.channels]));
}

template <typename T>
TENON_INLINE Register biasOf(Depthwise<T> const& d, int64_t c, bool isCut, Mask mask)
{
    if (d.bias == nullptr)
        return splatRegister(0.0F);
    return isCut ? loadRegister(d.bias + c, mask) : loadRegister(d.bias + c);
}

//! Residual, bounds and short steps.
template <int P, typename T>
TENON_INLINE void adjustSums(DepthwiseTile<T> const& tile, int64_t row, int64_t c, int64_t count, Register (&sum)[P])
{
    Depthwise<T> const& d = tile.work;
    bool const isCut = count != kRegister;
    Mask const mask = firstLanes(count);
    Register const low = splatRegister(d.low);
    Register const high = splatRegister(d.high);
    if (d.residual != nullptr)
#pragma GCC unroll 16
        for (int i = 0; i < P; ++i)
        {
            T const* const r = d.residual + (row + i) * d.residualStride + c;
            sum[i] = sum[i] + (isCut ? loadRegister(r, mask) : loadRegister(r));
        }
    if (isBounded(d))
#pragma GCC unroll 16
        for (int i = 0; i < P; ++i)
            sum[i] = min(high, max(low, sum[i]));
    if (tile.shortSteps > 0)
        applyShort(d.steps, tile.shortSteps, sum);
}

//! `stride` from pixel to pixel; E: float where `count` is not a whole register.
template <int P, typename E>
TENON_INLINE void storeSums(Register const (&sum)[P], int64_t count, E* to, int64_t stride)
{
    if constexpr (kIsFloat<E>)
        if (count != kRegister)
        {
            Mask const mask = firstLanes(count);
#pragma GCC unroll 16
            for (int i = 0; i < P; ++i)
                store(to + i * stride, sum[i], mask);
            return;
        }
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i)
        store(to + i * stride, sum[i]);
}

//! The same to line `line` of the output; sums are not rounded before all steps are done.
template <int P, typename T>
TENON_INLINE void finishLine(DepthwiseTile<T> const& tile, int64_t line, int64_t c, int64_t count, Register (&sum)[P])
{
    Depthwise<T> const& d = tile.work;
    int64_t const row = tile.row + line * d.window.outWidth;
    T* const out = d.out + row * d.channels + c;
    adjustSums(tile, row, c, count, sum);
    int64_t const done = tile.shortSteps;
    if constexpr (kIsFloat<T>)
        return storeSums(sum, count, out, d.channels);
    if (count == kRegister && d.stepCount <= done)
        return storeSums(sum, count, out, d.channels);
    constexpr int kSums{P * static_cast<int>(kRegister)};
    alignas(64) float sums[kSums < kLanes ? kLanes : kSums]; // narrowRow() reads by vectors.
    storeSums(sum, count, sums, kRegister);
    if (d.stepCount > done)
        applySteps(d.steps + done, d.stepCount - done, sums, kRegister, row, P, c, count);
    for (int64_t i = 0; i < P; ++i)
        if (count == kRegister)
            store(out + i * d.channels, loadRegister(sums + i * kRegister));
        else
            narrowRow(sums + i * kRegister, out + i * d.channels, count);
}

//! A register of channels, `count` of which are wanted, of line `line` of a tile.
template <int P, int K, int S, typename T, typename Operands>
TENON_INLINE void runLine(DepthwiseTile<T> const& tile, Operands from, int64_t line, int64_t c, int64_t count)
{
    Register const bias = biasOf(tile.work, c, count != kRegister, firstLanes(count));
    Register sum[P];
#pragma GCC unroll 16
    for (int i = 0; i < P; ++i)
        sum[i] = bias;
    for (int64_t i = 0; i < tile.lines[line].count; ++i, from.advance(kColumns<P, K, S>, K))
        addLine<P, K, S>(from, sum);
    finishLine(tile, line, c, count, sum);
}

//! The same of all lines, each of whose columns becomes floats once for all that read it.
template <int P, int K, typename T>
TENON_INLINE void runWidened(DepthwiseTile<T> const& tile, int64_t c, int64_t count)
{
    Depthwise<T> const& d = tile.work;
    alignas(64) float columns[kMaxWidened * kRegister];
    alignas(64) float taps[kMaxWidenedTaps * kRegister];
    bool const isCut = count != kRegister;
    Mask const mask = firstLanes(count);
    for (int64_t i = 0; i < d.window.kernelHeight * K; ++i)
    {
        T const* const from = d.kernel + i * d.channels + c;
        store(taps + i * kRegister, isCut ? loadRegister(from, mask) : loadRegister(from));
    }
    int64_t widened = tile.firstWidened;
    for (int64_t line = 0; line < tile.lineCount; ++line)
    {
        InputLines const& input = tile.lines[line];
        int64_t const end = input.count > 0 ? input.first + input.count * kColumns<P, K, 1> : 0;
        for (; widened < end; ++widened) // Only now, so that conversions go beside the products of the line before.
        {
            T const* const from = tile.columns[widened] + c;
            store(columns + (widened - tile.firstWidened) * kRegister,
                isCut ? loadRegister(from, mask) : loadRegister(from));
        }
        int64_t const first = input.count > 0 ? input.first - tile.firstWidened : 0;
        WidenedOperands const from{columns + first * kRegister, taps + input.tap * kRegister};
        runLine<P, K, 1>(tile, from, line, c, count);
    }
}

//! The same of two lines at once, with K times K taps at stride 1: an input vector is loaded once for both of them. The
//! upper line has the taps of row y where the lower one has those of the row before.
template <int P, int K, typename T>
TENON_INLINE void runPair(DepthwiseTile<T> const& tile, int64_t c, int64_t count)
{
    constexpr int kWide{P + K - 1};
    Depthwise<T> const& d = tile.work;
    bool const isCut = count != kRegister;
    Mask const mask = firstLanes(count);
    Register const bias = biasOf(d, c, isCut, mask);
    Register upperSum[P];
    Register lowerSum[P];
    for (int i = 0; i < P; ++i)
        upperSum[i] = lowerSum[i] = bias;
    Register taps[2][K];
#pragma GCC unroll 8
    for (int y = 0; y <= K; ++y)
    {
        Register* const upper = taps[y % 2];
        Register* const lower = taps[1 - y % 2];
        for (int t = 0; y < K && t < K; ++t)
        {
            T const* const from = d.kernel + (y * K + t) * d.channels + c;
            upper[t] = isCut ? loadRegister(from, mask) : loadRegister(from);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kWide; ++i)
        {
            T const* const from = tile.columns[tile.lines[0].first + y * kWide + i] + c;
            Register const x = isCut ? loadRegister(from, mask) : loadRegister(from);
#pragma GCC unroll 8
            for (int t = 0; t < K; ++t)
                if (i >= t && i - t < P)
                {
                    if (y < K)
                        upperSum[i - t] = fma(x, upper[t], upperSum[i - t]);
                    if (y > 0)
                        lowerSum[i - t] = fma(x, lower[t], lowerSum[i - t]);
                }
        }
    }
    finishLine(tile, 0, c, count, upperSum);
    finishLine(tile, 1, c, count, lowerSum);
}

//! The same of all lines and `registers` registers, of which `count` channels each are wanted.
template <int P, int K, int S, typename T>
TENON_INLINE void runLines(DepthwiseTile<T> const& tile, int64_t c, int64_t count, int64_t registers)
{
    if constexpr (kWidens<T> && K > 1 && S == 1)
        if (tile.firstWidened >= 0)
            return runWidened<P, K>(tile, c, count);
    Depthwise<T> const& d = tile.work;
    for (int64_t line = 0; line < tile.lineCount; ++line)
    {
        InputLines const& input = tile.lines[line];
        T const* const* const columns = tile.columns + input.first;
        if (tile.ahead != 0)
        {
            // Lines have those rows in common that are not their last ones.
            int64_t const fresh = line == 0 ? input.count : d.window.strideY;
            for (int64_t i = input.count < fresh ? 0 : input.count - fresh; i < input.count; ++i)
                fetch<P, K, S>(columns + i * kColumns<P, K, S>, tile.ahead + c);
            ownNext<P>(tile, line, c, registers * kRegister);
        }
        for (int64_t at = c; at < c + registers * kRegister; at += kRegister)
        {
            StoredOperands<T> const from{
                columns, d.kernel + input.tap * d.channels + at, d.channels, at, count != kRegister, firstLanes(count)};
            runLine<P, K, S>(tile, from, line, at, count);
        }
    }
}

template <int P, int K, typename T>
__attribute__((noinline)) void runPairs(DepthwiseTile<T> const& tile)
{
    int64_t const channels = tile.work.channels;
    int64_t c = 0;
    for (; c + kRegister <= channels; c += kRegister)
        runPair<P, K>(tile, c, kRegister);
    if (c < channels)
        runPair<P, K>(tile, c, channels - c);
}

template <int P, int K, int S, typename T>
TENON_INLINE void runChannels(DepthwiseTile<T> const& tile)
{
    if constexpr (kGoesByPairs && P == kPairWidth && K == kPairTaps && S == 1)
        if (tile.isPair)
            return runPairs<P, K>(tile);
    Depthwise<T> const& d = tile.work;
    int64_t c = 0;
    while (c + kRegister <= d.channels)
    {
        constexpr int64_t kMost{kCacheLineFloats / kRegister};
        int64_t const left = (d.channels - c) / kRegister;
        int64_t const registers = left < kMost ? left : kMost;
        runLines<P, K, S>(tile, c, kRegister, registers);
        c += registers * kRegister;
    }
    if (c < d.channels)
        runLines<P, K, S>(tile, c, d.channels - c, 1);
}

template <int P, int K, int S, typename T>
__attribute__((noinline)) void runPixels(DepthwiseTile<T> const& tile)
{
    Depthwise<T> const& d = tile.work;
    runChannels<P, K, S>(tile);
    if constexpr (kIsFloat<T>) // Whole rows at once.
        if (int64_t const done = tile.shortSteps; d.stepCount > done)
            for (int64_t row = tile.row; row < tile.row + tile.lineCount * d.window.outWidth; row += d.window.outWidth)
                applySteps(
                    d.steps + done, d.stepCount - done, d.out + row * d.channels, d.channels, row, P, 0, d.channels);
}
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
