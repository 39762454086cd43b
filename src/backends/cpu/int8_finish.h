// Int8Finish: from sums in registers to what is stored. Included by files that are compiled once per instruction set.
#pragma once

#include "backends/cpu/epilogue_steps.h"
#include "backends/cpu/int8_gemm.h"

#include <cstring>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

#ifdef __AVX512F__

TENON_INLINE F16 loadNumbers(int32_t const* p)
{
    return {_mm512_cvtepi32_ps(_mm512_loadu_si512(p))};
}
TENON_INLINE F16 loadNumbers(int8_t const* p)
{
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))))};
}
TENON_INLINE F16 loadNumbers(int8_t const* p, int64_t count)
{
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(firstLanes(count).m, p)))};
}
TENON_INLINE F16 loadNumbers(uint8_t const* p)
{
    return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))))};
}
TENON_INLINE F16 loadNumbers(uint8_t const* p, int64_t count)
{
    return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(firstLanes(count).m, p)))};
}
//! Whole numbers between −128 and 127 after rounding half to even and adding a zero point; bits of `flip` are turned.
TENON_INLINE void storeNumbers(int8_t* p, F16 x, int64_t count, int32_t zeroPoint, int8_t flip = 0)
{
    __m512i whole = _mm512_cvtps_epi32(x.v);
    if (zeroPoint != 0)
        whole = _mm512_add_epi32(_mm512_max_epi32(whole, _mm512_set1_epi32(-512)), _mm512_set1_epi32(zeroPoint));
    __m128i const bytes = _mm_xor_si128(_mm512_cvtsepi32_epi8(whole), _mm_set1_epi8(flip));
    if (count == kLanes)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    else
        _mm_mask_storeu_epi8(p, firstLanes(count).m, bytes);
}

#else

TENON_INLINE F16 loadNumbers(int32_t const* p)
{
    auto const* const v = reinterpret_cast<__m256i const*>(p);
    return {_mm256_cvtepi32_ps(_mm256_loadu_si256(v)), _mm256_cvtepi32_ps(_mm256_loadu_si256(v + 1))};
}
TENON_INLINE F16 loadNumbers(int8_t const* p)
{
    __m128i const bytes = _mm_loadu_si128(reinterpret_cast<__m128i const*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
        _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
}
TENON_INLINE F16 loadNumbers(int8_t const* p, int64_t count)
{
    int8_t bytes[kLanes]{};
    std::memcpy(bytes, p, static_cast<size_t>(count));
    return loadNumbers(bytes);
}
TENON_INLINE F16 loadNumbers(uint8_t const* p)
{
    __m128i const bytes = _mm_loadu_si128(reinterpret_cast<__m128i const*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
        _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
}
TENON_INLINE F16 loadNumbers(uint8_t const* p, int64_t count)
{
    uint8_t bytes[kLanes]{};
    std::memcpy(bytes, p, static_cast<size_t>(count));
    return loadNumbers(bytes);
}
TENON_INLINE void storeNumbers(int8_t* p, F16 x, int64_t count, int32_t zeroPoint, int8_t flip = 0)
{
    __m256i const words = _mm256_adds_epi16(_mm256_packs_epi32(_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi)),
        _mm256_set1_epi16(static_cast<int16_t>(zeroPoint)));
    __m256i const inOrder = _mm256_permute4x64_epi64(words, _MM_SHUFFLE(3, 1, 2, 0));
    __m128i const signedBytes = _mm_packs_epi16(_mm256_castsi256_si128(inOrder), _mm256_extracti128_si256(inOrder, 1));
    __m128i const bytes = _mm_xor_si128(signedBytes, _mm_set1_epi8(flip));
    if (count == kLanes)
        return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
    alignas(16) int8_t lanes[kLanes];
    _mm_store_si128(reinterpret_cast<__m128i*>(lanes), bytes);
    std::memcpy(p, lanes, static_cast<size_t>(count));
}

#endif

TENON_INLINE F16 loadColumns(float const* p, int64_t count)
{
    return count == kLanes ? load(p) : load(p, firstLanes(count));
}

TENON_INLINE F16 loadExtra(Int8Step const& step, int64_t row, int64_t column, int64_t count)
{
    int64_t const at = row * step.rowStride + column;
    if (!step.isInt8)
        return loadColumns(static_cast<float const*>(step.extra) + at, count);
    auto const* const p = static_cast<int8_t const*>(step.extra) + at;
    return count == kLanes ? loadNumbers(p) : loadNumbers(p, count);
}

//! V vectors of sums of R rows, the last of which has `last` columns.
template <int R, int V>
TENON_INLINE void finishVectors(Int8Finish const& f, F16 (&x)[R][V], int64_t row, int64_t column, int64_t last)
{
    auto const forEach = [&](auto const& apply) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r)
                x[r][v] = apply(x[r][v], row + r, column + v * kLanes, v == V - 1 ? last : kLanes);
    };
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
    {
        int64_t const at = column + v * kLanes;
        int64_t const count = v == V - 1 ? last : kLanes;
        F16 const factor = loadColumns(f.factors + at, count);
        F16 const offset = f.offsets == nullptr ? zero() : loadColumns(f.offsets + at, count);
        F16 const bias = f.bias == nullptr ? zero() : loadColumns(f.bias + at, count);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
            x[r][v] = fma(x[r][v] + offset, factor, bias);
    }
    for (int64_t i = 0; i < f.stepCount; ++i)
    {
        Int8Step const& step = f.steps[static_cast<size_t>(i)];
        F16 const alpha = splat(step.alpha);
        F16 const beta = splat(step.beta);
        switch (step.kind)
        {
        case EpilogueKind::kAdd:
            forEach([&](F16 sum, int64_t r, int64_t c, int64_t count) {
                return fma(loadExtra(step, r, c, count), alpha, sum);
            });
            break;
        case EpilogueKind::kMultiply:
            forEach([&](F16 product, int64_t r, int64_t c, int64_t count) {
                return product * (loadExtra(step, r, c, count) * alpha);
            });
            break;
#define TENON_EPILOGUE_FUNCTION(number, Name, name, ...)                                                               \
    case EpilogueKind::k##Name:                                                                                        \
        forEach([&](F16 each, int64_t, int64_t, int64_t) { return name(each, alpha, beta); });                         \
        break;
            TENON_EPILOGUE_FUNCTIONS(TENON_EPILOGUE_FUNCTION)
#undef TENON_EPILOGUE_FUNCTION
        case EpilogueKind::kLinear:
            forEach([&](F16 each, int64_t, int64_t, int64_t) { return fma(alpha, each, beta); });
            break;
        case EpilogueKind::kRound:
            forEach([&](F16 each, int64_t, int64_t, int64_t) { return rounded(each, alpha, beta); });
            break;
        }
    }
    F16 const inverse = splat(f.inverse);
    if (f.inverse != 0.0F && !f.isFinite) // The number 0 stands for what is none.
        forEach([none = splat(static_cast<float>(-f.zeroPoint) / f.inverse)](
                    F16 each, int64_t, int64_t, int64_t) { return numberOr(each, none); });
    // What is too small becomes the least integer, and −128.
    F16 const most = splat(static_cast<float>(127 - f.zeroPoint));
    forEach([&](F16 each, int64_t r, int64_t c, int64_t count) {
        int64_t const at = r * f.cStride + c;
        if (f.inverse != 0.0F)
            storeNumbers(static_cast<int8_t*>(f.c) + at, min(most, each * inverse), count, f.zeroPoint);
        else if (count == kLanes)
            store(static_cast<float*>(f.c) + at, each);
        else
            store(static_cast<float*>(f.c) + at, each, firstLanes(count));
        return each;
    });
}

