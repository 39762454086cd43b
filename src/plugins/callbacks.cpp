// Callbacks: one table.
#include "plugins/callbacks.h"

#include <array>

namespace tenon::plugins
{

namespace
{
struct CallbackRow
{
    std::array<char const*, 5> names; //!< By generation.
    std::string_view ruleV2;          //!< That a failure breaks.
    std::string_view ruleV3;
};

constexpr std::array<char const*, 5> all(char const* v2, char const* v3)
{
    return {v2, v2, v2, v2, v3};
}

//! In the order of Ask.
constexpr std::array<CallbackRow, 20> kRows{{
    {all("getNbOutputs", "getNbOutputs"), "J1", "L9"},
    {all("getOutputDataType", "getOutputDataTypes"), "J9", "L9"},
    {all("getOutputDimensions", "getOutputShapes"), "J2", "L9"},
    {{"supportsFormat", "supportsFormat", "supportsFormatCombination", "supportsFormatCombination",
         "supportsFormatCombination"},
        "J3", "L17"},
    {all("supportsFormatCombination", "getFormatCombinationLimit"), "J11", "L14"},
    {{"configureWithFormat", "configurePlugin", "configurePlugin", "configurePlugin", "configurePlugin"}, "K1", "L21"},
    {all("getWorkspaceSize", "getWorkspaceSize"), "K9", "K9"},
    {all("getValidTactics", "getValidTactics"), "L15", "L15"},
    {all("setTactic", "setTactic"), "L21", "L21"},
    {all("initialize", "initialize"), "J5", "L5"},
    {all("terminate", "terminate"), "J7", "L5"},
    {all("clone", "clone"), "J7", "L6"},
    {{"clone", "attachToContext", "attachToContext", "attachToContext", "attachToContext"}, "J8", "L7"},
    {{"destroy", "detachFromContext", "detachFromContext", "detachFromContext", "destructor"}, "J8", "L5"},
    {all("configurePlugin", "onShapeChange"), "K2", "L21"},
    {all("enqueue", "enqueue"), "J5", "L21"},
    {all("serialize", "getFieldsToSerialize"), "J14", "L4"},
    {all("getAliasedInput", "getAliasedInput"), "L18", "L18"},
    {all("deserializePlugin", "createPlugin"), "J15", "L3"},
    {all("destroy", "destructor"), "J7", "L5"},
}};

CallbackRow const& rowOf(Ask ask) noexcept
{
    return kRows[static_cast<size_t>(ask)];
}
} // namespace

char const* callbackOf(Ask ask, Generation generation) noexcept
{
    return rowOf(ask).names[static_cast<size_t>(generation)];
}

std::string_view ruleOf(Ask ask, Generation generation) noexcept
{
    return generation == Generation::kV3 ? rowOf(ask).ruleV3 : rowOf(ask).ruleV2;
}

} // namespace tenon::plugins
