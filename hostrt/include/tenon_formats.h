// Floating-point formats of at most 16 bits, for the headers of halves and their like. No header of CUDA's.
#ifndef TENON_HOSTRT_FORMATS_H
#define TENON_HOSTRT_FORMATS_H

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tenon_hostrt
{

enum class Rounding
{
    kNEAREST, // Ties to even.
    kTOWARD_ZERO,
    kDOWN,
    kUP
};

inline std::uint64_t bitsOf(double value) noexcept
{
    std::uint64_t bits{0};
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

//! A double that rounds to the same number of fewer bits: integers of more than 53 bits keep in the last one whether
//! anything was lost.
template <typename T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
inline double asDouble(T value) noexcept
{
    bool const isNegative = value < T{0};
    std::uint64_t size =
        isNegative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    if ((size >> 53) != 0)
        size = ((size >> 11) | ((size & 0x7FFU) != 0 ? 1U : 0U)) << 11;
    double const rounded = static_cast<double>(size);
    return isNegative ? -rounded : rounded;
}
template <typename T, typename std::enable_if<std::is_floating_point<T>::value, int>::type = 0>
inline double asDouble(T value) noexcept
{
    return static_cast<double>(value);
}

//! Of a number's size, the bits of the next one of a format, whose largest is not looked at.
inline unsigned roundedSize(
    std::uint64_t magnitude, unsigned fractionBits, unsigned bias, bool isNegative, Rounding rounding) noexcept
{
    unsigned const exponent = static_cast<unsigned>(magnitude >> 52);
    std::uint64_t rest{magnitude - (std::uint64_t{1023 - bias} << 52)};
    unsigned dropped{52 - fractionBits};
    if (exponent < 1023 - bias + 1)
    {
        rest = (magnitude & 0xFFFFFFFFFFFFFU) | std::uint64_t{1} << 52;
        dropped += 1023 - bias + 1 - exponent; // In units of the smallest; at 54 nothing but a rest is left.
        dropped = dropped > 54 ? 54 : dropped;
    }
    unsigned const kept = static_cast<unsigned>(rest >> dropped);
    std::uint64_t const lost = rest & ((std::uint64_t{1} << dropped) - 1);
    std::uint64_t const tie = std::uint64_t{1} << (dropped - 1);
    switch (rounding)
    {
    case Rounding::kNEAREST: return kept + (lost > tie || (lost == tie && (kept & 1U) != 0) ? 1U : 0U);
    case Rounding::kTOWARD_ZERO: break;
    case Rounding::kDOWN: return kept + (lost != 0 && isNegative ? 1U : 0U);
    case Rounding::kUP: return kept + (lost != 0 && !isNegative ? 1U : 0U);
    }
    return kept;
}

//! Towards zero, and the nearest that there is where the type is too small. What is not a number is 0, or the highest
//! bit alone in a type of 64 bits.
template <typename T>
inline T integerFrom(float value) noexcept
{
    typedef std::numeric_limits<T> Limits;
    if (value != value)
        return sizeof(T) < 8 ? T{0} : static_cast<T>(std::uint64_t{1} << 63);
    if (value >= static_cast<float>(Limits::max()))
        return Limits::max();
    if (value <= static_cast<float>(Limits::min()))
        return Limits::min();
    return static_cast<T>(value);
}

//! A sign, an exponent and a fraction, with infinities and what is not a number, as IEEE 754 has them.
template <unsigned kExponentBits, unsigned kFractionBits>
struct Format
{
    static constexpr unsigned kBias = (1U << (kExponentBits - 1)) - 1U;
    static constexpr unsigned kInfinity = ((1U << kExponentBits) - 1U) << kFractionBits;
    static constexpr unsigned kSign = 1U << (kExponentBits + kFractionBits);
    //! The upper bits of a float: what is not a number keeps its bits there, and of a zero and its negative
    //! __hmax_nan() and __hmin_nan() take the first.
    static constexpr bool kIsTopOfFloat = kExponentBits == 8;

    //! Beyond the largest there is nothing but infinity, which roundings towards zero do not reach.
    static unsigned sizeFrom(std::uint64_t magnitude, bool isNegative, Rounding rounding) noexcept
    {
        unsigned const size = roundedSize(magnitude, kFractionBits, kBias, isNegative, rounding);
        if (size < kInfinity)
            return size;
        bool const isUp = rounding == (isNegative ? Rounding::kDOWN : Rounding::kUP);
        return rounding == Rounding::kNEAREST || isUp ? kInfinity : kInfinity - 1U;
    }

    //! The bits of the number next to another. Floats and integers come here as well: a double holds them exactly.
    template <typename T>
    static unsigned short from(T value, Rounding rounding = Rounding::kNEAREST) noexcept
    {
        std::uint64_t const bits = bitsOf(asDouble(value));
        std::uint64_t const magnitude = bits & 0x7FFFFFFFFFFFFFFFU;
        if (magnitude > 0x7FF0000000000000U)
            return static_cast<unsigned short>(kSign - 1U); // Not a number.
        bool const isNegative = (bits >> 63) != 0;
        unsigned const size = magnitude == 0   ? 0U
            : magnitude == 0x7FF0000000000000U ? kInfinity
                                               : sizeFrom(magnitude, isNegative, rounding);
        return static_cast<unsigned short>((isNegative ? kSign : 0U) | size);
    }

    static bool isNan(unsigned short number) noexcept
    {
        return (number & (kSign - 1U)) > kInfinity;
    }

    static float toFloat(unsigned short number) noexcept
    {
        std::uint32_t const sign = (number & kSign) != 0 ? 0x80000000U : 0U;
        std::uint32_t size = number & (kSign - 1U);
        if (kExponentBits < 8 && size < (1U << kFractionBits)) // In units of the smallest number.
        {
            float const unit = 1.0F / static_cast<float>(std::uint64_t{1} << ((kBias - 1U + kFractionBits) & 63U));
            float const value = static_cast<float>(size) * unit;
            return sign != 0 ? -value : value;
        }
        std::uint32_t bits = sign | (size << (23 - kFractionBits));
        if (size >= kInfinity)
            bits |= 0x7F800000U;
        else
            bits += (127U - kBias) << 23;
        if (isNan(number) && !kIsTopOfFloat)
            bits = 0x7FFFFFFFU; // All of them become this one.
        float value{0.0F};
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    template <typename T>
    static T toInteger(unsigned short number) noexcept
    {
        return integerFrom<T>(toFloat(number));
    }
};

typedef Format<5, 10> Half;
typedef Format<8, 7> Bfloat;

//! A format of at most 8 bits without infinities, or with one: `kLargest` are the bits of its largest number, `kBeyond`
//! of what is above it without saturation, `kNan` of what is not a number.
template <unsigned kBits, unsigned kFractionBits, unsigned kBias, unsigned kLargest, unsigned kBeyond, unsigned kNan>
struct Narrow
{
    static constexpr unsigned kSign = 1U << (kBits - 1U);

    //! Of what is not a number only a double keeps the sign, and its upper bits alone.
    static unsigned char fromDouble(double value, bool isSaturated, Rounding rounding = Rounding::kNEAREST) noexcept
    {
        if (value == value || kNan == kLargest)
            return from(value, isSaturated, rounding);
        unsigned const sign = (bitsOf(value) >> 63) != 0 ? kSign : 0U;
        return static_cast<unsigned char>(sign | (kBeyond < kNan ? kNan - 1U : kNan));
    }

    static unsigned char from(double value, bool isSaturated, Rounding rounding = Rounding::kNEAREST) noexcept
    {
        std::uint64_t const bits = bitsOf(value);
        std::uint64_t const magnitude = bits & 0x7FFFFFFFFFFFFFFFU;
        if (magnitude > 0x7FF0000000000000U)
            return static_cast<unsigned char>(kNan);
        bool const isNegative = (bits >> 63) != 0;
        unsigned size = magnitude == 0 ? 0U : roundedSize(magnitude, kFractionBits, kBias, isNegative, rounding);
        if (size > kLargest)
            size = isSaturated ? kLargest : kBeyond;
        return static_cast<unsigned char>((isNegative ? kSign : 0U) | size);
    }

    //! The half that a number is exactly.
    static unsigned short toHalf(unsigned number) noexcept
    {
        unsigned const size = number & (kSign - 1U);
        unsigned const sign = (number & kSign) != 0 ? 0x8000U : 0U;
        if (kNan > kLargest && size > kLargest)
            return static_cast<unsigned short>(kBeyond < kNan && size == kBeyond ? sign | 0x7C00U : 0x7FFFU);
        unsigned const exponent = size >> kFractionBits;
        unsigned const fraction = size & ((1U << kFractionBits) - 1U);
        unsigned const lead = exponent == 0 ? 0U : 1U << kFractionBits;
        int const shift = static_cast<int>(exponent == 0 ? 1U : exponent) - static_cast<int>(kBias + kFractionBits);
        float value = static_cast<float>(fraction | lead);
        for (int i = 0; i < shift; ++i)
            value *= 2.0F;
        for (int i = 0; i > shift; --i)
            value *= 0.5F;
        return static_cast<unsigned short>(sign | Half::from(value));
    }

    static float toFloat(unsigned number) noexcept
    {
        return Half::toFloat(toHalf(number));
    }
};

typedef Narrow<8, 3, 7, 0x7E, 0x7F, 0x7F> E4M3;
typedef Narrow<8, 2, 15, 0x7B, 0x7C, 0x7F> E5M2;
typedef Narrow<4, 1, 1, 7, 7, 7> E2M1;

//! Powers of two by their exponent alone; a sign is lost.
struct E8M0
{
    static unsigned char from(double value, bool isSaturated, bool isUp) noexcept
    {
        std::uint64_t const magnitude = bitsOf(value) & 0x7FFFFFFFFFFFFFFFU;
        if (magnitude > 0x7FF0000000000000U)
            return 0xFF;
        // What lies below the lowest power of two is a fraction of the format, which has none.
        unsigned const exponent = static_cast<unsigned>(magnitude >> 52);
        if (exponent < 1023 - 127)
            return 0;
        bool const isAbove = (magnitude & 0xFFFFFFFFFFFFFU) != 0;
        unsigned const size = exponent - (1023 - 127) + (isUp && isAbove ? 1U : 0U);
        bool const isLargest = isSaturated || (!isUp && magnitude < 0x7FF0000000000000U);
        return static_cast<unsigned char>(size < 0xFF ? size : isLargest ? 0xFE : 0xFF);
    }
    static unsigned short toBfloat(unsigned number) noexcept
    {
        return static_cast<unsigned short>(number == 0xFF ? 0x7FFFU : number == 0 ? 0x0040U : number << 7);
    }
    static float toFloat(unsigned number) noexcept
    {
        return Bfloat::toFloat(toBfloat(number));
    }
};

} // namespace tenon_hostrt

#endif // TENON_HOSTRT_FORMATS_H
