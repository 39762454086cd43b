// The tables of functions per instruction set.
#include "backends/cpu/isa_functions.h"

#include "base/isa.h"

namespace tenon::cpu
{

namespace
{
#define TENON_ROW(Return, name, arguments) &avx2::name,
constexpr IsaFunctions kAvx2{TENON_ISA_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
#define TENON_ROW(Return, name, arguments) &avx512::name,
constexpr IsaFunctions kAvx512{TENON_ISA_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
} // namespace

IsaFunctions const& isaFunctions() noexcept
{
    return activeIsa() >= Isa::kAvx512 ? kAvx512 : kAvx2;
}

} // namespace tenon::cpu
