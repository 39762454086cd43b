// Rows as the registers of AMX want them: a row's segments one behind the other, cut into steps of 64 bytes. Included
// by one file that is compiled once per instruction set.
#pragma once

#include "backends/cpu/amx_registers.h"
#include "backends/cpu/half_parts.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Where rows lie. All numbers are bytes, but those of the window, which count elements.
struct AmxSource
{
    char const* a{nullptr};
    int64_t stride{0}; //!< From row to row, without a window.
    GemmWindow const* window{nullptr};
    int64_t element{1};
    int64_t segments{1};
    int64_t segment{0}; //!< What stands in memory of one,
    int64_t padded{0};  //!< and what it takes in a row: zeros follow.

    int64_t steps() const
    {
        return amxSteps(segments * padded);
    }
};

TENON_INLINE __mmask64 firstBytes(int64_t count)
{
    return count >= kAmxRowBytes ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

//! Writes rows of `Parts` registers per step: [steps][Parts][16][64]. With two, halves become sums of bfloat16.
template <int64_t Parts>
class AmxRowWriter
{
  public:
    explicit AmxRowWriter(char* row)
        : mRow{row}
    {
    }
    //! `bytes` of memory, then zeros up to `padded`.
    void put(char const* from, int64_t bytes, int64_t padded)
    {
        while (padded > 0)
        {
            int64_t const at = mAt % kAmxRowBytes;
            int64_t const room = kAmxRowBytes - at;
            int64_t const count = padded < room ? padded : room;
            char* const to = mRow + mAt / kAmxRowBytes * Parts * kAmxBytes + at;
            if (count == kAmxRowBytes && bytes >= kAmxRowBytes)
                store(to, ~__mmask64{0}, _mm512_loadu_si512(from));
            else
            {
                int64_t const there = bytes < 0 ? 0 : bytes < count ? bytes : count;
                store(to, firstBytes(count), _mm512_maskz_loadu_epi8(firstBytes(there), from));
            }
            from += count;
            bytes -= count;
            padded -= count;
            mAt += count;
        }
    }
    //! Zeros up to the end of the last step.
    void end()
    {
        if (int64_t const at = mAt % kAmxRowBytes; at != 0)
            put(mRow, 0, kAmxRowBytes - at);
    }

  private:
    static void store(char* to, __mmask64 mask, __m512i bytes)
    {
        if constexpr (Parts == 1)
            _mm512_mask_storeu_epi8(to, mask, bytes);
        else
        {
            HalfParts const parts = partsOf(bytes);
            _mm512_mask_storeu_epi8(to, mask, parts.high);
            _mm512_mask_storeu_epi8(to + kAmxBytes, mask, parts.low);
        }
    }

    char* mRow;
    int64_t mAt{0};
};

//! The pixel of the output that a row is of.
struct AmxPixel
{
    int64_t image;
    int64_t y;
    int64_t x;

    AmxPixel(GemmWindow const& w, int64_t row)
        : image{row / (w.outHeight * w.outWidth)},
          y{row / w.outWidth % w.outHeight},
          x{row % w.outWidth}
    {
    }
    void next(GemmWindow const& w)
    {
        if (++x < w.outWidth)
            return;
        x = 0;
        if (++y < w.outHeight)
            return;
        y = 0;
        ++image;
    }
};

template <int64_t Parts>
void packWindow(AmxSource const& source, AmxPixel const& pixel, AmxRowWriter<Parts>& row)
{
    GemmWindow const& w = *source.window;
    char const* const image = source.a + pixel.image * w.imageStride * source.element;
    int64_t const step = w.pixelStride * source.element;
    int64_t const top = pixel.y * w.strideY - w.padTop;
    int64_t const left = pixel.x * w.strideX - w.padLeft;
    // Taps side by side are one piece of memory.
    bool const isDense = step == source.segment && source.segment == source.padded && w.dilationX == 1;
    bool const isWholeLine = isDense && left >= 0 && left + w.kernelWidth <= w.inWidth;
    for (int64_t ky = 0; ky < w.kernelHeight; ++ky)
    {
        int64_t const y = top + ky * w.dilationY;
        bool const isLine = static_cast<uint64_t>(y) < static_cast<uint64_t>(w.inHeight);
        char const* const line = image + y * w.lineStride * source.element;
        if (!isLine || isWholeLine)
        {
            row.put(line + left * step, isLine ? w.kernelWidth * source.segment : 0, w.kernelWidth * source.padded);
            continue;
        }
        for (int64_t kx = 0; kx < w.kernelWidth; ++kx)
        {
            int64_t const x = left + kx * w.dilationX;
            bool const isInside = static_cast<uint64_t>(x) < static_cast<uint64_t>(w.inWidth);
            row.put(line + x * step, isInside ? source.segment : 0, source.padded);
        }
    }
}

//! Rows [row, row + count), at most kAmxTileRows: those of the second sixteen behind all registers of the first.
template <int64_t Parts>
void packAmxRows(AmxSource const& source, int64_t row, int64_t count, char* to)
{
    int64_t const registers = source.steps() * Parts;
    AmxPixel pixel{source.window == nullptr ? GemmWindow{} : *source.window, row};
    for (int64_t r = 0; r < count; ++r)
    {
        AmxRowWriter<Parts> writer{to + r / kAmxRows * registers * kAmxBytes + r % kAmxRows * kAmxRowBytes};
        if (source.window == nullptr)
            writer.put(source.a + (row + r) * source.stride, source.segment, source.padded);
        else
        {
            packWindow(source, pixel, writer);
            pixel.next(*source.window);
        }
        writer.end();
    }
}
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
