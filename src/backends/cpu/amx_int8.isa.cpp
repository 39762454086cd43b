// Products of int8 by AMX.
#include "backends/cpu/amx_run.h"
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Panels lie as the registers want them; only what is left of a panel behind its last whole register is copied.
class Int8AmxProduct
{
  public:
    using Dot = AmxInt8;

    Int8AmxProduct(Int8Gemm const& g, char* memory)
        : mGemm{g},
          mQuads{g.segments * quadsOf(g.length)},
          mMemory{memory}
    {
    }
    AmxSource source() const
    {
        Int8Gemm const& g = mGemm;
        return {reinterpret_cast<char const*>(g.a), g.aStride, g.window, 1, g.segments, g.length,
            quadsOf(g.length) * kQuad};
    }
    AmxPanel take(int64_t panel, int64_t slot) const
    {
        char const* const from = reinterpret_cast<char const*>(mGemm.panels) + panel * mQuads * kAmxRowBytes;
        int64_t const whole = mQuads / kAmxRows;
        int64_t const rest = mQuads % kAmxRows;
        if (rest == 0)
            return {from, whole, nullptr};
        char* const last = mMemory + slot * kAmxBytes;
        for (int64_t q = 0; q < kAmxRows; ++q)
            _mm512_storeu_si512(last + q * kAmxRowBytes,
                q < rest ? _mm512_loadu_si512(from + (whole * kAmxRows + q) * kAmxRowBytes) : _mm512_setzero_si512());
        return {from, whole, last};
    }
    void finish(void* sums, int64_t row, int64_t rows, int64_t panel, int64_t panels) const
    {
        int64_t const column = panel * kPanel;
        int64_t const end = mGemm.columns - column - (panels - 1) * kPanel;
        int64_t const last = end < kLanes ? end : kLanes;
        auto const* const numbers = static_cast<int32_t const*>(sums);
        for (int64_t r = 0; r < rows; ++r)
            if (panels == 2)
                finishRow<2>(numbers + r * kSumColumns, row + r, column, last);
            else
                finishRow<1>(numbers + r * kSumColumns, row + r, column, last);
    }

  private:
    template <int V>
    void finishRow(int32_t const* sums, int64_t row, int64_t column, int64_t last) const
    {
        F16 x[1][V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v)
            x[0][v] = loadNumbers(sums + v * kLanes);
        finishVectors(mGemm.finish, x, row, column, last);
    }

    Int8Gemm const& mGemm;
    int64_t mQuads;
    char* mMemory;
};
} // namespace

bool amxInt8IsFaster()
{
    // VNNI takes four times as long as floats for as many products: half of AMX's rate may be lost where rows are put
    // into registers.
    return amxIsFaster<AmxInt8>(4);
}

void runInt8GemmAmx(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    if (share.lastRow - share.firstRow < kLeastAmxRows)
        return runInt8GemmVnni(gemm, share, scratch);
    char* const packed = static_cast<char*>(scratch);
    int64_t const steps = amxSteps(gemm.segments * quadsOf(gemm.length) * kQuad);
    runAmx(Int8AmxProduct{gemm, packed + 2 * steps * kAmxBytes}, share, packed);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
