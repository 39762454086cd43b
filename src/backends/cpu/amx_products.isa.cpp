// Products by AMX: a chunk of panels that stays in the second cache is multiplied with two registers of rows after the
// other, two panels at a time, so that four sums are in registers and each load serves two of them.
#include "backends/cpu/amx_rows.h"

#include "backends/cpu/bfloat_pairs.h"
#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/measured_rates.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! A panel: whole registers in a row, and one more elsewhere, or null.
struct AmxPanel
{
    char const* whole;
    int64_t count;
    char const* last;
};

constexpr int64_t kSumColumns{2 * kPanel};
using AmxSums = int32_t[kAmxTileRows * kSumColumns]; //!< Or floats: [rows][two panels].

template <typename Dot, int R, int P>
TENON_INLINE void addStep(char const* rows, int64_t rowsApart, char const* first, char const* second)
{
    loadAmx<4>(rows);
    loadAmx<6>(first);
    Dot::template add<0, 4, 6>();
    if constexpr (P == 2)
    {
        loadAmx<7>(second);
        Dot::template add<1, 4, 7>();
    }
    if constexpr (R == 2)
    {
        loadAmx<5>(rows + rowsApart);
        Dot::template add<2, 5, 6>();
        if constexpr (P == 2)
            Dot::template add<3, 5, 7>();
    }
}

//! R registers of rows times P panels.
template <typename Dot, int R, int P>
__attribute__((noinline)) void sumAmx(char const* rows, int64_t rowsApart, AmxPanel const* panels, void* sums)
{
    clearAmx<0>();
    clearAmx<1>();
    clearAmx<2>();
    clearAmx<3>();
    AmxPanel const& first = panels[0];
    AmxPanel const& second = panels[P - 1];
    for (int64_t i = 0; i < first.count; ++i, rows += kAmxBytes)
        addStep<Dot, R, P>(rows, rowsApart, first.whole + i * kAmxBytes, second.whole + i * kAmxBytes);
    if (first.last != nullptr)
        addStep<Dot, R, P>(rows, rowsApart, first.last, second.last);
    constexpr int64_t kStride{kSumColumns * static_cast<int64_t>(sizeof(int32_t))};
    char* const to = static_cast<char*>(sums);
    storeAmx<0>(to, kStride);
    if constexpr (P == 2)
        storeAmx<1>(to + kAmxRowBytes, kStride);
    if constexpr (R == 2)
        storeAmx<2>(to + kAmxRows * kStride, kStride);
    if constexpr (R == 2 && P == 2)
        storeAmx<3>(to + kAmxRows * kStride + kAmxRowBytes, kStride);
}
template <typename Dot>
constexpr void (*kSumAmx[2][2])(char const*, int64_t, AmxPanel const*, void*){
    {&sumAmx<Dot, 1, 1>, &sumAmx<Dot, 1, 2>}, {&sumAmx<Dot, 2, 1>, &sumAmx<Dot, 2, 2>}};

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

//! Panels are put in pairs, once for all rows of a share.
class BfloatAmxProduct
{
  public:
    using Dot = AmxBfloats;

    BfloatAmxProduct(Gemm<Bfloat> const& g, char* memory)
        : mGemm{g},
          mDepth{g.segments * g.length},
          mMemory{memory}
    {
    }
    AmxSource source() const
    {
        constexpr int64_t kSize{sizeof(Bfloat)};
        Gemm<Bfloat> const& g = mGemm;
        return {reinterpret_cast<char const*>(g.a), g.aStride * kSize, g.window, kSize, g.segments, g.length * kSize,
            g.length * kSize};
    }
    AmxPanel take(int64_t panel, int64_t slot) const
    {
        int64_t const steps = source().steps();
        Bfloat const* from = mGemm.stored + panel * kPanel * mDepth;
        char* const pairs = mMemory + slot * steps * kAmxBytes;
        char* to = pairs;
        int64_t k{0};
        for (; k + 2 <= mDepth; k += 2, from += 2 * kPanel, to += kAmxRowBytes)
            _mm512_storeu_si512(to, interleaved(_mm512_loadu_si512(from)));
        if (k < mDepth)
        {
            _mm512_storeu_si512(to, interleaved(_mm512_zextsi256_si512(loadWords(from))));
            to += kAmxRowBytes;
        }
        for (char const* const end = pairs + steps * kAmxBytes; to < end; to += kAmxRowBytes)
            _mm512_storeu_si512(to, _mm512_setzero_si512());
        return {pairs, steps, nullptr};
    }
    void finish(void* sums, int64_t row, int64_t rows, int64_t panel, int64_t panels) const
    {
        Gemm<Bfloat> const& g = mGemm;
        int64_t const column = panel * kPanel;
        int64_t const left = g.columns - column;
        int64_t const columns = left < panels * kPanel ? left : panels * kPanel;
        auto* const numbers = static_cast<float*>(sums);
        for (int64_t r = 0; r < rows; ++r)
            addRow(numbers + r * kSumColumns, row + r, column, columns);
        if (g.stepCount > 0)
            applySteps(g.steps, g.stepCount, numbers, kSumColumns, row, rows, column, columns);
        for (int64_t r = 0; r < rows; ++r)
            narrowRow(numbers + r * kSumColumns, g.c + (row + r) * g.cStride + column, columns);
    }

