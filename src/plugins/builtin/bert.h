// What plugins for BERT share: rows of elements with two extents of 1 behind them, and sequences of various lengths
// that stand one behind the other.
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

//! The same of a value of a sketch.
inline void requireRows(LayerSketch& sketch, LayerSketch::Id rows, int64_t length)
{
    constexpr int32_t kLength{2};
    sketch.requireExtent(rows, kLength, length);
    for (int32_t const axis : {3, 4})
        sketch.requireExtent(rows, axis, 1);
}

//! Of `type_id`: 0 is float32, 1 is float16.
inline DataType typeOf(int32_t typeId) noexcept
{
    return typeId == 1 ? DataType::kHALF : DataType::kFLOAT;
}

//! Where the sequences of an input begin, and behind them where the last one ends; none of no tokens.
inline std::span<int32_t const> startsOf(StockRun const& run, int32_t input, int64_t tokens) noexcept
{
    auto const at = static_cast<size_t>(input);
    return {run.input<int32_t>(at), tokens == 0 ? 0 : static_cast<size_t>(run.in[at].dims.d[0])};
}

inline bool areStarts(std::span<int32_t const> starts, int64_t tokens) noexcept
{
    return starts.empty() || (starts.front() == 0 && std::ranges::is_sorted(starts) && starts.back() <= tokens);
}

//! Of a tensor whose contents are for upstream's kernels only: a mask, or one whose extent is the longest length.
inline bool isForKernels(DataType type) noexcept
{
    return isFloatOrHalf(type) || type == DataType::kINT32;
}

//! Explains why a network has none: the message about a type that is refused says which were on offer.
inline bool isInt8(DataType type) noexcept
{
    if (type != DataType::kINT8)
        static_cast<void>(failed("it takes int8 tensors, which only strongly typed networks give to plugins"));
    return type == DataType::kINT8;
}

inline constexpr char const* kStartsWanted{
    "the starts of sequences must begin with 0, never fall, and end within the tokens"};

} // namespace tenon::plugins::builtin
