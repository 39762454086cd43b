// The creators of a registry as JSON: what they are called, where they come from, which fields they take.
#include "inspect/plugin_list.h"

#include "impl/NvInferPythonPlugin.h"

#include <nlohmann/json.hpp>

namespace tenon::inspect
{

using namespace nvinfer1;

namespace
{
using Json = nlohmann::ordered_json;

char const* fieldTypeName(PluginFieldType type) noexcept
{
    switch (type)
    {
    case PluginFieldType::kFLOAT16: return "float16";
    case PluginFieldType::kFLOAT32: return "float32";
    case PluginFieldType::kFLOAT64: return "float64";
    case PluginFieldType::kINT8: return "int8";
    case PluginFieldType::kINT16: return "int16";
    case PluginFieldType::kINT32: return "int32";
    case PluginFieldType::kCHAR: return "char";
    case PluginFieldType::kDIMS: return "dims";
    case PluginFieldType::kUNKNOWN: return "unknown";
    case PluginFieldType::kBF16: return "bfloat16";
    case PluginFieldType::kINT64: return "int64";
    case PluginFieldType::kFP8: return "fp8";
    case PluginFieldType::kINT4: return "int4";
    case PluginFieldType::kFP4: return "fp4";
    }
    return "?";
}

struct About
{
    char const* generation{"?"};
    PluginFieldCollection const* fields{nullptr};
};

About aboutOf(IPluginCreatorInterface& creator)
{
    switch (plugins::kindOf(creator))
    {
    case plugins::CreatorKind::kV1: return {"V2", static_cast<IPluginCreator&>(creator).getFieldNames()};
    case plugins::CreatorKind::kV3One: return {"V3", static_cast<IPluginCreatorV3One&>(creator).getFieldNames()};
    case plugins::CreatorKind::kV3Quick:
        return {"decorated", static_cast<IPluginCreatorV3Quick&>(creator).getFieldNames()};
    case plugins::CreatorKind::kUnknown: break;
    }
    return {};
}
} // namespace

std::string pluginsJson(plugins::Registry const& registry)
{
    Json json = Json::array();
    for (plugins::Registry::Listed const& each : registry.listed())
    {
        About const about = aboutOf(*each.creator);
        Json fields = Json::array();
        for (int32_t i = 0; about.fields != nullptr && about.fields->fields != nullptr && i < about.fields->nbFields;
             ++i)
        {
            PluginField const& field = about.fields->fields[i];
            fields.push_back({{"name", field.name == nullptr ? "" : field.name}, {"type", fieldTypeName(field.type)},
                {"length", field.length}});
        }
        json.push_back({{"name", each.type}, {"version", each.version}, {"namespace", each.nameSpace},
            {"generation", about.generation}, {"library", each.library}, {"fields", std::move(fields)}});
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace tenon::inspect
