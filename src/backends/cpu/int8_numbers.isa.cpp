// Bytes of real numbers by one scale, and back.
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! Quotients by a scale as division rounds them, of numbers that have been limited; by its reciprocal, which is rounded
//! as division is, where two steps of Newton's are exact (Markstein), else by division.
struct Quotients
{
    F16 scale;
    F16 reciprocal;
};
TENON_INLINE F16 quotient(Quotients const& by, F16 x)
{
    F16 const first = x * by.reciprocal;
    F16 const second = fma(fma(zero() - first, by.scale, x), by.reciprocal, first);
    return fma(fma(zero() - second, by.scale, x), by.reciprocal, second);
}

//! Limits of int8 numbers in front of the zero point.
struct Limits
{
    F16 least;
    F16 most;
    F16 ofNan;
};
TENON_INLINE F16 limited(Limits const& to, F16 x)
{
    F16 const inside = maxOrNan(minOrNan(x, to.most), to.least);
    return selectLess(inside, to.most + splat(1.0F), inside, to.ofNan);
}

//! A scale whose quotients below 2^10 neither overflow nor lose bits on the way.
bool isOrdinary(float scale)
{
    return scale >= 0x1p-60F && scale <= 0x1p60F;
}

template <typename Divide>
TENON_INLINE void quantizeAll(
    float const* from, ByteNumbers const& form, int8_t* to, int64_t count, Divide const& divided)
{
    auto const zeroPoint = static_cast<int32_t>(form.zeroPoint);
    Limits const limits{splat(-128.0F - form.zeroPoint), splat(127.0F - form.zeroPoint),
        splat(static_cast<float>(form.ofNan) - form.zeroPoint)};
    auto const flip = static_cast<int8_t>(form.isSigned ? 0 : -128);
    int64_t i{0};
    for (; i + kLanes <= count; i += kLanes)
        storeNumbers(to + i, limited(limits, divided(load(from + i))), kLanes, zeroPoint, flip);
    if (i < count)
        storeNumbers(
            to + i, limited(limits, divided(load(from + i, firstLanes(count - i)))), count - i, zeroPoint, flip);
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
    F16 const scale = splat(form.scale);
    if (!isOrdinary(form.scale))
        return quantizeAll(from, form, bytes, count, [&](F16 x) { return x / scale; });
    // Beyond these limits every quotient is beyond those of bytes; and infinity times 0 is no number.
    F16 const most = splat(0x1p10F * form.scale);
    F16 const least = zero() - most;
    Quotients const quotients{scale, splat(1.0F / form.scale)};
    quantizeAll(
        from, form, bytes, count, [&](F16 x) { return quotient(quotients, maxOrNan(minOrNan(x, most), least)); });
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
