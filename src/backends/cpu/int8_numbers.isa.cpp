// Int8 numbers of real ones by one scale.
#include "backends/cpu/int8_finish.h"
#include "backends/cpu/int8_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! As Quantize says it: what is no number becomes 0.
TENON_INLINE F16 numbersOf(F16 x, F16 scale)
{
    F16 const inside = maxOrNan(minOrNan(x / scale, splat(127.0F)), splat(-128.0F));
    return selectLess(inside, splat(128.0F), inside, zero());
}
} // namespace

void quantizeNumbers(float const* from, float scale, int8_t* to, int64_t count)
{
    F16 const all = splat(scale);
    int64_t i{0};
    for (; i + kLanes <= count; i += kLanes)
        storeNumbers(to + i, numbersOf(load(from + i), all), kLanes);
    if (i < count)
        storeNumbers(to + i, numbersOf(load(from + i, firstLanes(count - i)), all), count - i);
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
