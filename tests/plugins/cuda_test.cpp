// Custom layers on a GPU, or on the fake driver: what enqueue() is given, what comes of failures and captures, and
// tactics. Where the engine does not run on CUDA the tests are skipped.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/one_to_one.h"

#include "tenon/plugin.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <thread>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;
using testing::HasSubstr;

//! A call of the driver's by its name, in the context that is current; its code.
template <typename... Args>
int driver(char const* name, Args... args)
{
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto const function = library == nullptr ? nullptr : reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    return function == nullptr ? -1 : function(args...);
}

//! y = x, by a copy that it puts into its stream.
class Copying final : public OneToOne<Copying>
{
  public:
    static constexpr char const* kType{"Copying"};
    inline static cudaStream_t given{nullptr};
    inline static std::thread::id caller;
    inline static int32_t gpu{-1};
    inline static int calls{0};
    inline static bool fails{false};
    inline static bool isTimed{false};

    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        given = stream;
        caller = std::this_thread::get_id();
        gpu = -1;
        static_cast<void>(tenonPluginGpu(&gpu));
        isTimed = isTimed || tenonIsTimingPlugin();
        ++calls;
        if (fails)
        {
            tenonExplainFailure("there is nothing to copy with");
            return 5;
        }
        size_t const bytes = static_cast<size_t>(in[0].dims.d[0]) * sizeof(float);
        int const first = driver("cuMemcpyAsync", workspace, inputs[0], bytes, static_cast<void*>(stream));
        int const second =
            driver("cuMemcpyAsync", outputs[0], static_cast<void const*>(workspace), bytes, static_cast<void*>(stream));
        return first + second;
    }
    size_t getWorkspaceSize(
        DynamicPluginTensorDesc const* in, int32_t, DynamicPluginTensorDesc const*, int32_t) const noexcept override
    {
        return static_cast<size_t>(in[0].max.d[0]) * sizeof(float);
    }
};

//! x [1…16] -> NEG -> plugin -> NEG -> y, which is x.
template <typename P>
class OnCuda : public apitest::ApiTest
{
  protected:
    OneToOneCreator<P> creator;
    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;

    void SetUp() override
    {
        if (!tenon::test::isUnderTest("cuda"))
            GTEST_SKIP() << "TENON_DEVICE and TENON_TEST_DEVICE are not cuda";
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
        ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({-1}));
        ITensor* inputs[]{network->addUnary(*x, UnaryOperation::kNEG)->getOutput(0)};
        P plugin;
        ILayer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        ASSERT_NE(layer, nullptr) << logger.errors();
        layer->setName("copy");
        ITensor* const y = network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG)->getOutput(0);
        y->setName("y");
        network->markOutput(*y);
        addProfile({1}, {4}, {16});
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        ASSERT_NE(context, nullptr) << logger.errors();
    }
    void TearDown() override
    {
        context.reset();
        engine.reset();
        network.reset();
        if (tenon::test::isUnderTest("cuda"))
            getPluginRegistry()->deregisterCreator(creator);
    }
    bool set(int64_t count, DeviceArray<float> const& x, DeviceArray<float> const& y)
    {
        return context->setInputShape("x", dims({count})) && context->setTensorAddress("x", x.data())
            && context->setTensorAddress("y", y.data());
    }
};

using CudaPlugin = OnCuda<Copying>;

TEST_F(CudaPlugin, getsTheGpusMemoryAndTheCallersStreamInTheThreadThatEnqueues)
{
    for (int64_t const count : {16, 5, 16})
    {
        std::vector<float> const values = randomFloats(static_cast<size_t>(count), static_cast<uint32_t>(count));
        DeviceArray<float> const x{values};
        DeviceArray<float> const y{values.size()};
        ASSERT_TRUE(set(count, x, y));
        for (int round = 0; round < 3; ++round)
        {
            int const before = Copying::calls;
            ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
            EXPECT_EQ(Copying::calls, before + 1) << "it is called in every run, whatever is replayed around it";
            EXPECT_EQ(Copying::given, stream());
            EXPECT_EQ(Copying::caller, std::this_thread::get_id());
            EXPECT_EQ(Copying::gpu, 0);
            EXPECT_EQ(y.read(), values);
        }
    }
    int32_t gpu{7};
    EXPECT_FALSE(tenonPluginGpu(&gpu)) << "outside of enqueue()";
}

