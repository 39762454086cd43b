// The table of all layer kinds, as the build found them.
#include "layers/layer_table.h"

#include "layers_includes.inc"

#include <array>

namespace tenon
{

#define TENON_TABLE_ENTRY(Name)                                                                                        \
    template class LayerOf<Name>;                                                                                      \
    template LayerPtr makeLayer(Name);
#include "layers_table.inc"
#undef TENON_TABLE_ENTRY

namespace
{
constexpr LayerEntry kLayers[]{
#define TENON_TABLE_ENTRY(Name) {Name::kName, &loadLayerOf<Name>},
#include "layers_table.inc"
#undef TENON_TABLE_ENTRY
};
} // namespace

std::span<LayerEntry const> allLayers() noexcept
{
    return kLayers;
}

Result<LayerPtr> loadLayer(std::string_view name, ByteView fields)
{
    for (LayerEntry const& entry : kLayers)
        if (entry.name == name)
            return entry.load(fields);
    return badArgument("unknown layer kind '{}'", name);
}

} // namespace tenon
