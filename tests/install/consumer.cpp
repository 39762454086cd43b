// A user's program: doubles numbers with a network built by calls, saved and reloaded.
#include "NvInfer.h"
#include "NvOnnxParser.h"
#include "tenon/tenon.h"

#include <cstdio>
#include <memory>

struct Logger : nvinfer1::ILogger
{
    void log(Severity severity, char const* message) noexcept override
    {
        if (severity <= Severity::kWARNING)
            std::fprintf(stderr, "%s\n", message);
    }
};

int main()
{
    using namespace nvinfer1;
    Logger logger;
    std::unique_ptr<IBuilder> builder{createInferBuilder(logger)};
    std::unique_ptr<INetworkDefinition> network{builder->createNetworkV2(0)};
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{1, 4});
    ITensor* y = network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    std::unique_ptr<IBuilderConfig> config{builder->createBuilderConfig()};
    std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
    std::unique_ptr<IRuntime> runtime{createInferRuntime(logger)};
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    float in[4]{1.5F, -2.0F, 3.25F, 7.0F};
    float out[4]{};
    context->setTensorAddress("x", in);
    context->setTensorAddress("y", out);
    if (!context->enqueueV3(nullptr))
        return 1;
    std::printf("%s %d %g %g %g %g\n", tenonVersion(), getNvOnnxParserVersion() > 0 ? 1 : 0,
        static_cast<double>(out[0]), static_cast<double>(out[1]), static_cast<double>(out[2]),
        static_cast<double>(out[3]));
    return 0;
}
