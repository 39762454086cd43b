// The table of all layer kinds, and TENON_LAYER, which puts a struct into it.
#pragma once

#include "ir/layer.h"
#include "layers/public_facts.h"

#include <span>

namespace tenon
{

struct LayerEntry
{
    std::string_view name;
    //! A layer from its stored fields; an error when they are not valid.
    Result<LayerPtr> (*load)(ByteView fields);
};

std::span<LayerEntry const> allLayers() noexcept;
//! A layer of a stored kind; the error names the kind when it is unknown.
Result<LayerPtr> loadLayer(std::string_view name, ByteView fields);

template <typename L>
Result<LayerPtr> loadLayerOf(ByteView fields)
{
    ByteReader reader{fields};
    L value;
    TENON_TRY(load(reader, value));
    if (reader.left() != 0)
        return badArgument("layer {} is stored with {} bytes too many", L::kName, reader.left());
    if constexpr (requires { value.verify(); })
        TENON_TRY(value.verify());
    return makeLayer(std::move(value));
}

} // namespace tenon

//! Foot of a layer's header, at file scope: the build reads these lines and writes the table. What LayerOf makes of the
//! struct is compiled once, beside the table.
#define TENON_LAYER(Name)                                                                                              \
    extern template class tenon::LayerOf<tenon::Name>;                                                                 \
    extern template tenon::LayerPtr tenon::makeLayer(tenon::Name);                                                     \
    static_assert(::tenon::HasFields<::tenon::Name>)
