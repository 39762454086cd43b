// How fast products of floats are, which other instructions are measured against. Included by files that are compiled
// once per instruction set.
#pragma once

#include "backends/cpu/simd.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
constexpr int kMeasuredChains{8};
constexpr int kMeasuredSteps{2000};

//! Ticks of so many products of vectors in each of the chains; `seed` keeps the compiler from knowing the result.
__attribute__((noinline)) uint64_t ticksOfProducts(float seed, float& sink)
{
    F16 sums[kMeasuredChains];
    for (F16& sum : sums)
        sum = splat(seed);
    F16 const a = splat(seed);
    uint64_t const start = __builtin_ia32_rdtsc();
    for (int i = 0; i < kMeasuredSteps; ++i)
#pragma GCC unroll 8
        for (int c = 0; c < kMeasuredChains; ++c)
            sums[c] = fma(a, sums[c], a);
    uint64_t const ticks = __builtin_ia32_rdtsc() - start;
    for (F16 const each : sums)
        sink += sum(each);
    return ticks;
}
} // namespace

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
