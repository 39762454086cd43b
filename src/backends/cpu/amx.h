// Products by AMX: whether they are used, and the memory that they need.
#pragma once

#include "backends/cpu/gemm.h"

#include <cstdint>
#include <type_traits>

namespace tenon::cpu
{

//! A register has 16 rows of 64 bytes.
inline constexpr int64_t kAmxRows{16};
inline constexpr int64_t kAmxRowBytes{64};
inline constexpr int64_t kAmxBytes{kAmxRows * kAmxRowBytes};
//! Rows that are multiplied at once.
inline constexpr int64_t kAmxTileRows{2 * kAmxRows};
//! Below so many rows a share goes without AMX: its registers would be nearly empty.
inline constexpr int64_t kLeastAmxRows{4};
//! The same of float16 by parts: what it takes to put a panel into registers must be worth it.
inline constexpr int64_t kLeastAmxPartRows{64};

//! Registers that a row of so many bytes takes, one after the other.
inline constexpr int64_t amxSteps(int64_t rowBytes) noexcept
{
    return (rowBytes + kAmxRowBytes - 1) / kAmxRowBytes;
}

inline constexpr int64_t kMaxAmxPanels{32};
//! Panels of so many registers, an even number, that stay in the second cache while all rows of a share pass. Rows are
//! packed for each such chunk: where that takes numbers apart, chunks are larger.
inline constexpr int64_t amxPanelsAtOnce(int64_t registers, int64_t parts = 1) noexcept
{
    int64_t const bytes = int64_t{parts > 1 ? 1024 : 448} << 10;
    int64_t const fitting = bytes / kAmxBytes / (registers > 0 ? registers : 1) / 2 * 2;
    return fitting < 2 ? 2 : fitting > kMaxAmxPanels ? kMaxAmxPanels : fitting;
}

//! Bytes of memory that a lane needs, a whole number of cache lines: rows, and `copied` registers of each panel.
inline constexpr int64_t amxScratch(int64_t registers, int64_t copied, int64_t parts = 1) noexcept
{
    return (2 * registers + amxPanelsAtOnce(registers, parts) * copied) * kAmxBytes;
}

//! Whether the instruction set may be used and has been measured, once per process, to be faster than the others.
bool usesAmxInt8() noexcept;
bool usesAmxBfloats() noexcept;
//! Products of float16: by instructions of their own (AMX-FP16), or as sums of bfloat16 (half_parts.h).
bool usesAmxFp16() noexcept;
bool usesAmxHalves() noexcept;
//! Whether they are so fast that rounding products of float32 to float16 pays: parts may be faster than float16 by way
//! of floats, and no faster than floats.
bool areAmxHalvesFast() noexcept;

//! Whether products of what is stored as T go by AMX.
template <typename T>
bool usesAmx() noexcept
{
    if constexpr (std::is_same_v<T, Bfloat>)
        return usesAmxBfloats();
    else if constexpr (std::is_same_v<T, Half>)
        return usesAmxHalves();
    else
        return false;
}
//! Registers that 64 bytes of a row or panel of T take.
template <typename T>
int64_t amxParts() noexcept
{
    return std::is_same_v<T, Half> && !usesAmxFp16() ? 2 : 1;
}
template <typename T>
int64_t leastAmxRows() noexcept
{
    return amxParts<T>() == 1 ? kLeastAmxRows : kLeastAmxPartRows;
}

namespace avx512
{
// They need AMX, which their callers have asked for.
bool amxInt8IsFaster();
bool amxBfloatsAreFaster();
bool amxHalfPartsAreFaster();
bool amxHalfPartsAreFast();
bool amxHalvesAreFaster();
//! Whether a product by AMX-FP16 is what plain arithmetic says.
bool amxHalvesAgree();
//! `scratch` has amxScratch bytes, with as many steps per panel as rows have: of each part that elements have.
template <typename T>
void runGemmAmx(Gemm<T> const& gemm, GemmShare const& share, void* scratch);
} // namespace avx512

} // namespace tenon::cpu
