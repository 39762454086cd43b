// Products by AMX: a chunk of panels that stays in the second cache is multiplied with two registers of rows after the
// other, two panels at a time, so that four sums are in registers and each load serves two of them. Included by files
// that are compiled once per instruction set.
#pragma once

#include "backends/cpu/amx_rows.h"
#include "backends/cpu/measured_rates.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! A panel: whole steps in a row, and one more elsewhere, or null.
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

//! The four sums, or those that there are, from registers that have been loaded.
template <typename Dot, int R, int P>
TENON_INLINE void addAll()
{
    Dot::template add<0, 4, 6>();
    if constexpr (P == 2)
        Dot::template add<1, 4, 7>();
    if constexpr (R == 2)
        Dot::template add<2, 5, 6>();
    if constexpr (R == 2 && P == 2)
        Dot::template add<3, 5, 7>();
}
template <int R>
TENON_INLINE void loadRows(char const* rows, int64_t rowsApart)
{
    loadAmx<4>(rows);
    if constexpr (R == 2)
        loadAmx<5>(rows + rowsApart);
}
template <int P>
TENON_INLINE void loadPanels(char const* first, char const* second)
{
    loadAmx<6>(first);
    if constexpr (P == 2)
        loadAmx<7>(second);
}

//! Three products of parts: that of the low ones, less than 2^-14 of the whole, is left out. In this order each
//! register is loaded once.
template <typename Dot, int R, int P>
TENON_INLINE void addPartsStep(char const* rows, int64_t rowsApart, char const* first, char const* second)
{
    addStep<Dot, R, P>(rows, rowsApart, first + kAmxBytes, second + kAmxBytes);
    loadPanels<P>(first, second);
    addAll<Dot, R, P>();
    loadRows<R>(rows + kAmxBytes, rowsApart);
    addAll<Dot, R, P>();
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
    constexpr int64_t kStep{Dot::kParts * kAmxBytes};
    for (int64_t i = 0; i < first.count; ++i, rows += kStep)
        if constexpr (Dot::kParts == 1)
            addStep<Dot, R, P>(rows, rowsApart, first.whole + i * kStep, second.whole + i * kStep);
        else
            addPartsStep<Dot, R, P>(rows, rowsApart, first.whole + i * kStep, second.whole + i * kStep);
    if (Dot::kParts == 1 && first.last != nullptr)
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

template <typename Product>
void runAmx(Product const& product, GemmShare const& share, char* packed)
{
    AmxScope const scope;
    AmxSource const source = product.source();
    constexpr int64_t kParts{Product::Dot::kParts};
    int64_t const registers = source.steps() * kParts;
    int64_t const atOnce = amxPanelsAtOnce(registers, kParts);
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
            packAmxRows<kParts>(source, row, count, packed);
            for (int64_t panel = first; panel < end; panel += 2)
            {
                int64_t const width = end - panel < 2 ? 1 : 2;
                auto const sum = kSumAmx<typename Product::Dot>[count > kAmxRows ? 1 : 0][width - 1];
                sum(packed, registers * kAmxBytes, panels + (panel - first), sums);
                product.finish(sums, row, count, panel, width);
            }
        }
    }
}

//! Ticks of 256 products of registers; where numbers have parts, of sixteen steps with what they load.
template <typename Dot>
uint64_t ticksOfAmx()
{
    constexpr int kSteps{64};
    AmxScope const scope;
    alignas(64) char const zeros[Dot::kParts * kAmxBytes]{};
    loadAmx<4>(zeros);
    loadAmx<5>(zeros);
    loadAmx<6>(zeros);
    loadAmx<7>(zeros);
    uint64_t const start = __builtin_ia32_rdtsc();
    if constexpr (Dot::kParts == 1)
        for (int i = 0; i < kSteps; ++i)
            addAll<Dot, 2, 2>();
    else
        for (int i = 0; i < kSteps / 4; ++i)
            addPartsStep<Dot, 2, 2>(zeros, 0, zeros, zeros);
    alignas(64) AmxSums sums;
    storeAmx<3>(sums, kSumColumns * static_cast<int64_t>(sizeof(int32_t))); // The clock waits for the last one.
    asm volatile("lfence" ::: "memory");
    return __builtin_ia32_rdtsc() - start;
}

//! Whether they take at most so many halves of the time of 16,000 products of vectors of floats (ticksOfProducts).
//! Processors come to the speed at which they do either within some 50 µs.
template <typename Dot>
bool amxIsFaster(uint64_t mostHalves)
{
    constexpr int kTries{20};
    float sink{0.0F};
    uint64_t least[2]{UINT64_MAX, UINT64_MAX};
    for (int i = 0; i < kTries; ++i)
    {
        uint64_t const amx = ticksOfAmx<Dot>();
        uint64_t const products = ticksOfProducts(0.25F, sink);
        least[0] = amx < least[0] ? amx : least[0];
        least[1] = products < least[1] ? products : least[1];
    }
    return sink > 0.0F && 2 * least[0] <= mostHalves * least[1];
}
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
