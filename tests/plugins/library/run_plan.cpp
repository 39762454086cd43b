// A process of its own that runs a plan whose plugins a library has: LIBRARY PLAN X Y EXTENT... ; X and Y are raw
// bytes.
#include "NvInfer.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
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

std::vector<char> bytesOf(char const* path)
{
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

bool run(IExecutionContext& context, std::vector<char>& x, std::vector<char>& y, Dims const& shape)
{
    if (!context.setInputShape("x", shape))
        return false;
    Dims const made = context.getTensorShape("y");
    size_t size{4}; // Every type of these tests.
    for (int32_t i = 0; i < made.nbDims; ++i)
        size *= static_cast<size_t>(made.d[i]);
    y.resize(size);
    return context.setTensorAddress("x", x.data()) && context.setTensorAddress("y", y.data())
        && context.enqueueV3(nullptr);
}
} // namespace

int main(int argc, char** argv)
{
    if (argc < 6)
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
    Dims shape{argc - 5, {}};
    for (int32_t i = 0; i < shape.nbDims; ++i)
        shape.d[i] = std::atoll(argv[5 + i]);
    std::vector<char> x = bytesOf(argv[3]);
    std::vector<char> y;
    if (context == nullptr || !run(*context, x, y, shape))
        return 5;
    std::ofstream{argv[4], std::ios::binary}.write(y.data(), static_cast<std::streamsize>(y.size()));
    return 0;
}
