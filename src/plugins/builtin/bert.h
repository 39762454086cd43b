// What the plugins for BERT share: rows of elements behind [S, B], with two extents of 1 behind them.
#pragma once

#include "plugins/builtin/element.h"
#include "plugins/builtin/stock.h"

namespace tenon::plugins::builtin
{

//! [S, B, length, 1, 1]
inline bool isRows(Dims const& dims, int64_t sequence, int64_t batch, int64_t length) noexcept
{
    return hasExtents(dims, {sequence, batch, length, 1, 1});
}

//! Of `type_id`: 0 is float32, 1 is float16.
inline DataType typeOf(int32_t typeId) noexcept
{
    return typeId == 1 ? DataType::kHALF : DataType::kFLOAT;
}

} // namespace tenon::plugins::builtin
