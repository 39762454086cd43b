// Ranges of 16-bit floats beside the same numbers one by one.
#include "base/half_ranges.h"

#include "base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

namespace tenon::test
{

namespace
{
//! Every sign and exponent with mantissas around each rounding, and random ones; an odd count, for vectors' ends.
std::vector<float> numbers()
{
    std::mt19937 source{16};
    std::vector<float> values;
    for (uint32_t top = 0; top < 512; ++top)
        for (uint32_t low = 0; low < 64; ++low)
        {
            uint32_t const mantissa = low < 16 ? low * 0x800U + (low & 1U)
                : low < 32                     ? 0x7FFFFFU - (low - 16U) * 0x7FFU
                                               : source() & 0x7FFFFFU;
            values.push_back(std::bit_cast<float>(top << 23 | (mantissa & 0x7FFFFFU)));
        }
    values.push_back(65519.99F);
    return values;
}

float clamped(float value, float largest)
{
    return std::isfinite(value) ? std::clamp(value, -largest, largest) : value;
}
} // namespace

TEST(HalfRanges, areRoundedAsNumbersAre)
{
    std::vector<float> const values = numbers();
    float const largestBfloat = bfloatToFloat(0x7F7F);
    std::vector<uint16_t> halves(values.size() + 1, 0xABCD);
    std::vector<uint16_t> bfloats(values.size() + 1, 0xABCD);
    roundFinite(DType::kHALF, values, halves.data());
    roundFinite(DType::kBF16, values, bfloats.data());
    for (size_t i = 0; i < values.size(); ++i)
    {
        ASSERT_EQ(halves[i], floatToHalf(clamped(values[i], 65504.0F))) << values[i];
        ASSERT_EQ(bfloats[i], floatToBfloat(clamped(values[i], largestBfloat))) << values[i];
    }
    EXPECT_EQ(halves.back(), 0xABCD);
    EXPECT_EQ(bfloats.back(), 0xABCD);
}

TEST(HalfRanges, areWidenedAsNumbersAre)
{
    std::vector<uint16_t> all(0x10000);
    std::iota(all.begin(), all.end(), uint16_t{0});
    all.push_back(0x3C01); // An odd count, for vectors' ends.
    std::vector<float> halves(all.size());
    std::vector<float> bfloats(all.size());
    widen(DType::kHALF, all.data(), halves);
    widen(DType::kBF16, all.data(), bfloats);
    for (size_t i = 0; i < all.size(); ++i)
    {
        ASSERT_EQ(std::bit_cast<uint32_t>(halves[i]), std::bit_cast<uint32_t>(halfToFloat(all[i]))) << all[i];
        ASSERT_EQ(std::bit_cast<uint32_t>(bfloats[i]), std::bit_cast<uint32_t>(bfloatToFloat(all[i]))) << all[i];
    }
}

TEST(HalfRanges, sayWhatTheTypeHasNot)
{
    auto const infinity = std::numeric_limits<float>::infinity();
    for (size_t const at : {0U, 8191U, 8192U, 20000U}) // Of all parts.
        for (auto const& [value, isLarge, isSmall, isNormal] :
            {std::tuple{65504.0F, false, false, true}, {-65505.0F, true, false, false}, {0x1p-24F, false, false, false},
                {-0x1p-14F, false, false, true}, {0x1.fp-25F, false, true, false}, {infinity, false, false, false},
                {std::nanf(""), false, false, false}, {-0.0F, false, false, false}})
        {
            std::vector<float> values(20001, 0.0F);
            values[at] = value;
            HalfRange const range = halfRangeOf(DType::kHALF, values);
            EXPECT_EQ(range.hasTooLarge, isLarge) << value << " at " << at;
            EXPECT_EQ(range.hasTooSmall, isSmall) << value << " at " << at;
            EXPECT_EQ(range.hasNormal, isNormal) << value << " at " << at;
        }
    HalfRange const wide = halfRangeOf(DType::kBF16, std::vector<float>{0x1.ffp127F, 0x1p-134F, 0x1p-126F});
    EXPECT_TRUE(wide.hasTooLarge && wide.hasTooSmall && wide.hasNormal);
    HalfRange const held = halfRangeOf(DType::kBF16, std::vector<float>{0x1.FEp127F, 0x1p-133F});
    EXPECT_FALSE(held.hasTooLarge || held.hasTooSmall);
}

} // namespace tenon::test
