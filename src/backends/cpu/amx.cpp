// Products by AMX: whether they are used.
#include "backends/cpu/amx.h"

#include "base/isa.h"

namespace tenon::cpu
{

bool usesAmxInt8() noexcept
{
    if (activeIsa() < Isa::kAmx)
        return false;
    static bool const isFaster = isIsaClaimed() || avx512::amxInt8IsFaster();
    return isFaster;
}

bool usesAmxBfloats() noexcept
{
    if (activeIsa() < Isa::kAmx)
        return false;
    static bool const areFaster = isIsaClaimed() || avx512::amxBfloatsAreFaster();
    return areFaster;
}

} // namespace tenon::cpu
