// Ranges of 16-bit floats: selections in place of branches, in integers, so that each loop is a vector's.
#include "base/half_ranges.h"

#include <algorithm>
#include <bit>

// The loader picks the widest clone that the machine runs.
#if defined(__SANITIZE_THREAD__) // Choosing a clone would run before the sanitizer is ready.
#define TENON_RANGE_CLONES
#else
#define TENON_RANGE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#endif

namespace tenon
{

namespace
{
//! A float at any address.
using AnyFloat = float __attribute__((aligned(1)));

constexpr int32_t kAllButSign{0x7FFFFFFF};
constexpr int32_t kInfinityBits{0x7F800000};

//! Bits of magnitudes, which are ordered as the numbers are.
struct HalfBounds
{
    int32_t largest;
    int32_t least;
    int32_t leastNormal;
};

HalfBounds boundsOf(DType type) noexcept
{
    if (type == DType::kHALF)
        return {std::bit_cast<int32_t>(65504.0F), std::bit_cast<int32_t>(0x1p-24F), std::bit_cast<int32_t>(0x1p-14F)};
    return {0x7F7F0000, std::bit_cast<int32_t>(0x1p-133F), std::bit_cast<int32_t>(0x1p-126F)};
}

//! The bits of a magnitude, clipped where it is finite.
inline __attribute__((always_inline)) int32_t clippedBits(int32_t bits, int32_t largest) noexcept
{
    int32_t const magnitude = bits & kAllButSign;
    int32_t const clipped = magnitude < largest ? magnitude : largest;
    return magnitude < kInfinityBits ? clipped : magnitude;
}
} // namespace

//! As floatToHalf.
TENON_RANGE_CLONES static void toHalves(AnyFloat const* from, size_t count, int32_t largest, uint16_t* to)
{
    for (size_t i = 0; i < count; ++i)
    {
        float const number = from[i];
        int32_t const bits = std::bit_cast<int32_t>(number);
        int32_t const magnitude = clippedBits(bits, largest);
        int32_t const odd = (magnitude >> 13) & 1;
        int32_t const normal = (magnitude - 0x38000000 + 0xFFF + odd) >> 13;
        float const aligned = std::bit_cast<float>(magnitude) + 0.5F; // The sum rounds to the grid of subnormals.
        int32_t const subnormal = std::bit_cast<int32_t>(aligned) - std::bit_cast<int32_t>(0.5F);
        int32_t const finite = magnitude < 0x38800000 ? subnormal : normal;
        int32_t const special = magnitude > kInfinityBits ? 0x7E00 : 0x7C00;
        int32_t const half = magnitude >= kInfinityBits ? special : finite;
        to[i] = static_cast<uint16_t>(half | ((bits >> 16) & 0x8000));
    }
}

//! As floatToBfloat.
TENON_RANGE_CLONES static void toBfloats(AnyFloat const* from, size_t count, int32_t largest, uint16_t* to)
{
    for (size_t i = 0; i < count; ++i)
    {
        float const number = from[i];
        int32_t const bits = std::bit_cast<int32_t>(number);
        auto const magnitude = static_cast<uint32_t>(clippedBits(bits, largest));
        uint32_t const rounded = (magnitude + 0x7FFFU + ((magnitude >> 16) & 1U)) >> 16;
        uint32_t const quiet = (magnitude >> 16) | 0x40U;
        uint32_t const bfloat = magnitude > static_cast<uint32_t>(kInfinityBits) ? quiet : rounded;
        to[i] = static_cast<uint16_t>(bfloat | ((static_cast<uint32_t>(bits) >> 16) & 0x8000U));
    }
}

//! As halfToFloat.
TENON_RANGE_CLONES static void fromHalves(uint16_t const* from, size_t count, float* to)
{
    for (size_t i = 0; i < count; ++i)
    {
        int32_t const magnitude = (from[i] & 0x7FFF) << 13;
        float const subnormal = static_cast<float>(from[i] & 0x3FF) * 0x1p-24F;
        int32_t const normal = magnitude + (magnitude < 0x0F800000 ? 0x38000000 : 0x70000000);
        int32_t const bits = magnitude < 0x00800000 ? std::bit_cast<int32_t>(subnormal) : normal;
        to[i] = std::bit_cast<float>(bits | static_cast<int32_t>(static_cast<uint32_t>(from[i] & 0x8000) << 16));
    }
}

//! As bfloatToFloat.
TENON_RANGE_CLONES static void fromBfloats(uint16_t const* from, size_t count, float* to)
{
    for (size_t i = 0; i < count; ++i)
        to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16);
}

//! Bit 0: one is too large; bit 1: too small; bit 2: normal.
TENON_RANGE_CLONES static int32_t kindsOf(AnyFloat const* values, size_t count, HalfBounds const& bounds)
{
    auto const [largest, least, leastNormal] = bounds;
    int32_t kinds{0};
    for (size_t i = 0; i < count; ++i)
    {
        float const number = values[i];
        int32_t const magnitude = std::bit_cast<int32_t>(number) & kAllButSign;
        int32_t const tooLarge = (magnitude > largest ? 1 : 0) & (magnitude < kInfinityBits ? 1 : 0);
        int32_t const tooSmall = (magnitude < least ? 2 : 0) & (magnitude > 0 ? 2 : 0);
        int32_t const normal = (magnitude >= leastNormal ? 4 : 0) & (magnitude <= largest ? 4 : 0);
        kinds |= tooLarge | tooSmall | normal;
    }
    return kinds;
}

HalfRange halfRangeOf(DType type, std::span<float const> values) noexcept
{
    constexpr size_t kPart{8192}; // A loop without an end in between is a vector's.
    constexpr int32_t kAllKinds{7};
    HalfBounds const bounds = boundsOf(type);
    int32_t kinds{0};
    for (size_t from = 0; from < values.size() && kinds != kAllKinds; from += kPart)
        kinds |= kindsOf(values.data() + from, std::min(kPart, values.size() - from), bounds);
    return {(kinds & 1) != 0, (kinds & 2) != 0, (kinds & 4) != 0};
}

void roundFinite(DType type, std::span<float const> values, uint16_t* to) noexcept
{
    int32_t const largest = boundsOf(type).largest;
    type == DType::kHALF ? toHalves(values.data(), values.size(), largest, to)
                         : toBfloats(values.data(), values.size(), largest, to);
}

void widen(DType type, uint16_t const* from, std::span<float> to) noexcept
{
    type == DType::kHALF ? fromHalves(from, to.size(), to.data()) : fromBfloats(from, to.size(), to.data());
}

} // namespace tenon
