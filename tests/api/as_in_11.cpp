// The 11.1 side of the API tests: this file alone has loggers and profilers as TRT_COMPAT_MAJOR=11 declares them.
#define TRT_COMPAT_MAJOR 11
#include "as_in_11.h"

#include "NvInfer.h"
#include "support/device.h"

#include <memory>

namespace apitest
{

namespace
{
using namespace nvinfer1;

class LoggerOf11 final : public v_1_0::ILogger
{
  public:
    explicit LoggerOf11(std::vector<std::string>& errors)
        : mErrors{errors}
    {
    }
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return InterfaceInfo{"LoggerOf11", 1, 0};
    }
    void log(Severity severity, AsciiChar const* message) noexcept override
    {
        if (severity <= Severity::kERROR)
            mErrors.emplace_back(message);
    }

  private:
    std::vector<std::string>& mErrors;
};

class ProfilerOf11 final : public IProfiler
{
  public:
    void reportLayerTime(char const*, float) noexcept override
    {
        ++layers;
    }
    int32_t layers{0};
};

template <typename T>
std::string kindOf(T const& object)
{
    InterfaceInfo const info = object.getInterfaceInfo();
    return info.major == 1 && info.minor == 0 ? info.kind : "of another version";
}
} // namespace

SeenIn11 runAsIn11()
{
    SeenIn11 seen;
    seen.global = kindOf<nvinfer1::ILogger>(*getLogger());
    LoggerOf11 logger{seen.errors};
    seen.logger = kindOf<nvinfer1::ILogger>(logger);
    ProfilerOf11 profiler;
    seen.profiler = kindOf<IProfiler>(profiler);

    std::unique_ptr<IBuilder> const builder{createInferBuilder(logger)};
    std::unique_ptr<INetworkDefinition> const network{builder->createNetworkV2(0)};
    std::unique_ptr<IBuilderConfig> const config{builder->createBuilderConfig()};
    std::unique_ptr<IHostMemory> const none{builder->buildSerializedNetwork(*network, *config)}; // Without an output.
    ITensor* const x = network->addInput("x", DataType::kFLOAT, Dims{1, {4}});
    ITensor* const y = network->addUnary(*x, UnaryOperation::kEXP)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    std::unique_ptr<IRuntime> const runtime{createInferRuntime(logger)};
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    tenon::test::DeviceArray<float> const in{size_t{4}};
    tenon::test::DeviceArray<float> const out{size_t{4}};
    void* bindings[]{in.data(), out.data()};
    context->setProfiler(&profiler);
    if (context->executeV2(bindings))
        seen.layers = profiler.layers;
    return seen;
}

} // namespace apitest