#ifdef __AVX512F__
//! What most products end with: int8 numbers of the scale that the sums are in terms of, a ReLU in front or not. In
//! front of that a residual of int8 numbers may be added, the sums rounded to such numbers before or not.
struct NumbersForm
{
    bool isThere{false};
    bool isRelu{false};
    Int8Step const* rounding{nullptr};
    Int8Step const* residual{nullptr};
};
TENON_INLINE NumbersForm numbersForm(Int8Finish const& f)
{
    NumbersForm form;
    int64_t next{0};
    auto const isNext = [&](EpilogueKind kind) {
        return next < f.stepCount && f.steps[static_cast<size_t>(next)].kind == kind;
    };
    if (isNext(EpilogueKind::kRound) && f.steps[0].beta == 1.0F)
        form.rounding = &f.steps[static_cast<size_t>(next++)];
    if (isNext(EpilogueKind::kAdd) && f.steps[static_cast<size_t>(next)].isInt8)
        form.residual = &f.steps[static_cast<size_t>(next++)];
    form.isRelu = isNext(EpilogueKind::kRelu);
    next += form.isRelu ? 1 : 0;
    bool const isWhole = next == f.stepCount && (form.rounding == nullptr || form.residual != nullptr);
    form.isThere = isWhole && f.inverse == 1.0F && f.bias == nullptr;
    return form;
}

//! Rows of 64 sums of such a form: as finishVectors, but that the ReLU is left to the bytes.
template <bool IsRounded, bool HasResidual>
TENON_INLINE void finishNumbers(
    Int8Finish const& f, NumbersForm const& form, int32_t const* sums, int64_t row, int32_t count, int64_t column)
{
    constexpr int kVectors{4};
    __m512 factors[kVectors];
    __m512 offsets[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
    {
        factors[v] = _mm512_loadu_ps(f.factors + column + v * kLanes);
        offsets[v] = f.offsets == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(f.offsets + column + v * kLanes);
    }
    F16 const step = splat(IsRounded ? form.rounding->alpha : 1.0F);
    F16 const scale = splat(HasResidual ? form.residual->alpha : 0.0F);
    int64_t const extraStride = HasResidual ? form.residual->rowStride : 0;
    int8_t const* extra =
        HasResidual ? static_cast<int8_t const*>(form.residual->extra) + row * extraStride + column : nullptr;
    __m512i const least = _mm512_set1_epi8(static_cast<int8_t>(form.isRelu ? f.zeroPoint : -128));
    __m512 const most = _mm512_set1_ps(static_cast<float>(127 - f.zeroPoint));
    __m512i const moved = _mm512_set1_epi16(static_cast<int16_t>(f.zeroPoint));
    // The packs below leave quads of the four vectors in turns.
    __m512i const order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    int8_t* to = static_cast<int8_t*>(f.c) + row * f.cStride + column;
    for (int32_t r = 0; r < count; ++r, to += f.cStride, sums += kVectors * kLanes, extra += extraStride)
    {
        __m512i whole[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
        {
            __m512 const sum = _mm512_add_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sums + v * kLanes)), offsets[v]);
            F16 x{_mm512_mul_ps(sum, factors[v])};
            if constexpr (IsRounded)
                x = roundEven(max(splat(-128.0F), min(splat(127.0F), x))) * step;
            if constexpr (HasResidual)
                x = fma(loadNumbers(extra + v * kLanes), scale, x);
            whole[v] = _mm512_cvtps_epi32(_mm512_min_ps(x.v, most));
        }
        __m512i const low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), moved);
        __m512i const high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), moved);
        __m512i const bytes = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
        _mm512_storeu_si512(to, _mm512_max_epi8(bytes, least));
    }
}
#endif

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
