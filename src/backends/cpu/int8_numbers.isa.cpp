// Bytes of real numbers by one scale, and back.
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

#include <bit>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Quotients by a scale as division rounds them, by its reciprocal: that is rounded as division is, and two steps of
//! Newton's are exact then (Markstein).
struct Quotients
{
    F16 scale;
    F16 negative; //!< The scale's.
    F16 reciprocal;
};
TENON_INLINE F16 quotient(Quotients const& by, F16 x)
{
    F16 const first = x * by.reciprocal;
    F16 const second = fma(fma(first, by.negative, x), by.reciprocal, first);
    return fma(fma(second, by.negative, x), by.reciprocal, second);
}

//! What numbers are limited to in front of a division or behind it, and what stands for one that is none.
struct Limits
{
    F16 least;
    F16 most;
    F16 ofNan;
};
TENON_INLINE F16 limited(Limits const& to, F16 x)
{
    F16 const inside = maxOrNan(minOrNan(x, to.most), to.least);
    return selectLess(inside, to.most + to.most, inside, to.ofNan);
}

TENON_INLINE bool areNumbers(F16 a, F16 b)
{
#ifdef __AVX512F__
    return _mm512_cmp_ps_mask(a.v, b.v, _CMP_UNORD_Q) == 0;
#else
    __m256 const low = _mm256_cmp_ps(a.lo, b.lo, _CMP_UNORD_Q);
    return _mm256_movemask_ps(_mm256_or_ps(low, _mm256_cmp_ps(a.hi, b.hi, _CMP_UNORD_Q))) == 0;
#endif
}

//! A scale whose quotients below 2^10 neither overflow nor lose bits on the way.
bool isOrdinary(float scale)
{
    return scale >= 0x1p-60F && scale <= 0x1p60F;
}

template <typename Convert>
TENON_INLINE void quantizeAll(
    float const* from, ByteNumbers const& form, int8_t* to, int64_t count, Convert const& converted)
{
    auto const zeroPoint = static_cast<int32_t>(form.zeroPoint);
    auto const flip = static_cast<int8_t>(form.isSigned ? 0 : -128);
    int64_t i{0};
    for (; i + kLanes <= count; i += kLanes)
        storeNumbers(to + i, converted(load(from + i)), kLanes, zeroPoint, flip);
    if (i < count)
        storeNumbers(to + i, converted(load(from + i, firstLanes(count - i))), count - i, zeroPoint, flip);
}

//! Beyond 2^10 scales every quotient is beyond those of bytes, and storing limits it again.
void quantizeExactly(float const* from, ByteNumbers const& form, int8_t* to, int64_t count)
{
    F16 const scale = splat(form.scale);
    Quotients const by{scale, zero() - scale, splat(1.0F / form.scale)};
    F16 const most = splat(0x1p10F * form.scale);
    F16 const least = zero() - most;
    Limits const limits{least, most, splat((static_cast<float>(form.ofNan) - form.zeroPoint) * form.scale)};
    auto const zeroPoint = static_cast<int32_t>(form.zeroPoint);
    auto const flip = static_cast<int8_t>(form.isSigned ? 0 : -128);
    constexpr int64_t kStep{4 * kLanes};
    int64_t i{0};
    for (; i + kStep <= count; i += kStep)
    {
        F16 const x[4]{
            load(from + i), load(from + i + kLanes), load(from + i + 2 * kLanes), load(from + i + 3 * kLanes)};
        if (!areNumbers(x[0], x[1]) || !areNumbers(x[2], x[3]))
            quantizeAll(from + i, form, to + i, kStep, [&](F16 one) { return quotient(by, limited(limits, one)); });
        else
            for (int64_t v = 0; v < 4; ++v)
                storeNumbers(to + i + v * kLanes, quotient(by, max(min(x[v], most), least)), kLanes, zeroPoint, flip);
    }
    quantizeAll(from + i, form, to + i, count - i, [&](F16 one) { return quotient(by, limited(limits, one)); });
}

constexpr float kRounding{0x1.8p23F}; //!< A float that is a whole number, as are those around it: added to, it rounds.

//! Reciprocals of a scale, three floats below and above the rounded one. Between the two products is the quotient,
//! rounded or not; and where both round to one whole number, so does it. That number is, up to 2^22, what the bits are
//! beyond those of kRounding. Farther off they still saturate to its side or, of products below −kRounding, differ.
struct Reciprocals
{
    float below;
    float above;
    int32_t origin; //!< Bits of the number that becomes 0.
    int8_t flip;
};
Reciprocals reciprocalsOf(ByteNumbers const& form)
{
    constexpr int32_t kNear{3};
    auto const reciprocal = std::bit_cast<int32_t>(1.0F / form.scale);
    return {std::bit_cast<float>(reciprocal - kNear), std::bit_cast<float>(reciprocal + kNear),
        std::bit_cast<int32_t>(kRounding) - static_cast<int32_t>(form.zeroPoint),
        static_cast<int8_t>(form.isSigned ? 0 : -128)};
}

#ifdef __AVX512F__

constexpr int64_t kBounded{64};

