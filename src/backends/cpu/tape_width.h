// RowForm: how wide the rows of a tape have to be. The tape's meaning is arithmetic of 64 bits that wraps where it says
// so; where narrow rows give the same results, more elements go at once.
#pragma once

#include "codegen/tape.h"

#include <vector>

namespace tenon::cpu
{

struct RowForm
{
    DType integers{DType::kINT64}; //!< int8, uint8, int32 or int64.
    int64_t length{0};             //!< Elements of a row: a multiple of kTapeLength.
};

//! `inputs`: types of the operands; those of absent ones are not looked at. `out`: what the result is stored as.
RowForm rowForm(Tape const& tape, std::vector<DType> const& inputs, DType out);

} // namespace tenon::cpu
