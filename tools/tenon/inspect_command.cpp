// tenon inspect: what a model or plan is made of, and what the builder decided.
#include "commands.h"
#include "files.h"
#include "interruption.h"
#include "machine.h"
#include "plan_page.h"
#include "session.h"
#include "step_times.h"
#include "texts.h"

#include <cstdio>
#include <filesystem>
#include <map>

namespace tenon::cli
{

namespace
{
struct InspectOptions
{
    std::string path;
    bool json{false};
    bool decisions{false};
    bool dot{false};
    std::string html; //!< Where the page goes.
    std::string model;
    bool profile{false};
    std::vector<std::string> shapes;
};

std::string jsonText(Json const& value)
{
    return value.is_string() ? shownName(value.get<std::string>()) : value.is_null() ? "" : value.dump();
}

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

double mebibytes(Json const& bytes)
{
    return bytes.get<double>() / (1 << 20);
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
            std::printf(": activations up to %.1f MiB", mebibytes(plan["activation_bytes_per_profile"][number]));
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

//! The file's name, and the network's where it has one.
std::string titleOf(Json const& json, std::string const& path)
{
    std::string const name = jsonText(json["name"]);
    return "'" + shownName(std::filesystem::path(path).filename().string()) + "'"
        + (name.empty() ? "" : " (network '" + name + "')");
}

void printPlan(Json const& plan, std::string const& path, bool allDecisions)
{
    size_t steps{0};
    for (Json const& program : plan["programs"])
        steps = std::max(steps, program["steps"].size());
    std::printf("plan %s: %.1f MiB, weights %.1f MiB; %s layers became %zu steps\n", titleOf(plan, path).c_str(),
        mebibytes(plan["bytes"]), mebibytes(plan["weights"]["bytes"]), jsonText(plan["network_layers"]).c_str(), steps);
    if (jsonText(plan["batch"]) != "explicit")
        std::printf("batch: %s\n", jsonText(plan["batch"]).c_str());
    printIO(plan["io"]);
    printProfiles(plan);
    for (Json const& program : plan["programs"])
        printSteps(program);
    std::printf("decisions:\n");
    printDecisions(plan["decisions"], allDecisions);
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

Json inspectModel(std::string const& path, nvinfer1::ILogger& logger)
{
    Model model{logger};
    model.read(path);
    TenonText problem{nullptr};
    TenonText const text = tenonInspectNetwork(&model.network(), &problem);
    return parsed(text, problem);
}

//! One page of the plan, with the times of its steps where they are wanted. A model is built first.
int writePage(InspectOptions const& options, Common const& common, nvinfer1::ILogger& logger)
{
    bool const isModel = isOnnx(options.path);
    std::string const model = isModel ? options.path : options.model;
    Json const network = model.empty() ? Json{} : inspectModel(model, logger);
    TenonText problem{nullptr};
    Json plan;
    Json times;
    if (isModel || options.profile)
    {
        Shapes const shapes = parseShapes(options.shapes);
        Session session{options.path, shapes, common, logger};
        TenonText const text = tenonInspectEngine(&session.engine(), &problem);
        plan = parsed(text, problem);
        if (options.profile)
            times = measureSteps(session, shapes, threadsOfRuns(common.threads));
    }
    else
    {
        TenonText const text = tenonInspectFile(options.path.c_str(), &problem);
        plan = parsed(text, problem);
    }
    if (gInterrupted)
        return kInterruptedStatus;
    if (jsonText(plan["name"]).empty())
        plan["name"] = std::filesystem::path(options.path).filename().string();
    std::string const page = planPage(plan, network, times);
    writeFile(options.html, page.data(), page.size());
    if (!common.quiet)
        std::printf("%s: the page of plan %s\n", shownName(options.html).c_str(), titleOf(plan, options.path).c_str());
    return 0;
}

int inspect(InspectOptions const& options, Common const& common)
{
    Logger logger{common.severity()};
    if (!options.html.empty())
        return writePage(options, common, logger);
    bool const isModel = isOnnx(options.path);
    TenonText problem{nullptr};
    Json json;
    if (isModel)
        json = inspectModel(options.path, logger);
    else
    {
        TenonText const text = tenonInspectFile(options.path.c_str(), &problem);
        json = parsed(text, problem);
    }
    if (options.dot && isModel)
        throw std::invalid_argument("--dot draws a plan: build the model first");
    if (options.dot)
        std::fputs(planDot(json).c_str(), stdout);
    else if (options.json)
        std::printf("%s\n", json.dump(2).c_str());
    else if (isModel)
        printNetwork(json, options.path);
    else
        printPlan(json, options.path, options.decisions);
    return 0;
}
} // namespace

void addInspect(CLI::App& app, Common const& common, int& status)
{
    auto options = std::make_shared<InspectOptions>();
    CLI::App* command = app.add_subcommand("inspect", "Show the layers of a model, or what became of them in a plan");
    command->add_option("path", options->path, "A .onnx file or a plan")->required()->check(CLI::ExistingFile);
    command->add_flag("--json", options->json, "Print everything as JSON");
    command->add_flag("--decisions", options->decisions, "List each decision with its layer");
    command->add_flag("--dot", options->dot, "Print a plan's steps as a graph for Graphviz");
    CLI::Option* const html =
        command->add_option("--html", options->html, "Write one page for a browser: graph, steps, memory, decisions");
    command
        ->add_option("--model", options->model, "The .onnx file that the plan is of: its layers stand beside the steps")
        ->check(CLI::ExistingFile)
        ->needs(html);
    command->add_flag("--profile", options->profile, "Run the plan for some seconds: the page shows each step's time")
        ->needs(html);
    addShapes(*command, options->shapes, "Shape of each input for --profile, and for a model that --html builds");
    command->footer(
        R"(Example:
  tenon inspect model.plan --decisions
  tenon inspect model.onnx --html model.html --profile
Of a plan: inputs and outputs, profiles with their memory, each step with its kernel and layout, how often which
fusion or refusal happened and why, and the plugins it needs. Plugins need not be present.)");
    command->callback([options, &common, &status] { status = inspect(*options, common); });
}

} // namespace tenon::cli