TEST_F(CudaPlugin, L21_aFailureIsTheCallsWithLayerAndCause)
{
    DeviceArray<float> const x{randomFloats(4, 1)};
    DeviceArray<float> const y{size_t{4}};
    ASSERT_TRUE(set(4, x, y));
    Copying::fails = true;
    EXPECT_FALSE(context->enqueueV3(stream()));
    Copying::fails = false;
    EXPECT_THAT(logger.errors(), HasSubstr("[layer 'copy']"));
    EXPECT_THAT(logger.errors(), HasSubstr("there is nothing to copy with"));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(y.read(), x.read());
}

TEST_F(CudaPlugin, S8_itsLaunchesAreCapturedLikeAnyOther)
{
    DeviceArray<float> x{randomFloats(8, 1)};
    DeviceArray<float> const y{size_t{8}};
    ASSERT_TRUE(set(8, x, y));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(y.read(), x.read());
    void* gpu{nullptr};
    void* graph{nullptr};
    void* executable{nullptr};
    ASSERT_EQ(driver("cuDevicePrimaryCtxRetain", &gpu, 0), 0);
    ASSERT_EQ(driver("cuCtxPushCurrent_v2", gpu), 0);
    ASSERT_EQ(driver("cuStreamBeginCapture_v2", static_cast<void*>(stream()), 0), 0);
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    int const called = Copying::calls;
    ASSERT_EQ(driver("cuStreamEndCapture", static_cast<void*>(stream()), &graph), 0);
    ASSERT_EQ(driver("cuGraphInstantiateWithFlags", &executable, graph, 0ULL), 0);
    for (uint32_t seed = 2; seed < 5; ++seed)
    {
        x.write(randomFloats(8, seed));
        ASSERT_EQ(driver("cuGraphLaunch", executable, static_cast<void*>(stream())), 0);
        EXPECT_EQ(y.read(), x.read());
    }
    EXPECT_EQ(Copying::calls, called);
    EXPECT_EQ(driver("cuGraphExecDestroy", executable), 0);
    EXPECT_EQ(driver("cuGraphDestroy", graph), 0);
    EXPECT_EQ(driver("cuCtxPopCurrent_v2", &gpu), 0);
}

//! One that says it can work with float32 and float16: builds measure which is faster.
class Undecided final : public OneToOne<Undecided>
{
  public:
    static constexpr char const* kType{"Undecided"};
    inline static int timed{0};
    inline static int32_t gpu{-1};

    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[pos].desc.format == TensorFormat::kLINEAR && ports[pos].desc.type == DataType::kFLOAT;
    }
    int32_t getNbTactics() noexcept override
    {
        return 2;
    }
    int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override
    {
        tactics[0] = 3;
        tactics[1] = 8;
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t stream) noexcept override
    {
        if (tenonIsTimingPlugin())
        {
            ++timed;
            static_cast<void>(tenonPluginGpu(&gpu));
        }
        return driver("cuMemcpyAsync", outputs[0], inputs[0], static_cast<size_t>(in[0].dims.d[0]) * sizeof(float),
            static_cast<void*>(stream));
    }
};

using CudaTactics = OnCuda<Undecided>;

TEST_F(CudaTactics, L24_areMeasuredOnTheGpu)
{
    EXPECT_GE(Undecided::timed, 2);
    EXPECT_EQ(Undecided::gpu, 0);
    DeviceArray<float> const x{randomFloats(9, 3)};
    DeviceArray<float> const y{size_t{9}};
    ASSERT_TRUE(set(9, x, y));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(y.read(), x.read());
}

//! The number of the GPU whose context is current, or -1.
int currentGpu()
{
    void* current{nullptr};
    if (driver("cuCtxGetCurrent", &current) != 0 || current == nullptr)
        return -1;
    for (int gpu = 0; gpu < 2; ++gpu)
    {
        void* context{nullptr};
        if (driver("cuDevicePrimaryCtxRetain", &context, gpu) == 0 && context == current)
            return gpu;
    }
    return -1;
}

