// tenon run: one run of a plan or model on given or random inputs.
#include "commands.h"
#include "elements.h"
#include "npy.h"
#include "session.h"
#include "texts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace tenon::cli
{

namespace
{
struct RunOptions
{
    std::string path;
    std::vector<std::string> shapes;
    std::vector<std::string> inputs;
    std::string outputs;
    std::optional<uint32_t> seed;
};

void printStatistics(char const* name, nvinfer1::DataType type, nvinfer1::Dims const& dims, char const* data)
{
    std::printf("%s: %s", shownName(name).c_str(), show(dims).c_str());
    size_t const count = elementsOf(dims).value_or(0);
    if (count > 0 && elementAt(type, data, 0))
    {
        double low{INFINITY};
        double high{-INFINITY};
        double sum{0.0};
        for (size_t i = 0; i < count; ++i)
        {
            double const value = *elementAt(type, data, i);
            low = std::isnan(value) || value < low ? value : low; // A NaN stays, as it does in the mean.
            high = std::isnan(value) || value > high ? value : high;
            sum += value;
        }
        std::printf(", min %g, max %g, mean %g", low, high, sum / static_cast<double>(count));
    }
    std::printf("\n");
}

int run(RunOptions const& options, Common const& common)
{
    Logger logger{common.severity()};
    Shapes const shapes = parseShapes(options.shapes);
    Session session{options.path, shapes, common, logger};
    GivenInputs const inputs = readInputs(options.inputs);
    checkInputs(inputs, session.engine(), options.seed.has_value());
    session.prepare(shapes, options.seed.value_or(0), inputs);
    session.run();
    for (int32_t i = 0; i < session.engine().getNbIOTensors(); ++i)
    {
        char const* name = session.engine().getIOTensorName(i);
        if (session.engine().getTensorIOMode(name) != nvinfer1::TensorIOMode::kOUTPUT)
            continue;
        nvinfer1::Dims const dims = session.outputDims(name);
        nvinfer1::DataType const type = session.engine().getTensorDataType(name);
        if (!common.quiet)
            printStatistics(name, type, dims, session.outputData(name));
        if (!options.outputs.empty())
        {
            std::filesystem::create_directories(options.outputs);
            std::string file{name};
            std::replace(file.begin(), file.end(), '/', '_');
            writeNpy(options.outputs + "/" + file + ".npy", type, dims, session.outputData(name));
        }
    }
    return 0;
}
} // namespace

void addRun(CLI::App& app, Common const& common, int& status)
{
    auto options = std::make_shared<RunOptions>();
    CLI::App* command = app.add_subcommand("run", "Run a plan (or a model, built first) once");
    command->add_option("plan", options->path, "A .plan or .onnx file")->required()->check(CLI::ExistingFile);
    addShapes(*command, options->shapes, "Shape of each input; kOPT of profile 0 where none is given");
    command->add_option("--input", options->inputs, "name=file.npy, once per input; random data where none is given")
        ->allow_extra_args(false);
    command->add_option("--outputs", options->outputs, "Folder for the outputs, one .npy each");
    command->add_option("--seed", options->seed, "Seed of the inputs that are not given (0)");
    command->footer(R"(Example:
  tenon run model.plan --input input=picture.npy --outputs results
Prints shape, smallest, largest and mean value of each output. A file's shape is its input's; inputs that are not given
are random, shape tensors the kOPT values of profile 0. bfloat16 stands in files as two raw bytes (V2), the form of
Python's ml_dtypes; types of fewer than eight bits have no form.)");
    command->callback([options, &common, &status] { status = run(*options, common); });
}

} // namespace tenon::cli
