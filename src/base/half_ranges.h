// Many floats at once to the 16-bit float types, and what of them those cannot hold: loops for compilers' vectors.
#pragma once

#include "base/dtype.h"

#include <span>

namespace tenon
{

//! What numbers are to a type of 16 bits.
struct HalfRange
{
    bool hasTooLarge{false}; //!< A finite one beyond its largest.
    bool hasTooSmall{false}; //!< One that is not zero, and less than its least.
    bool hasNormal{false};   //!< One that it has with all its digits.

    //! What other numbers are besides.
    void add(HalfRange const& other) noexcept
    {
        hasTooLarge = hasTooLarge || other.hasTooLarge;
        hasTooSmall = hasTooSmall || other.hasTooSmall;
        hasNormal = hasNormal || other.hasNormal;
    }
};

//! `type`: kHALF or kBF16. Here and below floats that are read may lie at any address, as in a file.
HalfRange halfRangeOf(DType type, std::span<float const> values) noexcept;

//! Each to the nearest number of the type, ties to even; finite numbers stay finite: what is too large becomes the
//! largest. `to` has room for all of them.
void roundFinite(DType type, std::span<float const> values, uint16_t* to) noexcept;

//! Each number of the type as a float. `from` has as many.
void widen(DType type, uint16_t const* from, std::span<float> to) noexcept;

} // namespace tenon
