// Layer text: the table of parsers, from the same list as the table of layers.
#include "support/layer_text.h"

#include "ir/field_text.h"
#include "layers_includes.inc"

namespace tenon
{

namespace
{
template <typename L>
Result<LayerPtr> parseLayerOf(TextReader& in)
{
    L layer;
    TENON_TRY(parseFields(in, layer));
    return makeLayer(std::move(layer));
}

struct Entry
{
    std::string_view name;
    Result<LayerPtr> (*parse)(TextReader& in);
};

constexpr Entry kParsers[]{
#define TENON_TABLE_ENTRY(Name) {Name::kName, &parseLayerOf<Name>},
#include "layers_table.inc"
#undef TENON_TABLE_ENTRY
};
} // namespace

Result<LayerPtr> parseLayer(std::string_view kind, std::string_view fields)
{
    for (Entry const& entry : kParsers)
        if (entry.name == kind)
        {
            TextReader in{fields};
            return entry.parse(in);
        }
    return badArgument("unknown layer kind '{}'", kind);
}

} // namespace tenon
