// A custom layer whose work is a CUDA kernel: y = x² + shift, on the GPU. With a plan of Tenon's, TENON_DEVICE=cuda:
//   nvcc -std=c++17 square.cu -I PREFIX/include -L PREFIX/lib -lnvinfer -o square && TENON_DEVICE=cuda ./square
#include "NvInfer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

using namespace nvinfer1;

// A namespace with a name: the headers have one without, and nvcc cannot tell the two apart.
namespace example
{
__global__ void square(float const* x, float* y, float shift, int64_t count)
{
    int64_t const i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count)
        y[i] = x[i] * x[i] + shift;
}

class Square final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
  public:
    explicit Square(float shift)
        : mShift{shift},
          mField{"shift", &mShift, PluginFieldType::kFLOAT32, 1},
          mFields{1, &mField}
    {
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        if (type == PluginCapabilityType::kBUILD)
            return static_cast<IPluginV3OneBuild*>(this);
        if (type == PluginCapabilityType::kRUNTIME)
            return static_cast<IPluginV3OneRuntime*>(this);
        return static_cast<IPluginV3OneCore*>(this);
    }
    IPluginV3* clone() noexcept override
    {
        return new Square{mShift};
    }
    char const* getPluginName() const noexcept override
    {
        return "Square";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t getOutputDataTypes(
        DataType* outputs, int32_t, DataType const* inputs, int32_t) const noexcept override
    {
        outputs[0] = inputs[0];
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t, DimsExprs* outputs, int32_t,
        IExprBuilder&) noexcept override
    {
        outputs[0] = inputs[0];
        return 0;
    }
    bool supportsFormatCombination(
        int32_t position, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[position].desc.type == DataType::kFLOAT && ports[position].desc.format == TensorFormat::kLINEAR;
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* inputs, PluginTensorDesc const*, void const* const* x, void* const* y,
        void*, cudaStream_t stream) noexcept override
    {
        int64_t count{1};
        for (int32_t i = 0; i < inputs[0].dims.nbDims; ++i)
            count *= inputs[0].dims.d[i];
        constexpr int kBlock{256};
        auto const blocks = static_cast<unsigned>((count + kBlock - 1) / kBlock);
        square<<<blocks, kBlock, 0, stream>>>(
            static_cast<float const*>(x[0]), static_cast<float*>(y[0]), mShift, count);
        return cudaGetLastError() == cudaSuccess ? 0 : 1;
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        return &mFields;
    }

  private:
    float mShift;
    PluginField mField;
    PluginFieldCollection mFields;
};

class SquareCreator final : public IPluginCreatorV3One
{
  public:
    IPluginV3* createPlugin(char const*, PluginFieldCollection const* fields, TensorRTPhase) noexcept override
    {
        return new Square{*static_cast<float const*>(fields->fields[0].data)};
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    char const* getPluginName() const noexcept override
    {
        return "Square";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }

  private:
    PluginField mField{"shift", nullptr, PluginFieldType::kFLOAT32, 1};
    PluginFieldCollection mFields{1, &mField};
};

class Logger final : public ILogger
{
  public:
    void log(Severity severity, char const* message) noexcept override
    {
        if (severity <= Severity::kWARNING)
            std::fprintf(stderr, "%s\n", message);
    }
};

//! y = −(x² + 0.5) for x of [rows, 8].
std::unique_ptr<IHostMemory> build(ILogger& logger)
{
    std::unique_ptr<IBuilder> builder{createInferBuilder(logger)};
    std::unique_ptr<INetworkDefinition> network{builder->createNetworkV2(0)};
    std::unique_ptr<IBuilderConfig> config{builder->createBuilderConfig()};
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims2{-1, 8});
    Square plugin{0.5F};
    ILayer* layer = network->addPluginV3(&x, 1, nullptr, 0, plugin);
    ITensor* y = network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    profile->setDimensions("x", OptProfileSelector::kMIN, Dims2{1, 8});
    profile->setDimensions("x", OptProfileSelector::kOPT, Dims2{16, 8});
    profile->setDimensions("x", OptProfileSelector::kMAX, Dims2{64, 8});
    config->addOptimizationProfile(profile);
    return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)};
}

//! The largest error of one run; negative: it failed.
float run(IExecutionContext& context, int64_t rows, cudaStream_t stream)
{
    std::vector<float> x(static_cast<size_t>(rows) * 8);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = std::sin(static_cast<float>(i));
    std::vector<float> y(x.size());
    size_t const bytes = x.size() * sizeof(float);
    void* in{nullptr};
    void* out{nullptr};
    cudaMalloc(&in, bytes);
    cudaMalloc(&out, bytes);
    cudaMemcpyAsync(in, x.data(), bytes, cudaMemcpyHostToDevice, stream);
    context.setInputShape("x", Dims2{rows, 8});
    context.setTensorAddress("x", in);
    context.setTensorAddress("y", out);
    bool const isTaken = context.enqueueV3(stream);
    cudaMemcpyAsync(y.data(), out, bytes, cudaMemcpyDeviceToHost, stream);
    bool const isDone = cudaStreamSynchronize(stream) == cudaSuccess;
    cudaFree(in);
    cudaFree(out);
    float worst{isTaken && isDone ? 0.0F : -1.0F};
    for (size_t i = 0; i < x.size() && worst >= 0.0F; ++i)
        worst = std::max(worst, std::abs(y[i] + x[i] * x[i] + 0.5F));
    return worst;
}
} // namespace example

int main()
{
    using namespace example;
    Logger logger;
    static SquareCreator creator;
    getPluginRegistry()->registerCreator(creator, "");
    std::unique_ptr<IHostMemory> plan = build(logger);
    if (plan == nullptr)
        return 1;
    std::unique_ptr<IRuntime> runtime{createInferRuntime(logger)};
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    if (engine == nullptr)
        return 1;
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    cudaStream_t stream{nullptr};
    cudaStreamCreate(&stream);
    for (int64_t const rows : {16, 3, 64, 16, 16})
    {
        float const error = run(*context, rows, stream);
        std::printf("%lld rows: largest error %g\n", static_cast<long long>(rows), error);
        if (error < 0.0F || error > 1e-6F)
            return 1;
    }
    cudaStreamDestroy(stream);
    return 0;
}
