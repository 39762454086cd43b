// Products by AMX: whether they are used.
#include "backends/cpu/amx.h"

#include "base/isa.h"

namespace tenon::cpu
{

bool usesAmxInt8() noexcept
{
    if (activeIsa() < Isa::kAmx)
        return false;
    if (isIsaClaimed())
        return true;
    static bool const isFaster = avx512::amxInt8IsFaster();
    return isFaster;
}

bool usesAmxBfloats() noexcept
{
    if (activeIsa() < Isa::kAmx)
        return false;
    if (isIsaClaimed())
        return true;
    static bool const areFaster = avx512::amxBfloatsAreFaster();
    return areFaster;
}

bool usesAmxFp16() noexcept
{
    if (activeIsa() < Isa::kAmxFp16)
        return false;
    // The one instruction here that no machine of ours has: it shows first that it does what its manual says.
    static bool const areRight = avx512::amxHalvesAgree();
    if (!areRight || isIsaClaimed())
        return areRight;
    static bool const areFaster = avx512::amxHalvesAreFaster();
    return areFaster;
}

bool usesAmxHalves() noexcept
{
    if (activeIsa() < Isa::kAmx)
        return false;
    if (isIsaClaimed() || usesAmxFp16())
        return true;
    static bool const areFaster = avx512::amxHalfPartsAreFaster();
    return areFaster;
}

bool areAmxHalvesFast() noexcept
{
    if (activeIsa() < Isa::kAmx)
        return false;
    if (isIsaClaimed() || usesAmxFp16())
        return true;
    static bool const areFast = avx512::amxHalfPartsAreFast();
    return areFast && usesAmxHalves();
}

} // namespace tenon::cpu
