// In place of the kernels for AVX-512, in a build for this machine that has none: activeIsa() never comes to them.
#include "backends/cpu/amx.h"
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/isa_functions.h"
#include "base/isa.h"

#include <cstdlib>

namespace tenon
{

Isa isaOfBuild() noexcept
{
    return Isa::kAvx2;
}

namespace cpu::avx512
{

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define TENON_ROW(Return, name, arguments)                                                                             \
    Return name arguments                                                                                              \
    {                                                                                                                  \
        std::abort();                                                                                                  \
    }
#define TENON_STORAGE_ROW(Return, name, arguments)                                                                     \
    template <typename T>                                                                                              \
    TENON_ROW(Return, name, arguments)

TENON_ISA_FUNCTIONS(TENON_ROW)
TENON_INT8_FUNCTIONS(TENON_ROW)
TENON_ROW(void, runInt8GemmVnni, (Int8Gemm const& gemm, GemmShare const& share, void* scratch))
TENON_ROW(void, runInt8GemmAmx, (Int8Gemm const& gemm, GemmShare const& share, void* scratch))
TENON_ROW(bool, amxInt8IsFaster, ())
TENON_ROW(bool, amxBfloatsAreFaster, ())
TENON_ROW(bool, amxHalfPartsAreFaster, ())
TENON_ROW(bool, amxHalfPartsAreFast, ())
TENON_ROW(bool, amxHalvesAreFaster, ())
TENON_ROW(bool, amxHalvesAgree, ())
TENON_STORAGE_FUNCTIONS(TENON_STORAGE_ROW)
TENON_STORAGE_ROW(void, runGemmAmx, (Gemm<T> const& gemm, GemmShare const& share, void* scratch))
#undef TENON_ROW
#undef TENON_STORAGE_ROW

// The tables name each function for each type: that makes them.
#define TENON_STORAGE_ROW(Return, name, arguments) &avx512::name<T>,
template <typename T>
StorageFunctions<T> tableOf()
{
    return {TENON_STORAGE_FUNCTIONS(TENON_STORAGE_ROW)};
}
#undef TENON_STORAGE_ROW
#define TENON_ROW(T) template StorageFunctions<T> tableOf<T>()
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace cpu::avx512

} // namespace tenon
