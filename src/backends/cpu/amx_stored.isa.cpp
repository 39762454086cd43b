// Products of bfloat16 and float16 by AMX.
#include "backends/cpu/amx_run.h"
#include "backends/cpu/bfloat_pairs.h"
#include "backends/cpu/epilogue_steps.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Panels are put in pairs, once for all rows of a share; with two parts each pair is taken apart.
template <typename T, typename DotOfT>
class StoredAmxProduct
{
  public:
    using Dot = DotOfT;

    StoredAmxProduct(Gemm<T> const& g, char* memory)
        : mGemm{g},
          mDepth{g.segments * g.length},
          mMemory{memory}
    {
    }
    AmxSource source() const
    {
        constexpr int64_t kSize{sizeof(T)};
        Gemm<T> const& g = mGemm;
        return {reinterpret_cast<char const*>(g.a), g.aStride * kSize, g.window, kSize, g.segments, g.length * kSize,
            g.length * kSize};
    }
    AmxPanel take(int64_t panel, int64_t slot) const
    {
        int64_t const steps = source().steps();
        T const* from = mGemm.stored + panel * kPanel * mDepth;
        char* const pairs = mMemory + slot * steps * kStepBytes;
        int64_t const rows = mDepth / 2;
        int64_t row{0};
        for (; row < rows; ++row, from += 2 * kPanel)
            put(pairs, row, interleaved(_mm512_loadu_si512(from)));
        if (mDepth % 2 != 0)
            put(pairs, row++, interleaved(_mm512_zextsi256_si512(loadWords(from))));
        for (; row < steps * kAmxRows; ++row)
            put(pairs, row, _mm512_setzero_si512());
        return {pairs, steps, nullptr};
    }
    void finish(void* sums, int64_t row, int64_t rows, int64_t panel, int64_t panels) const
    {
        Gemm<T> const& g = mGemm;
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
    static constexpr int64_t kStepBytes{Dot::kParts * kAmxBytes};

    //! A row of a panel's registers: [steps][parts][16][64].
    static void put(char* pairs, int64_t row, __m512i elements)
    {
        char* const to = pairs + row / kAmxRows * kStepBytes + row % kAmxRows * kAmxRowBytes;
        if constexpr (Dot::kParts == 1)
            _mm512_storeu_si512(to, elements);
        else
        {
            HalfParts const parts = partsOf(elements);
            _mm512_storeu_si512(to, parts.high);
            _mm512_storeu_si512(to + kAmxBytes, parts.low);
        }
    }
    void addRow(float* sums, int64_t row, int64_t column, int64_t columns) const
    {
        Gemm<T> const& g = mGemm;
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

    Gemm<T> const& mGemm;
    int64_t mDepth;
    char* mMemory;
};

template <typename Dot, typename T>
void runStored(Gemm<T> const& gemm, GemmShare const& share, char* scratch)
{
    int64_t const steps = amxSteps(gemm.segments * gemm.length * static_cast<int64_t>(sizeof(T)));
    char* const panels = scratch + 2 * steps * Dot::kParts * kAmxBytes;
    runAmx(StoredAmxProduct<T, Dot>{gemm, panels}, share, scratch);
}

//! Numbers of float16 below one: those of `seed`, which goes on, subnormal ones among them.
void drawHalves(uint32_t& seed, Half* to, int64_t count)
{
    for (int64_t i = 0; i < count; ++i)
    {
        seed = seed * 1664525 + 1013904223;
        auto const sign = static_cast<uint16_t>(seed >> 16 & 0x8000);
        to[i].bits = static_cast<uint16_t>(sign | (seed >> 8) % 0x3C00);
    }
}
} // namespace

bool amxBfloatsAreFaster()
{
    // AVX512-BF16 takes twice as long as floats for as many products of two: as with int8.
    return amxIsFaster<AmxBfloats>(4);
}
bool amxHalfPartsAreFaster()
{
    // Floats take two times as long as that for sixteen steps. Their kernels reach six tenths of that rate where AMX
    // is, those of parts seven tenths of theirs.
    return amxIsFaster<AmxHalfParts>(5);
}
bool amxHalfPartsAreFast()
{
    return amxIsFaster<AmxHalfParts>(2);
}
bool amxHalvesAreFaster()
{
    return amxIsFaster<AmxHalves>(4);
}

bool amxHalvesAgree()
{
    constexpr int64_t kDepth{kAmxRowBytes / static_cast<int64_t>(sizeof(Half))};
    alignas(64) Half rows[kAmxRows * kDepth];
    alignas(64) Half pairs[kAmxRows * kDepth]; // [depth / 2][columns][2]
    alignas(64) float sums[kAmxRows * kPanel];
    uint32_t seed{7};
    drawHalves(seed, rows, kAmxRows * kDepth);
    drawHalves(seed, pairs, kAmxRows * kDepth);
    {
        AmxScope const scope;
        clearAmx<0>();
        loadAmx<4>(rows);
        loadAmx<6>(pairs);
        AmxHalves::add<0, 4, 6>();
        storeAmx<0>(sums, kAmxRowBytes);
    }
    for (int64_t r = 0; r < kAmxRows; ++r)
        for (int64_t c = 0; c < kPanel; ++c)
        {
            double sum{0.0};
            double size{0.0};
            for (int64_t k = 0; k < kDepth; ++k)
            {
                double const a{toFloat(rows[r * kDepth + k])};
                double const b{toFloat(pairs[(k / 2 * kPanel + c) * 2 + k % 2])};
                sum += a * b;
                size += a * b < 0.0 ? -a * b : a * b;
            }
            double const off = static_cast<double>(sums[r * kPanel + c]) - sum;
            if (!(off <= 1e-6 * size && -off <= 1e-6 * size))
                return false;
        }
    return true;
}

template <typename T>
void runGemmAmx(Gemm<T> const& gemm, GemmShare const& share, void* scratch)
{
    char* const memory = static_cast<char*>(scratch);
    if constexpr (std::is_same_v<T, Bfloat>)
        runStored<AmxBfloats>(gemm, share, memory);
    else if (amxParts<T>() == 1)
        runStored<AmxHalves>(gemm, share, memory);
    else
        runStored<AmxHalfParts>(gemm, share, memory);
}
template void runGemmAmx(Gemm<Bfloat> const&, GemmShare const&, void*);
template void runGemmAmx(Gemm<Half> const&, GemmShare const&, void*);

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
