// Values of registers: the shape program evaluated over intervals. A single value is an interval of one.
#pragma once

#include "plan/program.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tenon
{

//! Values that a register can take. lo == hi: the value is known. Of a real register: bits of the bounds, as in
//! RealSpan.
struct Span
{
    int64_t lo{0};
    int64_t hi{0};

    bool isKnown() const noexcept
    {
        return lo == hi;
    }
    friend bool operator==(Span const&, Span const&) = default;
};

//! How symbols that only running tells enter an evaluation.
enum class DataSymbols : uint8_t
{
    kAnywhere, //!< Between 0 and their bound.
    kAtBound,  //!< At their bound: what a step that produces them is prepared for.
};

//! Fills all registers of instructions, and those of kData symbols for which `known` is 0, from the registers of the
//! other symbols. `known` has one entry per symbol. Arithmetic saturates. `order` as evaluationOrder gives it.
void evaluate(Program const& program, std::span<int32_t const> order, DataSymbols data, std::span<uint8_t const> known,
    std::span<Span> registers);

} // namespace tenon
