// tenon inspect: what a model or plan is made of, and what the builder decided.
#include "commands.h"
#include "files.h"
#include "interruption.h"
#include "machine.h"
#include "plan_page.h"
#include "plan_text.h"
#include "session.h"
#include "step_times.h"
#include "texts.h"

#include <cstdio>
#include <filesystem>

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
            times = measureSteps(session, shapes, threadsOfRuns(common.threads), common.quiet);
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
        printPlan(json, options.path, {true, options.decisions});
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
