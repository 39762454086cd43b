// IntegerOp: arithmetic on extents and integer values of shape tensors, for single values and for intervals. The one
// definition of its meaning, at build time and at run time: symbolic extents, the shape programs of plans and the
// launches of compiled kernels compute by it.
//
// What would overflow stays at the least or greatest integer.
#pragma once

#include <cstdint>

namespace tenon
{

//! What stores them (plans, launches) counts from kAdd on in this order: append only.
enum class IntegerOp : uint8_t
{
    kAdd,
    kMul,
    kFloorDiv, //!< Rounds towards minus infinity; by zero it gives 0, since a plan must not crash on it.
    kMod,      //!< What kFloorDiv leaves: it has the sign of the divisor.
    kMin,
    kMax,
    kEqual, //!< 1 or 0.
    kLess,  //!< 1 or 0.
};

//! Closed interval of integers.
struct WholeSpan
{
    int64_t lo{0};
    int64_t hi{0};

    bool isKnown() const noexcept
    {
        return lo == hi;
    }
};

int64_t apply(IntegerOp op, int64_t a, int64_t b) noexcept;
//! Holds every value that operands within these give.
WholeSpan apply(IntegerOp op, WholeSpan a, WholeSpan b) noexcept;

} // namespace tenon
