// Int8 numbers of real ones by one scale.
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! As Quantize says it, in front of the zero point: what is no number becomes 0 with it.
TENON_INLINE F16 numbersOf(F16 x, F16 scale, F16 zeroPoint)
{
    F16 const most = splat(127.0F) - zeroPoint;
    F16 const inside = maxOrNan(minOrNan(x / scale, most), splat(-128.0F) - zeroPoint);
    return selectLess(inside, most + splat(1.0F), inside, zero() - zeroPoint);
}
} // namespace

void quantizeNumbers(float const* from, float scale, int32_t zeroPoint, int8_t* to, int64_t count)
{
    F16 const all = splat(scale);
    F16 const moved = splat(static_cast<float>(zeroPoint));
    int64_t i{0};
    for (; i + kLanes <= count; i += kLanes)
        storeNumbers(to + i, numbersOf(load(from + i), all, moved), kLanes, zeroPoint);
    if (i < count)
        storeNumbers(to + i, numbersOf(load(from + i, firstLanes(count - i)), all, moved), count - i, zeroPoint);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
