// The tables of int8 functions per instruction set.
#include "backends/cpu/int8_functions.h"

#include "base/isa.h"

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
constexpr Int8Functions kInt8Vnni{
    &avx512::runInt8GemmVnni, &avx512::runInt8Tiles, &avx512::runInt8Depthwise, &avx512::runInt8MaxPool};
} // namespace

Int8Functions const& int8Functions() noexcept
{
    Isa const isa = activeIsa();
    return isa >= Isa::kAvx512Vnni ? kInt8Vnni : isa >= Isa::kAvx512 ? kInt8Avx512 : kInt8Avx2;
}

} // namespace tenon::cpu
