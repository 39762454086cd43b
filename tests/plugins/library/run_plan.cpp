// A process of its own that runs a plan whose plugins a library has: LIBRARY PLAN FOLDER NAME=EXTENT,... for each
// input, whose elements are in FOLDER/NAME; those of each output come there, too.
#include "NvInfer.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{
using namespace nvinfer1;

class PrintingLogger final : public ILogger
{
  public:
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        if (severity <= Severity::kERROR)
            std::fprintf(stderr, "%s\n", message);
    }
};

std::vector<char> bytesOf(std::string const& path)
{
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

int64_t elementSize(DataType type)
{
    switch (type)
    {
    case DataType::kHALF:
    case DataType::kBF16: return 2;
    case DataType::kINT8: return 1;
    case DataType::kINT64: return 8;
    default: return 4;
    }
}

//! Whatever the size of the output is, known before the run or not.
class Output final : public IOutputAllocator
{
  public:
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        bytes.resize(size);
        return bytes.data();
    }
    void notifyShape(char const*, Dims const& dims) noexcept override
    {
        shape = dims;
    }
    std::vector<char> bytes{std::vector<char>(1)};
    Dims shape{-1, {}};
};

Dims dimsOf(std::string text)
{
    Dims dims{};
    while (!text.empty())
    {
        size_t used{0};
        dims.d[dims.nbDims++] = std::stoll(text, &used);
        text.erase(0, used + 1);
    }
    return dims;
}

bool run(ICudaEngine const& engine, IExecutionContext& context, std::string const& folder,
    std::map<std::string, Dims> const& shapes)
{
    std::map<std::string, std::vector<char>> inputs;
    std::map<std::string, Output> outputs;
    for (auto const& [name, shape] : shapes)
    {
        inputs[name] = bytesOf(folder + "/" + name);
        if (!context.setInputShape(name.c_str(), shape)
            || !context.setInputTensorAddress(name.c_str(), inputs[name].data()))
            return false;
    }
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i)
        if (char const* const name = engine.getIOTensorName(i);
            engine.getTensorIOMode(name) == TensorIOMode::kOUTPUT && !context.setOutputAllocator(name, &outputs[name]))
            return false;
    if (!context.enqueueV3(nullptr))
        return false;
    for (auto const& [name, output] : outputs)
    {
        int64_t size = elementSize(engine.getTensorDataType(name.c_str()));
        for (int32_t i = 0; i < output.shape.nbDims; ++i)
            size *= output.shape.d[i];
        if (output.shape.nbDims < 0 || size > static_cast<int64_t>(output.bytes.size()))
            return false;
        std::ofstream{folder + "/" + name, std::ios::binary}.write(output.bytes.data(), size);
    }
    return true;
}
} // namespace

int main(int argc, char** argv)
{
    if (argc < 4)
        return 2;
    PrintingLogger logger;
    std::unique_ptr<IRuntime> const runtime{createInferRuntime(logger)};
    if (runtime->getPluginRegistry().loadLibrary(argv[1]) == nullptr)
        return 3;
    std::vector<char> const plan = bytesOf(argv[2]);
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan.data(), plan.size())};
    if (engine == nullptr)
        return 4;
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::map<std::string, Dims> shapes;
    for (int i = 4; i < argc; ++i)
    {
        std::string const input{argv[i]};
        size_t const split = input.find('=');
        shapes[input.substr(0, split)] = dimsOf(input.substr(split + 1));
    }
    return context != nullptr && run(*engine, *context, argv[3], shapes) ? 0 : 5;
}
