// tenon run: one run of a plan or model on given or random inputs.
#include "commands.h"
#include "npy.h"
#include "session.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace tenon::cli
{

namespace
{
struct Options
{
    std::string path;
    std::vector<std::string> shapes;
    std::vector<std::string> inputs;
    std::string outputs;
    uint32_t seed{0};
};

void load(Session& session, std::vector<std::string> const& inputs, Shapes& shapes)
{
    for (std::string const& text : inputs)
    {
        size_t const equals = text.find('=');
        if (equals == std::string::npos)
            throw std::invalid_argument("'" + text + "' is not name=file.npy");
        NpyArray const array = readNpy(text.substr(equals + 1));
        shapes[text.substr(0, equals)] = {array.dims, array.dims, array.dims};
    }
    session.prepare(shapes, 0);
    for (std::string const& text : inputs)
    {
        std::string const name = text.substr(0, text.find('='));
        NpyArray const array = readNpy(text.substr(text.find('=') + 1));
        if (session.engine().getTensorIOMode(name.c_str()) != nvinfer1::TensorIOMode::kINPUT)
            throw std::invalid_argument("the model has no input '" + name + "'");
        if (session.engine().getTensorDataType(name.c_str()) != array.type)
            throw std::invalid_argument("input '" + name + "' has another element type than its file");
        std::copy(array.data.begin(), array.data.end(), session.buffer(name).begin());
    }
}

void printStatistics(
    char const* name, nvinfer1::DataType type, nvinfer1::Dims const& dims, std::vector<char> const& data)
{
    std::printf("%s: %s", name, show(dims).c_str());
    size_t const count = bytesOf(type, dims) / sizeof(float);
    if (type == nvinfer1::DataType::kFLOAT && count > 0)
    {
        auto const* values = reinterpret_cast<float const*>(data.data());
        double sum{0.0};
        for (size_t i = 0; i < count; ++i)
            sum += static_cast<double>(values[i]);
        auto const [low, high] = std::minmax_element(values, values + count);
        std::printf(", min %g, max %g, mean %g", static_cast<double>(*low), static_cast<double>(*high),
            sum / static_cast<double>(count));
    }
    std::printf("\n");
}

int run(Options const& options, Common const& common)
{
    Logger logger{common.severity()};
    Shapes shapes = parseShapes(options.shapes);
    Session session{options.path, shapes, common.threads, logger};
    if (options.inputs.empty())
        session.prepare(shapes, options.seed);
    else
        load(session, options.inputs, shapes);
    session.run();
    for (int32_t i = 0; i < session.engine().getNbIOTensors(); ++i)
    {
        char const* name = session.engine().getIOTensorName(i);
        if (session.engine().getTensorIOMode(name) != nvinfer1::TensorIOMode::kOUTPUT)
            continue;
        nvinfer1::Dims const dims = session.context().getTensorShape(name);
        nvinfer1::DataType const type = session.engine().getTensorDataType(name);
        if (!common.quiet)
            printStatistics(name, type, dims, session.buffer(name));
        if (!options.outputs.empty())
        {
            std::filesystem::create_directories(options.outputs);
            std::string file{name};
            std::replace(file.begin(), file.end(), '/', '_');
            writeNpy(options.outputs + "/" + file + ".npy", type, dims, session.buffer(name).data());
        }
    }
    return 0;
}
} // namespace

void addRun(CLI::App& app, Common const& common, int& status)
{
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("run", "Run a plan (or a model, built first) once");
    command->add_option("plan", options->path, "A .plan or .onnx file")->required()->check(CLI::ExistingFile);
    addShapes(*command, options->shapes, "Shape of each input; kOPT of profile 0 where none is given");
    command->add_option("--input", options->inputs, "name=file.npy for each input; random data where none is given")
        ->allow_extra_args(false);
    command->add_option("--outputs", options->outputs, "Folder for the outputs, one .npy each");
    command->add_option("--seed", options->seed, "Seed of random inputs");
    command->footer(R"(Example:
  tenon run model.plan --input input=picture.npy --outputs results
Prints shape, smallest, largest and mean value of each output. Element types that NumPy lacks are not written.)");
    command->callback([options, &common, &status] { status = run(*options, common); });
}

} // namespace tenon::cli