//! Notes on which GPU it is asked for what it may make there or give back.
class Placed final : public CircPadExt<Placed, IPluginV2Ext>
{
  public:
    static constexpr char const* kType{"Placed"};
    Placed* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        return kind == DataType::kFLOAT && format == PluginFormat::kLINEAR;
    }
    void configurePlugin(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType const* inputTypes,
        DataType const*, bool const*, bool const*, PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], inputTypes[0], maxBatchSize);
    }
    int32_t initialize() noexcept override
    {
        note("at initialize", std::to_string(currentGpu()));
        return 0;
    }
    void terminate() noexcept override
    {
        note("at terminate", std::to_string(currentGpu()));
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override
    {
        note("at attachToContext", std::to_string(currentGpu()));
    }
    void detachFromContext() noexcept override
    {
        note("at detachFromContext", std::to_string(currentGpu()));
    }
};

//! On the GPU that TENON_DEVICE names, whichever is the caller's.
class CudaPlaces : public apitest::ApiTest
{
  protected:
    CircPadCreator<Placed> creator;

    void SetUp() override
    {
        if (!tenon::test::isUnderTest("cuda"))
            GTEST_SKIP() << "TENON_DEVICE and TENON_TEST_DEVICE are not cuda";
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    }
    void TearDown() override
    {
        network.reset();
        if (tenon::test::isUnderTest("cuda"))
            getPluginRegistry()->deregisterCreator(creator);
    }
    static std::string gpu()
    {
        std::string const device{std::getenv("TENON_DEVICE")};
        return device == "cuda:1" ? "1" : "0";
    }
};

TEST_F(CudaPlaces, enginesObjectsAreAskedWithTheirGpuCurrent)
{
    ITensor* tensor = network->addInput("x", DataType::kFLOAT, dims({2, 3, 5, 7}));
    auto* plugin = new Placed;
    tensor = network->addPluginV2(&tensor, 1, *plugin)->getOutput(0);
    plugin->destroy();
    network->markOutput(*tensor);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    Journal::get().clear();
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr) << logger.errors();
    context.reset();
    engine.reset();
    std::map<std::string, int> seen;
    for (Entry const& each : Journal::get().all())
    {
        if (!each.call.starts_with("at "))
            continue;
        EXPECT_EQ(each.what, gpu()) << each.call;
        ++seen[each.call];
    }
    EXPECT_EQ(seen.size(), 4U) << "initialize, attachToContext, detachFromContext, terminate";
    EXPECT_EQ(currentGpu(), -1) << "the caller's thread is left as it was";
}

class CudaHandles : public apitest::ApiTest
{
  protected:
    CircPadCreator<CircPadV2Ext> creator;
    std::unique_ptr<ICudaEngine> engine;

    void SetUp() override
    {
        if (!tenon::test::isUnderTest("cuda"))
            GTEST_SKIP() << "TENON_DEVICE and TENON_TEST_DEVICE are not cuda";
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
        ITensor* tensor = network->addInput("x", DataType::kFLOAT, dims({2, 3, 5, 7}));
        for (int i = 0; i < 2; ++i)
        {
            auto* plugin = new CircPadV2Ext;
            tensor = network->addPluginV2(&tensor, 1, *plugin)->getOutput(0);
            plugin->destroy();
        }
        network->markOutput(*tensor);
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        Journal::get().clear();
    }
    void TearDown() override
    {
        engine.reset();
        network.reset();
        if (tenon::test::isUnderTest("cuda"))
            getPluginRegistry()->deregisterCreator(creator);
    }
    //! What the two plugins of a new context are given.
    std::vector<std::string> given()
    {
        Journal::get().clear();
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        EXPECT_NE(context, nullptr) << logger.errors();
        std::vector<std::string> all;
        for (Entry const& each : Journal::get().all())
            if (each.call == "attachToContext")
                all.push_back(each.what);
        return all;
    }
    static bool isLoaded(char const* library)
    {
        return dlopen(library, RTLD_NOW | RTLD_NOLOAD) != nullptr;
    }
};

TEST_F(CudaHandles, J8_areGivenWhereTheProcessHasTheLibraries)
{
    if (!isLoaded("libcublas.so.13") && !isLoaded("libcublas.so.12") && !isLoaded("libcudnn.so.9"))
    {
        EXPECT_EQ(given(), (std::vector<std::string>{"no handles", "no handles"}));
    }
    if (dlopen("libcublas.so.13", RTLD_NOW) == nullptr && dlopen("libcublas.so.12", RTLD_NOW) == nullptr)
        GTEST_SKIP() << "there is no cuBLAS here";
    EXPECT_EQ(given(), (std::vector<std::string>{"handles", "handles"}));
}

} // namespace
} // namespace plugintest
