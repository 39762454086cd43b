// LayerInformation: names of keys are those of the API's own JSON.
#include "inspect/layer_information.h"

#include "inspect/plan_json.h"
#include "layers/layer_table.h"
#include "layers/plugin.h"
#include "plan/lookup.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace tenon::inspect
{

using Json = nlohmann::ordered_json;
using nvinfer1::ProfilingVerbosity;

namespace
{
//! Between the metadata of layers that became one step.
constexpr char const* kMetadataSeparator{"\x1E"};

std::string typeText(DType type)
{
    if (type == kFloat64)
        return "FP64";
    switch (type)
    {
    case DType::kFLOAT: return "FP32";
    case DType::kHALF: return "FP16";
    case DType::kBF16: return "BF16";
    case DType::kINT64: return "Int64";
    case DType::kINT32: return "Int32";
    case DType::kINT8: return "Int8";
    case DType::kUINT8: return "UInt8";
    case DType::kBOOL: return "Bool";
    default: return std::string{nameOf(type)};
    }
}

std::string layoutText(Layout layout)
{
    return layout == Layout::kLinear ? "Row major linear" : std::string{nameOf(layout)};
}

//! −1 where an extent is not known.
Json dimensionsOf(PlanTensor const& tensor, std::span<Span const> registers)
{
    Json extents = Json::array();
    for (int32_t const reg : tensor.extents)
    {
        Span const extent = registers[static_cast<size_t>(reg)];
        extents.push_back(extent.isKnown() ? extent.lo : -1);
    }
    return extents;
}

Json tensorsOf(
    Plan const& plan, Program const& program, std::vector<int32_t> const& list, std::span<Span const> registers)
{
    Json all = Json::array();
    for (int32_t const index : list)
    {
        if (index < 0)
            continue;
        PlanTensor const& tensor = program.tensors.at(static_cast<size_t>(index));
        bool const isHost = tensor.kind == PlanTensorKind::kValues
            || (tensor.kind == PlanTensorKind::kIO && plan.io.at(static_cast<size_t>(tensor.index)).isShape);
        bool const isValues = tensor.kind == PlanTensorKind::kValues; // Its extents stand for its elements.
        all.push_back({{"Name", tensor.name}, {"Location", isHost ? "Host" : "Device"},
            {"Dimensions", isValues ? Json::array({tensor.extents.size()}) : dimensionsOf(tensor, registers)},
            {"Format/Datatype", layoutText(tensor.layout) + " " + typeText(tensor.dtype)}});
    }
    return all;
}

Json pluginOf(CustomLayer const& fields)
{
    Json json{{"Type", fields.type}, {"Version", fields.version}, {"Namespace", fields.nameSpace}};
    if (!fields.metadata.empty())
        json["Metadata"] = fields.metadata;
    return json;
}

std::string metadataOf(NotesByLayer const& notes, PlanNode const& node)
{
    std::string text;
    for (std::string const& origin : node.origins)
        if (auto const found = notes.find(origin); found != notes.end())
            for (std::string_view const note : found->second)
                text.append(text.empty() ? "" : kMetadataSeparator).append(note);
    return text;
}

//! What the node behind the step is.
void addNode(Json& json, NotesByLayer const& notes, PlanNode const& node)
{
    json["LayerType"] = node.layer;
    json["Origins"] = node.origins;
    auto const layer = loadLayer(node.layer, node.fields);
    if (layer)
        json["Fields"] = (*layer)->show();
    if (CustomLayer const* const plugin = layer ? as<CustomLayer>(**layer) : nullptr)
        json["Plugin"] = pluginOf(*plugin);
    if (std::string metadata = metadataOf(notes, node); !metadata.empty())
        json["Metadata"] = std::move(metadata);
}

std::string dump(Json const& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

//! The same on one line, without quotes and braces around the whole.
std::string plainText(Json const& value, bool isOuter)
{
    if (value.is_string())
        return value.get<std::string>();
    if (!value.is_structured() || (value.is_array() && (value.empty() || value.front().is_number())))
        return dump(value);
    std::string text;
    for (auto const& [key, each] : value.items())
        text += (text.empty() ? "" : ", ") + (value.is_object() ? key + ": " : std::string{}) + plainText(each, false);
    if (isOuter)
        return text;
    return value.is_array() ? "[" + text + "]" : "{ " + text + " }";
}

Json detailsOf(Plan const& plan, Program const& program, NotesByLayer const& notes, size_t index,
    std::span<Span const> registers, std::string const& tag)
{
    PlanStep const& step = program.steps.at(index);
    Json json;
    json["Name"] = step.name + tag;
    json["LayerType"] = roleOf(step) == StepRole::kReorder ? "Reformat" : step.kernel;
    json["Inputs"] = tensorsOf(plan, program, step.inputs, registers);
    json["Outputs"] = tensorsOf(plan, program, step.outputs, registers);
    if (step.graphNode >= 0)
        addNode(json, notes, plan.graph.nodes.at(static_cast<size_t>(step.graphNode)));
    json["TacticName"] = step.candidate;
    json["TacticValue"] = fmt::format("{:#018x}", static_cast<uint64_t>(step.tactic));
    json["StreamId"] = 0;
    return json;
}
} // namespace

std::vector<Span> fixedRegisters(Program const& program)
{
    std::vector<Span> registers(program.symbols.size(), Span{0, INT64_MAX});
    for (PlanShapeInstruction const& made : program.shapes)
        registers.push_back(made.op == PlanShapeOp::kConstant ? Span{made.value, made.value} : Span{0, INT64_MAX});
    return registers;
}

LayerInformation::LayerInformation(Plan const& plan, Program const& program)
    : mPlan{plan},
      mProgram{program}
{
    for (PlanNote const& note : plan.notes)
        mNotes[note.layer].push_back(note.text);
}

std::string LayerInformation::text(size_t step, std::span<Span const> registers, std::string const& tag) const
{
    switch (static_cast<ProfilingVerbosity>(mPlan.profilingVerbosity))
    {
    case ProfilingVerbosity::kDETAILED:
        return plainText(detailsOf(mPlan, mProgram, mNotes, step, registers, tag), true);
    case ProfilingVerbosity::kLAYER_NAMES_ONLY: return mProgram.steps.at(step).name + tag;
    default: return {};
    }
}

std::string LayerInformation::json(size_t step, std::span<Span const> registers, std::string const& tag) const
{
    switch (static_cast<ProfilingVerbosity>(mPlan.profilingVerbosity))
    {
    case ProfilingVerbosity::kDETAILED: return dump(detailsOf(mPlan, mProgram, mNotes, step, registers, tag));
    case ProfilingVerbosity::kLAYER_NAMES_ONLY: return jsonString(mProgram.steps.at(step).name + tag);
    default: return {};
    }
}

} // namespace tenon::inspect
