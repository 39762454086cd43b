// A program as its author would write it for a GPU: one network, its memory, a stream, two events. It is built against
// our headers, and against the toolkit's.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CHECK(call)                                                                                                    \
    do                                                                                                                 \
    {                                                                                                                  \
        cudaError_t const status = (call);                                                                             \
        if (status != cudaSuccess)                                                                                     \
        {                                                                                                              \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));            \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (false)

class Logger : public nvinfer1::ILogger
{
    void log(Severity severity, char const* message) noexcept override
    {
        if (severity <= Severity::kWARNING)
            std::fprintf(stderr, "%s\n", message);
    }
};

static constexpr int64_t kCount = 1024;

static std::unique_ptr<nvinfer1::IHostMemory> build(Logger& logger)
{
    std::unique_ptr<nvinfer1::IBuilder> builder{nvinfer1::createInferBuilder(logger)};
    std::unique_ptr<nvinfer1::INetworkDefinition> network{builder->createNetworkV2(0)};
    nvinfer1::ITensor* input = network->addInput("x", nvinfer1::DataType::kFLOAT, nvinfer1::Dims{1, {kCount}});
    nvinfer1::ITensor* exp = network->addUnary(*input, nvinfer1::UnaryOperation::kEXP)->getOutput(0);
    nvinfer1::ITensor* sum = network->addElementWise(*exp, *input, nvinfer1::ElementWiseOperation::kSUM)->getOutput(0);
    sum->setName("y");
    network->markOutput(*sum);
    std::unique_ptr<nvinfer1::IBuilderConfig> config{builder->createBuilderConfig()};
    return std::unique_ptr<nvinfer1::IHostMemory>{builder->buildSerializedNetwork(*network, *config)};
}

int main()
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaSetDevice(0));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    std::printf("device %s\n", properties.name);

    Logger logger;
    std::unique_ptr<nvinfer1::IHostMemory> const plan = build(logger);
    std::unique_ptr<nvinfer1::IRuntime> runtime{nvinfer1::createInferRuntime(logger)};
    std::unique_ptr<nvinfer1::ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    std::unique_ptr<nvinfer1::IExecutionContext> context{engine->createExecutionContext()};

    size_t const bytes = kCount * sizeof(float);
    void* input = nullptr;
    void* output = nullptr;
    void* staging = nullptr;
    CHECK(cudaMalloc(&input, bytes));
    CHECK(cudaMalloc(&output, bytes));
    CHECK(cudaMallocHost(&staging, bytes));
    float* const host = static_cast<float*>(staging);
    for (int64_t i = 0; i < kCount; ++i)
        host[i] = 0.001F * static_cast<float>(i - 500);

    cudaStream_t stream;
    cudaEvent_t start;
    cudaEvent_t stop;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
    CHECK(cudaMemcpyAsync(input, host, bytes, cudaMemcpyHostToDevice, stream));
    context->setTensorAddress("x", input);
    context->setTensorAddress("y", output);
    CHECK(cudaEventRecord(start, stream));
    if (!context->enqueueV3(stream))
        return 1;
    CHECK(cudaEventRecord(stop, stream));
    std::vector<float> result(kCount);
    CHECK(cudaMemcpyAsync(result.data(), output, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    float milliseconds = -1.0F;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));

    double worst = 0.0;
    for (int64_t i = 0; i < kCount; ++i)
        worst = std::fmax(worst, std::fabs(std::exp(double(host[i])) + double(host[i]) - double(result[i])));
    std::printf("worst %s, time %s\n", worst < 1e-5 ? "small" : "LARGE", milliseconds > 0.0F ? "positive" : "WRONG");

    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(input));
    CHECK(cudaFree(output));
    CHECK(cudaFreeHost(staging));
    return 0;
}
