// Remainder: what is left of one tensor's elements when they are divided by another's, exactly.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

#include <cmath>

namespace tenon
{

//! Inputs: a, b, real numbers of one type and shape. Output: a − q·b, with the quotient rounded to zero, so that the
//! sign is a's, or with IsFloored rounded down, so that it is b's. NaN where a is infinite or b is 0.
struct Remainder
{
    static constexpr std::string_view kName{"Remainder"};
    bool isFloored{false};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "IsFloored", &Remainder::isFloored)};
    }

    //! `Number` has all numbers of the elements' type.
    template <typename Number>
    Number of(Number a, Number b) const noexcept
    {
        Number const rest = std::fmod(a, b); // Exact: it has no more digits than the smaller one.
        if (!isFloored)
            return rest;
        if (rest == Number{0})
            return std::copysign(rest, b);
        return std::signbit(rest) == std::signbit(b) ? rest : rest + b;
    }

    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Remainder);
