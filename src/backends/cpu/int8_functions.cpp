// The tables of int8 functions per instruction set.
#include "backends/cpu/int8_functions.h"

#include "backends/cpu/amx.h"
#include "base/isa.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
#define TENON_ROW(Return, name, arguments) &avx2::name,
constexpr Int8Functions kInt8Avx2{TENON_INT8_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
#define TENON_ROW(Return, name, arguments) &avx512::name,
constexpr Int8Functions kInt8Avx512{TENON_INT8_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
constexpr Int8Functions kInt8Vnni{&avx512::runInt8GemmVnni, &avx512::runInt8Tiles, &avx512::runInt8Depthwise,
    &avx512::runInt8MaxPool, &avx512::quantizeNumbers, &avx512::dequantizeNumbers};
constexpr Int8Functions kInt8Amx{&avx512::runInt8GemmAmx, &avx512::runInt8Tiles, &avx512::runInt8Depthwise,
    &avx512::runInt8MaxPool, &avx512::quantizeNumbers, &avx512::dequantizeNumbers};
} // namespace

int64_t int8Scratch(int64_t segments, int64_t length) noexcept
{
    int64_t const pointers = segments * kMaxTileRows * static_cast<int64_t>(sizeof(void*));
    int64_t const depth = segments * quadsOf(length) * kQuad;
    int64_t const bytes = (pointers + depth * kMaxTileRows * 3 + 127) / 64 * 64;
    return usesAmxInt8() ? std::max(bytes, amxScratch(amxSteps(depth), 1)) : bytes;
}

int64_t int8RowGrain() noexcept
{
    return usesAmxInt8() ? kAmxRows : kRowGrain;
}

Int8Functions const& int8Functions() noexcept
{
    if (usesAmxInt8())
        return kInt8Amx;
    Isa const isa = activeIsa();
    return isa >= Isa::kAvx512Vnni ? kInt8Vnni : isa >= Isa::kAvx512 ? kInt8Avx512 : kInt8Avx2;
}

} // namespace tenon::cpu
