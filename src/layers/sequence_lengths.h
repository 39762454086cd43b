// SequenceLengths: operands that say how long sequences are or where they begin, and values of these that cannot be.
#pragma once

#include "ir/host_tensor.h"
#include "ir/layer.h"

#include <optional>
#include <vector>

namespace tenon
{

struct SequenceLengths
{
    int32_t operand{-1};
    int32_t rows{-1};      //!< The operand with the rows of the sequences,
    int32_t axis{0};       //!< on this axis; negative: from behind.
    bool areStarts{false}; //!< Where packed sequences begin and the last one ends.

    //! Position of the first value that no such rows have: not within 0 … rows, or a start before the one in front.
    std::optional<int64_t> firstOutside(HostTensor const& values, int64_t rowCount) const;
};

//! Those of the layer's operands, present or not.
std::vector<SequenceLengths> sequenceLengthsOf(Layer const& layer);

} // namespace tenon