  private:
    void addRow(float* sums, int64_t row, int64_t column, int64_t columns) const
    {
        Gemm<Bfloat> const& g = mGemm;
        for (int64_t n = 0; n < columns; n += kLanes)
        {
            Mask const mask = firstLanes(columns - n < kLanes ? columns - n : kLanes);
            F16 const bias = g.bias == nullptr ? zero() : load(g.bias + column + n, mask);
            F16 x = fma(load(sums + n), splat(g.alpha), bias);
            if (g.residual != nullptr)
                x = x + load(g.residual + row * g.residualStride + column + n, mask);
            store(sums + n, min(splat(g.high), max(splat(g.low), x)));
        }
    }

    Gemm<Bfloat> const& mGemm;
    int64_t mDepth;
    char* mMemory;
};

template <typename Product>
void runAmx(Product const& product, GemmShare const& share, char* packed)
{
    AmxScope const scope;
    AmxSource const source = product.source();
    int64_t const steps = source.steps();
    int64_t const atOnce = amxPanelsAtOnce(steps);
    alignas(64) AmxSums sums;
    AmxPanel panels[kMaxAmxPanels];
    for (int64_t first = share.firstPanel; first < share.lastPanel; first += atOnce)
    {
        int64_t const end = share.lastPanel - first < atOnce ? share.lastPanel : first + atOnce;
        for (int64_t panel = first; panel < end; ++panel)
            panels[panel - first] = product.take(panel, panel - first);
        for (int64_t row = share.firstRow; row < share.lastRow; row += kAmxTileRows)
        {
            int64_t const left = share.lastRow - row;
            int64_t const count = left < kAmxTileRows ? left : kAmxTileRows;
            packAmxRows(source, row, count, packed);
            for (int64_t panel = first; panel < end; panel += 2)
            {
                int64_t const width = end - panel < 2 ? 1 : 2;
                auto const sum = kSumAmx<typename Product::Dot>[count > kAmxRows ? 1 : 0][width - 1];
                sum(packed, steps * kAmxBytes, panels + (panel - first), sums);
                product.finish(sums, row, count, panel, width);
            }
        }
    }
}

//! Ticks of 256 products of registers.
template <typename Dot>
uint64_t ticksOfAmx()
{
    constexpr int kSteps{64};
    AmxScope const scope;
    alignas(64) char const zeros[kAmxBytes]{};
    loadAmx<4>(zeros);
    loadAmx<5>(zeros);
    loadAmx<6>(zeros);
    loadAmx<7>(zeros);
    uint64_t const start = __builtin_ia32_rdtsc();
    for (int i = 0; i < kSteps; ++i)
    {
        Dot::template add<0, 4, 6>();
        Dot::template add<1, 4, 7>();
        Dot::template add<2, 5, 6>();
        Dot::template add<3, 5, 7>();
    }
    alignas(64) AmxSums sums;
    storeAmx<3>(sums, kSumColumns * static_cast<int64_t>(sizeof(int32_t))); // The clock waits for the last one.
    asm volatile("lfence" ::: "memory");
    return __builtin_ia32_rdtsc() - start;
}

//! Whether they take at most twice the time of 16,000 products of vectors of floats (ticksOfProducts). VNNI takes four
//! times as long as that for as many products of int8, AVX512-BF16 for as many of bfloat16: half of AMX's rate may be
//! lost where rows are put into registers.
template <typename Dot>
bool amxIsFaster()
{
    float sink{0.0F};
    uint64_t least[2]{UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < 5; ++i)
    {
        uint64_t const amx = ticksOfAmx<Dot>();
        uint64_t const products = ticksOfProducts(0.25F, sink);
        least[0] = amx < least[0] ? amx : least[0];
        least[1] = products < least[1] ? products : least[1];
    }
    return sink > 0.0F && least[0] <= 2 * least[1];
}
} // namespace

bool amxInt8IsFaster()
{
    return amxIsFaster<AmxInt8>();
}

bool amxBfloatsAreFaster()
{
    return amxIsFaster<AmxBfloats>();
}

void runInt8GemmAmx(Int8Gemm const& gemm, GemmShare const& share, void* scratch)
{
    if (share.lastRow - share.firstRow < kLeastAmxRows)
        return runInt8GemmVnni(gemm, share, scratch);
    char* const packed = static_cast<char*>(scratch);
    int64_t const steps = amxSteps(gemm.segments * quadsOf(gemm.length) * kQuad);
    runAmx(Int8AmxProduct{gemm, packed + 2 * steps * kAmxBytes}, share, packed);
}

void runBfloatGemmAmx(Gemm<Bfloat> const& gemm, GemmShare const& share, void* scratch)
{
    char* const packed = static_cast<char*>(scratch);
    int64_t const steps = amxSteps(gemm.segments * gemm.length * static_cast<int64_t>(sizeof(Bfloat)));
    runAmx(BfloatAmxProduct{gemm, packed + 2 * steps * kAmxBytes}, share, packed);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
