// PlanText: the JSON of a plan or model, as people read it.
#include "plan_text.h"

#include "texts.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

namespace tenon::cli
{

std::string jsonText(Json const& value)
{
    return value.is_string() ? shownName(value.get<std::string>()) : value.is_null() ? "" : value.dump();
}

namespace
{
std::string sentenceOf(Json const& value)
{
    return shownMessage(value.get<std::string>());
}

std::string shapeOf(Json const& extents)
{
    if (extents.is_string())
        return jsonText(extents);
    std::string text;
    for (Json const& extent : extents)
        text += (text.empty() ? "" : "x") + (extent == -1 ? "?" : extent.dump());
    return text.empty() ? "scalar" : text;
}

std::string bytesOf(Json const& bytes)
{
    return shownBytes(bytes.get<double>());
}

void printIO(Json const& io)
{
    for (Json const& tensor : io)
        std::printf("  %-6s %s: %s %s%s\n", jsonText(tensor["mode"]).c_str(), jsonText(tensor["name"]).c_str(),
            jsonText(tensor["type"]).c_str(), shapeOf(tensor["shape"]).c_str(),
            jsonText(tensor.value("location", Json{})) == "host" ? " (in host memory)" : "");
}

void printProfiles(Json const& plan)
{
    size_t number{0};
    for (Json const& profile : plan["profiles"])
    {
        std::printf("profile %zu", number);
        if (plan["activation_bytes_per_profile"].size() > number)
            std::printf(": activations up to %s", bytesOf(plan["activation_bytes_per_profile"][number]).c_str());
        std::printf("\n");
        for (auto const& [name, range] : profile.items())
            std::printf("  %s: %s to %s, best at %s\n", shownName(name).c_str(), shapeOf(range["min"]).c_str(),
                shapeOf(range["max"]).c_str(), shapeOf(range["opt"]).c_str());
        ++number;
    }
}

void printSteps(Json const& program)
{
    std::printf("steps on %s, each with kernel/candidate/tactic:\n", jsonText(program["device"]).c_str());
    size_t number{0};
    for (Json const& step : program["steps"])
    {
        std::string outputs;
        for (Json const& output : step["outputs"])
            if (!output.is_null())
                outputs += " " + jsonText(output["type"]) + "[" + jsonText(output["shape"]) + "] "
                    + jsonText(output["layout"]);
        std::string const choice =
            jsonText(step["kernel"]) + "/" + jsonText(step["candidate"]) + "/" + jsonText(step["tactic"]);
        std::printf("%4zu  %-30s %s ->%s\n", number++, choice.c_str(), jsonText(step["name"]).c_str(), outputs.c_str());
    }
}

//! Decisions of one kind together; how often each reason occurred, unless all are wanted.
void printDecisions(Json const& decisions, bool all)
{
    std::map<std::string, std::map<std::string, int>> kinds;
    for (Json const& decision : decisions)
    {
        std::string const kind = jsonText(decision["kind"]);
        if (all)
            std::printf("  %-10s %s: %s\n", kind.c_str(), jsonText(decision["layer"]).c_str(),
                sentenceOf(decision["text"]).c_str());
        else
            ++kinds[kind][kind == "tactic" ? "(--decisions lists them)" : sentenceOf(decision["text"])];
    }
    for (auto const& [kind, reasons] : kinds)
        for (auto const& [reason, count] : reasons)
            std::printf("  %-10s %4d x %s\n", kind.c_str(), count, reason.c_str());
}

//! How many steps each kernel has, most first.
void printKernels(Json const& program)
{
    std::map<std::string, int> counts;
    for (Json const& step : program["steps"])
        ++counts[jsonText(step["kernel"]) + "/" + jsonText(step["candidate"])];
    std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](auto const& a, auto const& b) { return a.second > b.second; });
    std::printf("kernels on %s:\n", jsonText(program["device"]).c_str());
    for (auto const& [kernel, count] : sorted)
        std::printf("  %4d x %s\n", count, kernel.c_str());
}
} // namespace

//! The file's name, and the network's where it has one.
std::string titleOf(Json const& json, std::string const& path)
{
    std::string const name = jsonText(json["name"]);
    return "'" + shownName(std::filesystem::path(path).filename().string()) + "'"
        + (name.empty() ? "" : " (network '" + name + "')");
}

void printPlan(Json const& plan, std::string const& path, PlanText const& wanted)
{
    size_t steps{0};
    for (Json const& program : plan["programs"])
        steps = std::max(steps, program["steps"].size());
    std::printf("plan %s: %s, weights %s; %s layers became %zu steps\n", titleOf(plan, path).c_str(),
        bytesOf(plan["bytes"]).c_str(), bytesOf(plan["weights"]["bytes"]).c_str(),
        jsonText(plan["network_layers"]).c_str(), steps);
    if (jsonText(plan["batch"]) != "explicit")
        std::printf("batch: %s\n", jsonText(plan["batch"]).c_str());
    printIO(plan["io"]);
    printProfiles(plan);
    for (Json const& program : plan["programs"])
        wanted.hasSteps ? printSteps(program) : printKernels(program);
    std::printf("decisions:\n");
    printDecisions(plan["decisions"], wanted.hasAllDecisions);
    if (plan["plugins"].empty())
        std::printf("plugins needed: none\n");
    for (Json const& plugin : plan["plugins"])
    {
        std::string const library = jsonText(plugin["library"]);
        std::printf("plugin needed: %s, version %s, namespace '%s' (%s)%s\n", jsonText(plugin["name"]).c_str(),
            jsonText(plugin["version"]).c_str(), jsonText(plugin["namespace"]).c_str(),
            jsonText(plugin["generation"]).c_str(), library.empty() ? "" : (", from " + library).c_str());
    }
    for (Json const& code : plan["code"])
        std::printf("code carried: %s, %s bytes, SHA-256 %s, %s for %s\n", jsonText(code["name"]).c_str(),
            jsonText(code["bytes"]).c_str(), jsonText(code["sha256"]).c_str(), jsonText(code["form"]).c_str(),
            jsonText(code["target"]).c_str());
}

void printNetwork(Json const& network, std::string const& path)
{
    std::printf("model %s: %zu layers\n", titleOf(network, path).c_str(), network["layers"].size());
    printIO(network["io"]);
    size_t number{0};
    for (Json const& layer : network["layers"])
    {
        std::string outputs;
        for (Json const& output : layer["outputs"])
            outputs += " "
                + (output.is_object()
                        ? jsonText(output.value("type", Json{})) + "[" + shapeOf(output.value("shape", Json{})) + "]"
                        : jsonText(output));
        std::printf("%4zu  %-20s %s ->%s\n", number++, jsonText(layer["kind"]).c_str(), jsonText(layer["name"]).c_str(),
            outputs.c_str());
    }
}

} // namespace tenon::cli