//! So many numbers; false, and nothing is stored, where one is none or bounds differ.
TENON_INLINE bool quantizeByBounds(float const* from, Reciprocals const& by, int8_t* to)
{
    constexpr int kVectors{4};
    __m512 const below = _mm512_set1_ps(by.below);
    __m512 const above = _mm512_set1_ps(by.above);
    __m512 const whole = _mm512_set1_ps(kRounding);
    __m512i const origin = _mm512_set1_epi32(by.origin);
    __m512i unequal = _mm512_setzero_si512();
    __m512 x[kVectors];
    __m512i numbers[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
    {
        x[v] = _mm512_loadu_ps(from + v * kLanes);
        __m512i const low = _mm512_castps_si512(_mm512_fmadd_ps(x[v], below, whole));
        __m512i const high = _mm512_castps_si512(_mm512_fmadd_ps(x[v], above, whole));
        constexpr int kOrUnequal{0xF6};
        unequal = _mm512_ternarylogic_epi32(unequal, low, high, kOrUnequal);
        numbers[v] = _mm512_sub_epi32(low, origin);
    }
    unsigned const none = _mm512_cmp_ps_mask(x[0], x[1], _CMP_UNORD_Q) | _mm512_cmp_ps_mask(x[2], x[3], _CMP_UNORD_Q);
    if ((none | _mm512_test_epi32_mask(unequal, unequal)) != 0)
        return false;
    // The packs leave quads of the four vectors in turns.
    __m512i const order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    __m512i const bytes =
        _mm512_packs_epi16(_mm512_packs_epi32(numbers[0], numbers[1]), _mm512_packs_epi32(numbers[2], numbers[3]));
    _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8(by.flip)));
    return true;
}

#else

constexpr int64_t kBounded{32};

TENON_INLINE bool quantizeByBounds(float const* from, Reciprocals const& by, int8_t* to)
{
    constexpr int kVectors{4};
    constexpr int64_t kFloats{8};
    __m256 const below = _mm256_set1_ps(by.below);
    __m256 const above = _mm256_set1_ps(by.above);
    __m256 const whole = _mm256_set1_ps(kRounding);
    __m256i const origin = _mm256_set1_epi32(by.origin);
    __m256i unequal = _mm256_setzero_si256();
    __m256 x[kVectors];
    __m256i numbers[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
    {
        x[v] = _mm256_loadu_ps(from + v * kFloats);
        __m256i const low = _mm256_castps_si256(_mm256_fmadd_ps(x[v], below, whole));
        __m256i const high = _mm256_castps_si256(_mm256_fmadd_ps(x[v], above, whole));
        unequal = _mm256_or_si256(unequal, _mm256_xor_si256(low, high));
        numbers[v] = _mm256_sub_epi32(low, origin);
    }
    __m256 const none = _mm256_or_ps(_mm256_cmp_ps(x[0], x[1], _CMP_UNORD_Q), _mm256_cmp_ps(x[2], x[3], _CMP_UNORD_Q));
    __m256i const unsure = _mm256_or_si256(unequal, _mm256_castps_si256(none));
    if (_mm256_testz_si256(unsure, unsure) == 0)
        return false;
    __m256i const order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i const bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(numbers[0], numbers[1]), _mm256_packs_epi32(numbers[2], numbers[3]));
    __m256i const inOrder = _mm256_permutevar8x32_epi32(bytes, order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_xor_si256(inOrder, _mm256_set1_epi8(by.flip)));
    return true;
}

#endif

//! By bounds as long as these are mostly equal: numbers may lie half-way between two by the thousand.
void quantizeByReciprocal(float const* from, ByteNumbers const& form, int8_t* to, int64_t count)
{
    constexpr int64_t kPatience{4096};
    constexpr int64_t kShare{8}; // Of a group in so many the way by bounds is worth its price.
    Reciprocals const by = reciprocalsOf(form);
    int64_t unsure{0};
    int64_t i{0};
    for (; i + kBounded <= count && unsure * kShare <= i + kPatience; i += kBounded)
    {
        if (quantizeByBounds(from + i, by, to + i))
            continue;
        quantizeExactly(from + i, form, to + i, kBounded);
        unsure += kBounded;
    }
    quantizeExactly(from + i, form, to + i, count - i);
}

void quantizeByDivision(float const* from, ByteNumbers const& form, int8_t* to, int64_t count)
{
    F16 const scale = splat(form.scale);
    F16 const zeroPoint = splat(form.zeroPoint);
    // `most` doubled is still above it.
    Limits const limits{splat(-256.0F), splat(256.0F), splat(static_cast<float>(form.ofNan)) - zeroPoint};
    quantizeAll(from, form, to, count, [&](F16 x) { return limited(limits, x / scale); });
}

template <typename Byte>
TENON_INLINE void dequantizeAll(Byte const* from, F16 zeroPoint, F16 scale, float* to, int64_t count)
{
    int64_t i{0};
    for (; i + kLanes <= count; i += kLanes)
        store(to + i, (loadNumbers(from + i) - zeroPoint) * scale);
    if (i < count)
        store(to + i, (loadNumbers(from + i, count - i) - zeroPoint) * scale, firstLanes(count - i));
}
} // namespace

void quantizeNumbers(float const* from, ByteNumbers const& form, void* to, int64_t count)
{
    auto* const bytes = static_cast<int8_t*>(to);
    isOrdinary(form.scale) ? quantizeByReciprocal(from, form, bytes, count)
                           : quantizeByDivision(from, form, bytes, count);
}

void dequantizeNumbers(void const* from, ByteNumbers const& form, float* to, int64_t count)
{
    F16 const scale = splat(form.scale);
    constexpr float kMiddle{128.0F};
    if (form.isSigned)
        return dequantizeAll(static_cast<int8_t const*>(from), splat(form.zeroPoint), scale, to, count);
    dequantizeAll(static_cast<uint8_t const*>(from), splat(form.zeroPoint + kMiddle), scale, to, count);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
