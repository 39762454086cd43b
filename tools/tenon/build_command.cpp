// tenon build: an ONNX model becomes a plan.
#include "commands.h"
#include "files.h"
#include "interruption.h"
#include "plan_text.h"
#include "session.h"
#include "texts.h"

#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace tenon::cli
{

namespace
{
struct BuildOptions
{
    std::string model;
    std::string output;
    std::vector<std::string> shapes;
    bool report{false};
};

//! Where the time went, and what became of the model.
void printReport(nvinfer1::IHostMemory const& plan, std::string const& path, BuildProgress const& progress)
{
    std::printf("phases:\n");
    for (auto const& [phase, seconds] : progress.seconds())
        std::printf("  %8.2f s  %s\n", seconds, phase.c_str());
    TenonText problem{nullptr};
    TenonText const text = tenonInspectPlan(plan.data(), plan.size(), &problem);
    printPlan(parsed(text, problem), path, {false, false});
}

int build(BuildOptions const& options, Common const& common)
{
    std::filesystem::path const model{options.model};
    std::string const output =
        options.output.empty() ? std::filesystem::path{model}.replace_extension(".plan").string() : options.output;
    std::error_code none;
    if (std::filesystem::equivalent(output, model, none))
        throw std::invalid_argument("'" + output + "' is the model itself: the plan needs a file of its own");
    if (options.report && isWrittenThrough(output))
        throw std::invalid_argument("--report: the plan needs a file of its own, not a stream that the report goes to");
    expectWritable(output);
    Logger logger{common.severity()};
    auto const start = std::chrono::steady_clock::now();
    Shapes const shapes = parseShapes(options.shapes);
    BuildProgress bar{!common.quiet};
    auto const plan = buildPlan(options.model, shapes, common.threads, logger, bar);
    if (gInterrupted)
        return kInterruptedStatus;
    if (plan == nullptr)
        return 1;
    writeFile(output, plan->data(), plan->size());
    ProgressBar::clearLine();
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - start;
    if (!common.quiet)
        std::fprintf(isWrittenThrough(output) ? stderr : stdout, // The plan may have gone to standard output.
            "%s: %s in %.1f s\n", output.c_str(), shownBytes(static_cast<double>(plan->size())).c_str(), spent.count());
    if (options.report)
        printReport(*plan, output, bar);
    return 0;
}
} // namespace

void addBuild(CLI::App& app, Common const& common, int& status)
{
    auto options = std::make_shared<BuildOptions>();
    CLI::App* command = app.add_subcommand("build", "Build a plan from an ONNX model");
    command->add_option("model", options->model, "The ONNX file")->required()->check(CLI::ExistingFile);
    command->add_option("-o,--output", options->output, "Where the plan goes (MODEL.plan)");
    addShapes(*command, options->shapes,
        "Range of each input with extents known at run time: name=MIN:OPT:MAX, or name=SHAPE for one shape only");
    command->add_flag("--report", options->report,
        "Print where the time went, what became of the layers, how often which fusion or refusal happened, and why");
    command->footer(R"(Example:
  tenon build model.onnx -o model.plan --shapes input=1x3x224x224:8x3x224x224:32x3x224x224
The plan runs at every shape from MIN to MAX and is optimized for OPT. On a terminal a bar shows the phase and an estimate
of the time that is left over all phases. Ctrl-C cancels and leaves no file. -v prints each fusion, refusal and tactic with its reason.)");
    command->callback([options, &common, &status] { status = build(*options, common); });
}

} // namespace tenon::cli
