// narrowTypes: layers of float32 that a build may round to a narrower type, because the device is faster with it.
#pragma once

#include "ir/graph.h"

#include <functional>

namespace tenon
{

struct NarrowRequest
{
    DType type{DType::kHALF}; //!< float16 or bfloat16.
    //! Products of dequantized operands, too: what multiplies their numbers on the device gives this type.
    bool narrowsQuantized{false};
    //! Layers that stay as they are; null: none.
    std::function<bool(Node const&)> spares;
    int32_t threads{1}; //!< That round large weights.
};

//! Convolutions and products of float32 read and write the type, and so do layers behind them that stay within its
//! range. Casts stand where the two types meet; types of the graph's inputs and outputs stay. Answers with the number
//! of layers.
size_t narrowTypes(Graph& graph, NarrowRequest const& request);

} // namespace tenon
