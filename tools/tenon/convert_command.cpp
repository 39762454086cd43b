// tenon convert: a plan as an ONNX model for viewers and editors of graphs.
#include "commands.h"
#include "files.h"
#include "interruption.h"
#include "session.h"
#include "texts.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace tenon::cli
{

namespace
{
struct ConvertOptions
{
    std::string path;
    std::string output;
    bool weights{false};
    std::vector<std::string> shapes;
};

struct TenonFree
{
    void operator()(char* text) const noexcept
    {
        tenonFree(text);
    }
};

//! The model that shows the plan; a model is built first.
std::unique_ptr<char, TenonFree> convert(ConvertOptions const& options, Common const& common, size_t& size)
{
    Logger logger{common.severity()};
    TenonText problem{nullptr};
    int32_t const hasWeights = options.weights ? 1 : 0;
    std::unique_ptr<char, TenonFree> bytes;
    if (isOnnx(options.path))
    {
        BuildProgress bar{!common.quiet};
        auto const plan = buildPlan(options.path, parseShapes(options.shapes), common.threads, logger, bar);
        if (plan == nullptr)
            throw std::runtime_error("'" + options.path + "' could not be built");
        bytes.reset(tenonConvertPlan(plan->data(), plan->size(), hasWeights, &size, &problem));
    }
    else
        bytes.reset(tenonConvertFile(options.path.c_str(), hasWeights, &size, &problem));
    std::unique_ptr<char, TenonFree> const why{problem};
    if (bytes == nullptr)
        throw std::runtime_error("'" + options.path + "': " + (why == nullptr ? "out of memory" : why.get()));
    return bytes;
}

int convertTo(ConvertOptions const& options, Common const& common)
{
    std::error_code none;
    if (std::filesystem::equivalent(options.output, options.path, none))
        throw std::invalid_argument(
            "'" + options.output + "' is what is converted: the result needs a file of its own");
    expectWritable(options.output);
    size_t size{0};
    auto const bytes = convert(options, common, size);
    if (gInterrupted)
        return kInterruptedStatus;
    writeFile(options.output, bytes.get(), size);
    if (!common.quiet && !isWrittenThrough(options.output))
        std::printf("%s: %s\n", shownName(options.output).c_str(), shownBytes(static_cast<double>(size)).c_str());
    return 0;
}
} // namespace

void addConvert(CLI::App& app, Common const& common, int& status)
{
    auto options = std::make_shared<ConvertOptions>();
    CLI::App* command = app.add_subcommand("convert", "Write a plan as an ONNX model for viewers of graphs");
    command->add_option("path", options->path, "A plan, or a .onnx file, which is built first")
        ->required()
        ->check(CLI::ExistingFile);
    command->add_option("-o,--output", options->output, "Where the model goes")->required();
    command->add_flag("--weights", options->weights, "With the values of weights; else nodes say what they have");
    addShapes(*command, options->shapes, "For a model that is built first, as of tenon build");
    command->footer(R"(Example:
  tenon convert model.plan -o optimized.onnx
Netron, Polygraphy and onnx-graphsurgeon read it: a node for each step, named after the layers of yours that it does the
work of, with kernel, fields, types and shapes. Its operators are of the domain 'tenon': it is there to be looked at.)");
    command->callback([options, &common, &status] { status = convertTo(*options, common); });
}

} // namespace tenon::cli
