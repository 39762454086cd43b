// What plugin and creator say about themselves: names, interfaces, fields.
#include "plugins/check/groups.h"

#include "plugins/capability.h"
#include "plugins/registry.h"

#include "impl/NvInferPythonPlugin.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tenon::plugins::check
{

using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorV3One;
using nvinfer1::IPluginCreatorV3Quick;
using nvinfer1::IPluginV3OneCore;
using nvinfer1::PluginCapabilityType;
using nvinfer1::PluginFieldCollection;

namespace
{
struct Said
{
    char const* type{nullptr};
    char const* version{nullptr};
    char const* nameSpace{nullptr};
    PluginFieldCollection const* fields{nullptr};
};

template <typename Creator>
Said saidBy(Creator& creator, Watch& watch)
{
    Said said;
    watch.enter("getPluginName");
    said.type = creator.getPluginName();
    watch.enter("getPluginVersion");
    said.version = creator.getPluginVersion();
    watch.enter("getPluginNamespace");
    said.nameSpace = creator.getPluginNamespace();
    watch.enter("getFieldNames");
    said.fields = creator.getFieldNames();
    watch.enter(nullptr);
    return said;
}

Said saidBy(nvinfer1::IPluginCreatorInterface& creator, Watch& watch)
{
    switch (kindOf(creator))
    {
    case CreatorKind::kV1: return saidBy(static_cast<IPluginCreator&>(creator), watch);
    case CreatorKind::kV3One: return saidBy(static_cast<IPluginCreatorV3One&>(creator), watch);
    case CreatorKind::kV3Quick: return saidBy(static_cast<IPluginCreatorV3Quick&>(creator), watch);
    case CreatorKind::kUnknown: break;
    }
    return {};
}

Said saidBy(Plugin& plugin, Watch& watch)
{
    Said said;
    if (nvinfer1::IPluginV2* const v2 = plugin.v2())
    {
        watch.enter("getPluginType");
        said.type = v2->getPluginType();
        watch.enter("getPluginVersion");
        said.version = v2->getPluginVersion();
        watch.enter("getPluginNamespace");
        said.nameSpace = v2->getPluginNamespace();
    }
    else if (isQuick(*plugin.v3()))
        said = {plugin.identity().type.c_str(), plugin.identity().version.c_str(), plugin.identity().nameSpace.c_str(),
            nullptr};
    else if (auto* const capability = plugin.v3()->getCapabilityInterface(PluginCapabilityType::kCORE))
    {
        auto& core = static_cast<IPluginV3OneCore&>(*capability);
        watch.enter("getPluginName");
        said.type = core.getPluginName();
        watch.enter("getPluginVersion");
        said.version = core.getPluginVersion();
        watch.enter("getPluginNamespace");
        said.nameSpace = core.getPluginNamespace();
    }
    watch.enter(nullptr);
    return said;
}

void checkPresent(Host& host, Said const& said, char const* who)
{
    bool const isV2 = host.generation() != Generation::kV3 && std::string_view{who} == "plugin";
    for (auto const& [text, callback] : {std::pair{said.type, isV2 ? "getPluginType" : "getPluginName"},
             std::pair{said.version, "getPluginVersion"}, std::pair{said.nameSpace, "getPluginNamespace"}})
        if (text == nullptr)
            host.watch().find(
                flaw::kNames, host.generation(), callback, fmt::format("that of the {} answers null", who));
}

void checkFields(Host& host, PluginFieldCollection const* fields)
{
    auto const wrong = [&](std::string what) {
        host.watch().find(flaw::kFieldNames, host.generation(), "getFieldNames", std::move(what));
    };
    if (fields == nullptr)
        return wrong("it answers null: an empty collection says that there are none");
    std::set<std::string> seen;
    for (int32_t i = 0; i < fields->nbFields; ++i)
    {
        char const* const name = fields->fields == nullptr ? nullptr : fields->fields[i].name;
        if (name == nullptr || *name == '\0')
            wrong(fmt::format("field {} of {} has no name", i, fields->nbFields));
        else if (!seen.insert(name).second)
            wrong(fmt::format("field '{}' is advertised twice", name));
    }
}

//! The fields that the plugin is made of: a creator passes over those that it does not know.
void checkGiven(Host& host, PluginFieldCollection const* advertised)
{
    PluginFieldCollection const* const given = host.subject().fields;
    auto const namesOf = [](PluginFieldCollection const* fields) {
        std::vector<std::string> names;
        for (int32_t i = 0; fields != nullptr && fields->fields != nullptr && i < fields->nbFields; ++i)
            names.emplace_back(fields->fields[i].name == nullptr ? "" : fields->fields[i].name);
        return names;
    };
    std::vector<std::string> const known = namesOf(advertised);
    std::vector<std::string> unknown = namesOf(given);
    std::erase_if(unknown, [&](std::string const& name) { return std::ranges::count(known, name) != 0; });
    if (unknown.empty())
        return;
    host.watch().find(flaw::kFieldsGiven, host.generation(), "getFieldNames",
        fmt::format("the plugin was to be made with '{}', and the creator advertises {}{}{}",
            fmt::join(unknown, "', '"), known.empty() ? "no fields" : "'", fmt::join(known, "', '"),
            known.empty() ? "" : "'"));
}

//! The versions of interfaces that there are (L25).
void checkVersion(Host& host, nvinfer1::InterfaceInfo const& info, int32_t latest)
{
    if (info.major < 1 || info.major > latest)
        host.watch().find(flaw::kInterface, host.generation(), "getInterfaceInfo",
            fmt::format(
                "'{}' says that it is of version {}.{}: there are 1 to {}", info.kind, info.major, info.minor, latest));
}

//! The creator's kind has to be that of the plugin that it makes, and the names have to be equal (J15, L3).
void compareWithCreator(Host& host, Said const& plugin)
{
    nvinfer1::IPluginCreatorInterface& creator = *host.subject().creator;
    if (bool const isV3 = host.generation() == Generation::kV3; isV3 == (kindOf(creator) == CreatorKind::kV1))
        host.watch().find(flaw::kInterface, host.generation(), "getInterfaceInfo",
            fmt::format("the creator says that it is '{}' and makes plugins of generation {}",
                creator.getInterfaceInfo().kind, nameOf(host.generation())));
    checkVersion(host, creator.getInterfaceInfo(), 1);
    Said const made = saidBy(creator, host.watch());
    checkPresent(host, made, "creator");
    checkFields(host, made.fields);
    checkGiven(host, made.fields);
    auto const differ = [](char const* a, char const* b) {
        return a != nullptr && b != nullptr && std::string_view{a} != std::string_view{b};
    };
    char const* const nameCall = host.generation() == Generation::kV3 ? "getPluginName" : "getPluginType";
    for (auto const& [mine, theirs, callback] :
        {std::tuple{plugin.type, made.type, nameCall}, std::tuple{plugin.version, made.version, "getPluginVersion"}})
        if (differ(mine, theirs))
            host.watch().find(flaw::kNames, host.generation(), callback,
                fmt::format("the plugin answers '{}', its creator '{}'", mine, theirs));
    // The library tells V2 objects their namespace; those of V3 know it themselves.
    if (host.generation() == Generation::kV3 && differ(plugin.nameSpace, made.nameSpace))
        host.watch().find(flaw::kNames, host.generation(), "getPluginNamespace",
            fmt::format("the plugin answers '{}', its creator '{}'", plugin.nameSpace, made.nameSpace));
    std::string const under = registeredUnder(host.subject());
    if (host.generation() == Generation::kV3 && differ(plugin.nameSpace, under.c_str()))
        host.watch().find(flaw::kNames, host.generation(), "getPluginNamespace",
            fmt::format("the plugin answers '{}', and its creator is registered under '{}'", plugin.nameSpace, under));
}

void checkNamespace(Host& host, nvinfer1::IPluginV2& plugin)
{
    std::string const before = plugin.getPluginNamespace() == nullptr ? "" : plugin.getPluginNamespace();
    host.watch().enter("setPluginNamespace");
    {
        std::string const told{"tenon_check"}; // Gone after the call: the plugin keeps a copy.
        plugin.setPluginNamespace(told.c_str());
    }
    char const* const now = plugin.getPluginNamespace();
    host.watch().enter(Ask::kClone, host.generation());
    // Clones of Python classes begin with the namespace that __init__ sets; told is only one that differs from it.
    bool const isPython =
        ((static_cast<uint32_t>(plugin.getTensorRTVersion()) >> 24U) & nvinfer1::kPLUGIN_VERSION_PYTHON_BIT) != 0;
    bool const mayLose = isPython && registeredUnder(host.subject()).empty();
    if (now == nullptr || std::string_view{now} != "tenon_check")
        host.watch().find(flaw::kNamespace, host.generation(), "getPluginNamespace",
            fmt::format("after setPluginNamespace(\"tenon_check\") it answers '{}'", now == nullptr ? "null" : now));
    else if (nvinfer1::IPluginV2* const copy = mayLose ? nullptr : plugin.clone(); copy != nullptr && copy != &plugin)
    {
        char const* const copied = copy->getPluginNamespace();
        if (copied == nullptr || std::string_view{copied} != "tenon_check")
            host.watch().find(flaw::kCloneCarries, host.generation(), "clone",
                fmt::format("the clone answers '{}' to getPluginNamespace(), the original 'tenon_check'",
                    copied == nullptr ? "null" : copied));
        copy->destroy();
    }
    plugin.setPluginNamespace(before.c_str());
    host.watch().enter(nullptr);
}

void checkCapabilities(Host& host, nvinfer1::IPluginV3& plugin)
{
    checkVersion(host, plugin.getInterfaceInfo(), 1);
    for (auto const kind : {PluginCapabilityType::kCORE, PluginCapabilityType::kBUILD, PluginCapabilityType::kRUNTIME})
    {
        host.watch().enter("getCapabilityInterface");
        nvinfer1::IPluginCapability* const first = plugin.getCapabilityInterface(kind);
        if (first != plugin.getCapabilityInterface(kind))
            host.watch().find(flaw::kStable, host.generation(), "getCapabilityInterface",
                fmt::format(
                    "it gives another object each time it is asked for capability {}", static_cast<int32_t>(kind)));
        if (first != nullptr)
            checkVersion(host, first->getInterfaceInfo(), kind == PluginCapabilityType::kBUILD ? 2 : 1);
    }
    host.watch().enter(nullptr);
}
} // namespace

Result<Done> checkNames(Host& host)
{
    PluginPtr const plugin = TENON_TRY(host.make());
    Said const said = saidBy(*plugin, host.watch());
    checkPresent(host, said, "plugin");
    if (host.subject().creator != nullptr)
        compareWithCreator(host, said);
    if (nvinfer1::IPluginV2* const v2 = plugin->v2())
        checkNamespace(host, *v2);
    else
        checkCapabilities(host, *plugin->v3());
    return Done{};
}

} // namespace tenon::plugins::check
