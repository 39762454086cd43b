// The tables of functions per instruction set.
#include "backends/cpu/isa_functions.h"

#include "base/isa.h"

namespace tenon::cpu
{

namespace
{
#define TENON_ROW(Return, name, arguments) &avx2::name,
#define TENON_STORAGE_ROW(Return, name, arguments) &avx2::name<T>,
constexpr IsaFunctions kAvx2{TENON_ISA_FUNCTIONS(TENON_ROW)};
template <typename T>
constexpr StorageFunctions<T> kStorageAvx2{TENON_STORAGE_FUNCTIONS(TENON_STORAGE_ROW)};
#undef TENON_ROW
#undef TENON_STORAGE_ROW
#define TENON_ROW(Return, name, arguments) &avx512::name,
#define TENON_STORAGE_ROW(Return, name, arguments) &avx512::name<T>,
constexpr IsaFunctions kAvx512{TENON_ISA_FUNCTIONS(TENON_ROW)};
template <typename T>
constexpr StorageFunctions<T> kStorageAvx512{TENON_STORAGE_FUNCTIONS(TENON_STORAGE_ROW)};
#undef TENON_ROW
#undef TENON_STORAGE_ROW
} // namespace

IsaFunctions const& isaFunctions() noexcept
{
    return activeIsa() >= Isa::kAvx512 ? kAvx512 : kAvx2;
}

template <typename T>
StorageFunctions<T> const& storageFunctions() noexcept
{
    return activeIsa() >= Isa::kAvx512 ? kStorageAvx512<T> : kStorageAvx2<T>;
}

#define TENON_ROW(T) template StorageFunctions<T> const& storageFunctions<T>() noexcept
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu
