// Plans as JSON written with nlohmann's library.
#include "inspect/plan_json.h"

#include "base/dims.h"
#include "layers/layer_table.h"
#include "layers/plugin.h"
#include "plan/blocks.h"
#include "plan/check.h"

#include <array>

#include <nlohmann/json.hpp>

namespace tenon::inspect
{

using Json = nlohmann::ordered_json;

namespace
{
//! Extents as text: "2x?x224": ? where a symbol stands behind.
std::string extentsText(Program const& program, PlanTensor const& tensor)
{
    auto const symbols = static_cast<int32_t>(program.symbols.size());
    std::string text;
    for (int32_t const reg : tensor.extents)
    {
        bool const isConstant =
            reg >= symbols && program.shapes.at(static_cast<size_t>(reg - symbols)).op == PlanShapeOp::kConstant;
        text += text.empty() ? "" : "x";
        text += isConstant ? std::to_string(program.shapes[static_cast<size_t>(reg - symbols)].value) : "?";
    }
    return text;
}

Json tensorOf(Plan const& plan, Program const& program, int32_t index)
{
    if (index < 0)
        return nullptr;
    PlanTensor const& tensor = program.tensors.at(static_cast<size_t>(index));
    constexpr std::array kKinds{"io", "activation", "weight", "values", "view", "part"};
    Json json;
    json["id"] = index;
    json["memory"] = rootOf(program, index);
    json["name"] = tensor.name;
    json["kind"] = kKinds.at(static_cast<size_t>(tensor.kind));
    json["type"] = nameOf(tensor.dtype);
    json["shape"] = extentsText(program, tensor);
    json["layout"] = nameOf(tensor.layout);
    json["place"] = nameOf(tensor.place);
    if (tensor.kind == PlanTensorKind::kWeight)
        json["bytes"] = plan.weights.at(static_cast<size_t>(tensor.index)).bytes;
    return json;
}

//! Where each block of the arena lies at the largest shapes of the first profile, and from which step to which.
Json memoryOf(Plan const& plan, Program const& program)
{
    constexpr int64_t kAlignment{64}; // Those of the CPU; a device with pages of its own may take some bytes more.
    if (plan.profiles.empty())
        return nullptr;
    BlockPlan const planned = planBlocks(plan, program, true);
    Result<ArenaBound> const bound = boundArena(plan, program, planned, 0, kAlignment);
    if (!bound)
        return nullptr;
    Json json{{"profile", 0}, {"bytes", bound->layout.bytes}, {"blocks", Json::array()}};
    for (size_t i = 0; i < bound->blocks.size(); ++i)
    {
        ArenaBlock const& block = bound->blocks[i];
        Json tensors = Json::array();
        for (int32_t const tensor : planned.members[i])
            tensors.push_back(program.tensors.at(static_cast<size_t>(tensor)).name);
        json["blocks"].push_back({{"offset", bound->layout.offsets[i]}, {"bytes", block.bytes}, {"first", block.first},
            {"last", block.last}, {"place", nameOf(block.place)}, {"tensors", std::move(tensors)}});
    }
    return json;
}

//! Who does the work, and what the plugin says about itself (L20).
Json pluginOf(PlanNode const& node)
{
    Json json;
    auto const layer = loadLayer(node.layer, node.fields);
    CustomLayer const* const fields = layer ? as<CustomLayer>(**layer) : nullptr;
    if (fields == nullptr)
        return json;
    json["type"] = fields->type;
    json["version"] = fields->version;
    json["namespace"] = fields->nameSpace;
    json["generation"] = plugins::nameOf(fields->generation);
    json["tactic"] = fields->tactic;
    if (!fields->metadata.empty())
        json["metadata"] = fields->metadata;
    return json;
}

Json stepOf(Plan const& plan, Program const& program, size_t index)
{
    PlanStep const& step = program.steps.at(index);
    Json json;
    json["name"] = step.name;
    json["kernel"] = step.kernel;
    json["candidate"] = step.candidate;
    json["tactic"] = step.tactic;
    json["place"] = nameOf(step.place);
    json["stream"] = step.stream;
    json["estimated_us"] = step.cost;
    if (step.graphNode >= 0)
    {
        PlanNode const& node = plan.graph.nodes.at(static_cast<size_t>(step.graphNode));
        json["layer"] = node.layer;
        json["origins"] = node.origins;
        if (node.layer == CustomLayer::kName)
            json["plugin"] = pluginOf(node);
    }
    if (step.code >= 0)
        json["code"] = plan.code.at(static_cast<size_t>(step.code)).name;
    json["inputs"] = Json::array();
    for (int32_t const input : step.inputs)
        json["inputs"].push_back(tensorOf(plan, program, input));
    json["outputs"] = Json::array();
    for (int32_t const output : step.outputs)
        json["outputs"].push_back(tensorOf(plan, program, output));
    return json;
}

Json ioOf(Plan const& plan)
{
    Json list = Json::array();
    for (PlanIO const& io : plan.io)
        list.push_back({{"name", io.name}, {"mode", io.isInput ? "input" : "output"}, {"type", nameOf(io.dtype)},
            {"shape", extentsOf(io.dims)}, {"location", io.isShape ? "host" : "device"},
            {"layout", nameOf(io.layout)}});
    return list;
}

Json profilesOf(Plan const& plan)
{
    Json list = Json::array();
    for (PlanProfile const& profile : plan.profiles)
    {
        Json inputs = Json::object();
        for (PlanProfileInput const& input : profile.inputs)
            inputs[plan.io.at(static_cast<size_t>(input.io)).name] = {
                {"min", extentsOf(input.min)}, {"opt", extentsOf(input.opt)}, {"max", extentsOf(input.max)}};
        list.push_back(std::move(inputs));
    }
    return list;
}
} // namespace

std::string jsonString(std::string_view text)
{
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string planJson(Plan const& plan, int64_t fileBytes, RuleSentences const& sentences)
{
    Json json;
    json["name"] = plan.networkName;
    json["bytes"] = fileBytes;
    json["network_layers"] = plan.networkLayers;
    json["batch"] = plan.batch.mode == PlanBatchMode::kImplicit
        ? fmt::format("implicit, at most {}; the first extent of each shape", plan.batch.most)
        : "explicit";
    json["io"] = ioOf(plan);
    json["profiles"] = profilesOf(plan);
    json["activation_bytes_per_profile"] = plan.memoryPerProfile;
    json["weights"] = {{"count", plan.weights.size()}, {"bytes", [&] {
                                                            uint64_t bytes{0};
                                                            for (PlanWeight const& weight : plan.weights)
                                                                bytes += weight.bytes;
                                                            return bytes;
                                                        }()}};
    json["programs"] = Json::array();
    for (Program const& program : plan.programs)
    {
        Json steps = Json::array();
        for (size_t i = 0; i < program.steps.size(); ++i)
            steps.push_back(stepOf(plan, program, i));
        json["programs"].push_back(
            {{"device", program.device}, {"steps", std::move(steps)}, {"memory", memoryOf(plan, program)}});
        if (!program.architecture.empty())
            json["programs"].back()["architecture"] = program.architecture;
        if (!program.libraries.empty())
            json["programs"].back()["libraries"] = program.libraries;
    }
    json["decisions"] = Json::array();
    Json rules = Json::object();
    for (PlanDecision const& decision : plan.decisions)
    {
        json["decisions"].push_back({{"kind", decision.kind}, {"layer", decision.layer}, {"text", decision.text}});
        std::string_view const rule = std::string_view{decision.text}.substr(0, decision.text.find(':'));
        if (auto const sentence = sentences.find(rule); sentence != sentences.end())
            rules[std::string{rule}] = sentence->second;
    }
    json["rules"] = std::move(rules);
    json["plugins"] = Json::array();
    for (PlanPlugin const& plugin : plan.plugins)
        json["plugins"].push_back({{"name", plugin.name}, {"version", plugin.version}, {"namespace", plugin.nameSpace},
            {"library", plugin.library}, {"generation", plugin.generation}});
    json["code"] = Json::array();
    for (PlanCode const& code : plan.code)
        json["code"].push_back({{"name", code.name}, {"form", nameOf(code.form)}, {"target", code.target},
            {"bytes", code.bytes}, {"sha256", hexOf(code.sha256)}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace tenon::inspect
