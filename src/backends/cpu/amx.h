// Products by AMX: whether they are used, and the memory that they need.
#pragma once

#include "backends/cpu/gemm.h"

#include <cstdint>

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

//! Registers that a row of so many bytes takes, one after the other.
inline constexpr int64_t amxSteps(int64_t rowBytes) noexcept
{
    return (rowBytes + kAmxRowBytes - 1) / kAmxRowBytes;
}

inline constexpr int64_t kMaxAmxPanels{32};
//! Panels, an even number, that stay in the second cache while all rows of a share pass.
inline constexpr int64_t amxPanelsAtOnce(int64_t steps) noexcept
{
    constexpr int64_t kBytes{int64_t{448} << 10};
    int64_t const fitting = kBytes / kAmxBytes / (steps > 0 ? steps : 1) / 2 * 2;
    return fitting < 2 ? 2 : fitting > kMaxAmxPanels ? kMaxAmxPanels : fitting;
}

//! Bytes of memory that a lane needs, a whole number of cache lines: rows, and of each panel `panelSteps` registers.
inline constexpr int64_t amxScratch(int64_t steps, int64_t panelSteps) noexcept
{
    return (2 * steps + amxPanelsAtOnce(steps) * panelSteps) * kAmxBytes;
}

//! Whether the instruction set may be used and has been measured, once per process, to be faster than the others.
bool usesAmxInt8() noexcept;
bool usesAmxBfloats() noexcept;

namespace avx512
{
// They need AMX, which their callers have asked for.
bool amxInt8IsFaster();
bool amxBfloatsAreFaster();
//! `scratch` has amxScratch bytes, with as many steps per panel as rows have.
void runBfloatGemmAmx(Gemm<Bfloat> const& gemm, GemmShare const& share, void* scratch);
} // namespace avx512

} // namespace tenon::cpu
