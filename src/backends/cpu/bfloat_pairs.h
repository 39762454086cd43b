// Pairs of bfloat16 rows, as instructions that multiply two elements at once want them. Included by files that are
// compiled once per instruction set.
#pragma once

#include "backends/cpu/simd.h"

#ifdef __AVX512F__

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

//! Two rows of a panel, [2][16], as pairs: [16][2].
TENON_INLINE __m512i interleaved(__m512i rows)
{
    __m512i const order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
        21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, rows);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE

#endif
