// Bytes of real numbers by one scale, and back.
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

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
void quantizeByReciprocal(float const* from, ByteNumbers const& form, int8_t* to, int64_t count)
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
