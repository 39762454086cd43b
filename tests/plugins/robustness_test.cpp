// Failures and changes between a build and a run, or between runs: memory always suffices, and nothing stays stale.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/one_to_one.h"

#include "tenon/host.h"

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <latch>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! Twice x; fails where it is told to, and notes the shapes that it runs with.
class Failing final : public OneToOne<Failing>
{
  public:
    static constexpr char const* kType{"Failing"};
    inline static int64_t failsAt{-1};
    int64_t told{-1};

    int32_t onShapeChange(PluginTensorDesc const* in, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        told = in[0].dims.d[0];
        note("onShapeChange", std::to_string(told));
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        note("enqueue", std::to_string(told));
        if (in[0].dims.d[0] == failsAt)
            return 9;
        auto const* x = static_cast<float const*>(inputs[0]);
        auto* y = static_cast<float*>(outputs[0]);
        for (int64_t i = 0; i < told; ++i)
            y[i] = 2.0F * x[i];
        return 0;
    }
};

class Robust : public apitest::ApiTest
{
  protected:
    template <typename P>
    std::unique_ptr<ICudaEngine> engineOf(Dims const& shape)
    {
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, shape)};
        P plugin;
        ILayer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        EXPECT_NE(layer, nullptr) << logger.errors();
        layer->setName("robust");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        return buildEngine();
    }
    bool run(IExecutionContext& context, int64_t count)
    {
        std::vector<float> const x = randomFloats(static_cast<size_t>(count), 5);
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{x.size()};
        if (!context.setInputShape("x", dims({count})) || !context.setTensorAddress("x", in.data())
            || !context.setTensorAddress("y", out.data()) || !apitest::runToEnd(context))
            return false;
        std::vector<float> const y = out.read();
        for (size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(y[i], 2.0F * x[i]);
        return true;
    }
};

TEST_F(Robust, L13_afterARunThatFailedShapesAreToldAgain)
{
    Journal::get().clear();
    OneToOneCreator<Failing> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    Failing::failsAt = 8;
    addProfile({1}, {4}, {8});
    std::unique_ptr<ICudaEngine> const engine = engineOf<Failing>(dims({-1}));
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_TRUE(run(*context, 4));
    EXPECT_FALSE(run(*context, 8));
    EXPECT_TRUE(run(*context, 4)) << "with the extents of this run, not of the one that failed";
    EXPECT_TRUE(run(*context, 6));
    EXPECT_FALSE(run(*context, 8));
    Failing::failsAt = -1;
    EXPECT_TRUE(run(*context, 8));
    std::vector<std::string> told;
    for (Entry const& each : Journal::get().all())
        if (each.call == "enqueue")
            told.push_back(each.what);
    EXPECT_EQ(told, (std::vector<std::string>{"4", "8", "4", "6", "8", "8"}));
    getPluginRegistry()->deregisterCreator(creator);
}

//! A stream of the host, which ends with the test.
class OwnStream
{
  public:
    OwnStream()
    {
        EXPECT_EQ(tenonHostCreateStream(&mHandle, 0, 0), TENON_HOST_OK);
    }
    OwnStream(OwnStream const&) = delete;
    OwnStream& operator=(OwnStream const&) = delete;
    ~OwnStream()
    {
        tenonHostSynchronizeStream(mHandle);
        EXPECT_EQ(tenonHostDestroyStream(mHandle), TENON_HOST_OK);
    }
    cudaStream_t handle() const
    {
        return static_cast<cudaStream_t>(mHandle);
    }
    TenonHostStatus synchronize() const
    {
        return tenonHostSynchronizeStream(mHandle);
    }

  private:
    void* mHandle{nullptr};
};

TEST_F(Robust, L13_afterARunThatFailedLaterShapesAreToldAgain)
{
    OneToOneCreator<Failing> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    std::unique_ptr<ICudaEngine> const engine = engineOf<Failing>(dims({8}));
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    apitest::KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    OwnStream const own;
    DeviceArray<float> const in{randomFloats(8, 5)};
    DeviceArray<float> const out{size_t{8}};
    context->setTensorAddress("x", in.data());
    context->setTensorAddress("y", out.data());
    Journal::get().clear();
    int32_t failures{0};
    for (int64_t const failsAt : {-1, -1, 8, 8, -1, -1})
    {
        Failing::failsAt = failsAt;
        ASSERT_TRUE(context->enqueueV3(own.handle())) << logger.errors();
        EXPECT_EQ(own.synchronize() == TENON_HOST_OK, failsAt < 0);
        EXPECT_EQ(own.synchronize(), TENON_HOST_OK) << "a failure is returned once";
        failures += failsAt < 0 ? 0 : 1;
        ASSERT_EQ(recorder.getNbErrors(), failures) << logger.errors();
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "robust"), failures) << logger.errors();
        for (int32_t i = 0; i < failures; ++i)
            EXPECT_EQ(recorder.getErrorCode(i), ErrorCode::kFAILED_EXECUTION) << recorder.getErrorDesc(i);
    }
    EXPECT_EQ(Journal::get().count("onShapeChange"), 3) << "at first, and after each failure";
    context->setErrorRecorder(nullptr);
    getPluginRegistry()->deregisterCreator(creator);
}

TEST_F(Robust, S8_aRecordingWithACustomLayerKeepsItsShapes)
{
    Failing::failsAt = -1;
    OneToOneCreator<Failing> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    addProfile({1}, {4}, {8});
    std::unique_ptr<ICudaEngine> const engine = engineOf<Failing>(dims({-1}));
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(run(*context, 4));
    OwnStream const own;
    std::vector<float> const x = randomFloats(4, 6);
    DeviceArray<float> const in{x};
    DeviceArray<float> out{size_t{4}};
    context->setInputShape("x", dims({4}));
    context->setTensorAddress("x", in.data());
    context->setTensorAddress("y", out.data());
    void* graph{nullptr};
    ASSERT_EQ(tenonHostBeginCapture(own.handle(), TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
    ASSERT_TRUE(context->enqueueV3(own.handle())) << logger.errors();
    ASSERT_EQ(tenonHostEndCapture(own.handle(), &graph), TENON_HOST_OK);
    EXPECT_FALSE(run(*context, 6)) << "the recorded layer would run with these shapes";
    EXPECT_NE(logger.errors().find("recording"), std::string::npos) << logger.errors();
    std::unique_ptr<IExecutionContext> const other{engine->createExecutionContext()};
    EXPECT_TRUE(run(*other, 6));
    void* executable{nullptr};
    ASSERT_EQ(tenonHostInstantiateGraph(&executable, graph), TENON_HOST_OK);
    for (int round = 0; round < 2; ++round)
    {
        out.write(std::vector<float>(4, 0.5F));
        ASSERT_EQ(tenonHostLaunchGraph(executable, own.handle()), TENON_HOST_OK);
        ASSERT_EQ(own.synchronize(), TENON_HOST_OK);
        std::vector<float> const y = out.read();
        for (size_t i = 0; i < 4; ++i)
            EXPECT_EQ(y[i], 2.0F * x[i]);
    }
    EXPECT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyExecutable(executable), TENON_HOST_OK);
    EXPECT_TRUE(run(*context, 6)) << logger.errors();
    getPluginRegistry()->deregisterCreator(creator);
}

TEST_F(Robust, S11_aLaunchThatFailedLeavesTheContextUsable)
{
    Failing::failsAt = -1;
    OneToOneCreator<Failing> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    std::unique_ptr<ICudaEngine> const engine = engineOf<Failing>(dims({4}));
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    OwnStream const own;
    std::vector<float> const x = randomFloats(4, 6);
    DeviceArray<float> const in{x};
    DeviceArray<float> const out{size_t{4}};
    context->setTensorAddress("x", in.data());
    context->setTensorAddress("y", out.data());
    ASSERT_TRUE(context->enqueueV3(own.handle())) << logger.errors();
    ASSERT_EQ(own.synchronize(), TENON_HOST_OK);
    void* graph{nullptr};
    void* executable{nullptr};
    ASSERT_EQ(tenonHostBeginCapture(own.handle(), TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
    ASSERT_TRUE(context->enqueueV3(own.handle())) << logger.errors();
    ASSERT_EQ(tenonHostEndCapture(own.handle(), &graph), TENON_HOST_OK);
    ASSERT_EQ(tenonHostInstantiateGraph(&executable, graph), TENON_HOST_OK);
    Failing::failsAt = 4;
    ASSERT_EQ(tenonHostLaunchGraph(executable, own.handle()), TENON_HOST_OK);
    EXPECT_NE(own.synchronize(), TENON_HOST_OK);
    Failing::failsAt = -1;
    EXPECT_TRUE(context->enqueueV3(own.handle())) << "of the very shapes that the recording has: " << logger.errors();
    EXPECT_EQ(own.synchronize(), TENON_HOST_OK);
    EXPECT_EQ(out.read()[3], 2.0F * x[3]);
    EXPECT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyExecutable(executable), TENON_HOST_OK);
    int64_t const told = Journal::get().count("onShapeChange");
    ASSERT_TRUE(context->enqueueV3(own.handle())) << logger.errors();
    EXPECT_EQ(own.synchronize(), TENON_HOST_OK);
    EXPECT_EQ(Journal::get().count("onShapeChange"), told + 1) << "once no recording counts on what it knows";
    getPluginRegistry()->deregisterCreator(creator);
}

//! Of the V2DynamicExt generation; how it behaves after a reload is for the test to say.
class Changed final : public CircPadOfV2<Changed, IPluginV2DynamicExt>
{
  public:
    static constexpr char const* kType{"Changed"};
    inline static int32_t outputs{1};
    inline static size_t workspace{128};

    int32_t getNbOutputs() const noexcept override
    {
        return outputs;
    }
    Changed* clone() const noexcept override
    {
        return copied();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder&) noexcept override
    {
        return inputs[0];
    }
    bool supportsFormatCombination(int32_t pos, PluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[pos].format == TensorFormat::kLINEAR;
    }
    void configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return workspace;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void* scratch, cudaStream_t) noexcept override
    {
        note("enqueue");
        std::memset(scratch, 1, workspace);
        static_cast<float*>(outputs[0])[0] = 2.0F * static_cast<float const*>(inputs[0])[0];
        return 0;
    }
};

class Reloaded : public Robust
{
  protected:
    CircPadCreator<Changed> creator;
    std::unique_ptr<IHostMemory> plan;

    void SetUp() override
    {
        Journal::get().clear();
        Changed::outputs = 1;
        Changed::workspace = 128;
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    }
    void TearDown() override
    {
        getPluginRegistry()->deregisterCreator(creator);
    }
    void build()
    {
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({1}))};
        auto* plugin = new Changed;
        ILayer* layer = network->addPluginV2(inputs, 1, *plugin);
        plugin->destroy();
        layer->setName("changed");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        plan.reset(builder->buildSerializedNetwork(*network, *config));
    }
};

//! Nobody of that generation is told of addresses, so nobody is waited for.
TEST_F(Reloaded, K3_otherAddressesNeitherWaitNorDisturbARecording)
{
    build();
    ASSERT_NE(plan, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    OwnStream const own;
    std::vector<DeviceArray<float>> xs;
    std::vector<DeviceArray<float>> ys;
    for (uint32_t i = 0; i < 2; ++i)
    {
        xs.emplace_back(randomFloats(1, i));
        ys.emplace_back(size_t{1});
    }
    auto const enqueue = [&](size_t i) {
        return context->setTensorAddress("x", xs[i].data()) && context->setTensorAddress("y", ys[i].data())
            && context->enqueueV3(own.handle());
    };
    auto const isDone = [&](size_t i) { return ys[i].read()[0] == 2.0F * xs[i].read()[0]; };
    std::latch gate{1};
    ASSERT_EQ(tenonHostSubmit(
                  own.handle(),
                  [](void* user) -> int32_t {
                      static_cast<std::latch*>(user)->wait();
                      return TENON_HOST_OK;
                  },
                  &gate, nullptr),
        TENON_HOST_OK);
    EXPECT_TRUE(enqueue(0)) << logger.errors();
    auto second = std::async(std::launch::async, [&] { return enqueue(1); });
    EXPECT_EQ(second.wait_for(std::chrono::minutes{5}), std::future_status::ready) << "it waits for the first";
    gate.count_down();
    EXPECT_TRUE(second.get()) << logger.errors();
    ASSERT_EQ(own.synchronize(), TENON_HOST_OK);
    EXPECT_TRUE(isDone(0) && isDone(1));
    void* graph{nullptr};
    ASSERT_EQ(tenonHostBeginCapture(own.handle(), TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
    ASSERT_TRUE(enqueue(0)) << logger.errors();
    ASSERT_EQ(tenonHostEndCapture(own.handle(), &graph), TENON_HOST_OK);
    xs[1].write(randomFloats(1, 9));
    EXPECT_TRUE(enqueue(1)) << logger.errors();
    ASSERT_EQ(own.synchronize(), TENON_HOST_OK);
    EXPECT_TRUE(isDone(1));
    EXPECT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
}

TEST_F(Reloaded, anObjectWithOtherOutputsIsRefused)
{
    build();
    ASSERT_NE(plan, nullptr) << logger.errors();
    Changed::outputs = 3;
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    EXPECT_EQ(engine, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "had 1 outputs when the plan was built"), 1) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'changed']"), 1) << logger.errors();
}

TEST_F(Reloaded, K9_anObjectThatWantsMoreMemoryThanItWasBuiltWithDoesNotRun)
{
    build();
    ASSERT_NE(plan, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    Changed::workspace = 4096;
    EXPECT_FALSE(run(*context, 1));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "wants a workspace of 4096 bytes, and was built with 128"), 1)
        << logger.errors();
    EXPECT_EQ(Journal::get().count("enqueue"), 0);
    Changed::workspace = 64;
    EXPECT_TRUE(run(*context, 1)) << logger.errors();
}

TEST_F(Reloaded, K9_aSizeThatNoMemoryHasFailsTheBuild)
{
    for (int32_t const level : {3, 5})
    {
        config->setBuilderOptimizationLevel(level);
        Changed::workspace = SIZE_MAX;
        network.reset(builder->createNetworkV2(0));
        build();
        EXPECT_EQ(plan, nullptr);
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "getWorkspaceSize() of plugin 'Changed'"), 2) << logger.errors();
}

//! The rows of x that z does not have: an extent that shrinks where an input grows.
class Rest final : public OneToOne<Rest>
{
  public:
    static constexpr char const* kType{"Rest"};
    inline static std::string bounds;

    int32_t getOutputShapes(DimsExprs const* given, int32_t, DimsExprs const*, int32_t, DimsExprs* made, int32_t,
        IExprBuilder& builder) noexcept override
    {
        made[0] = given[0];
        made[0].d[0] = builder.operation(DimensionOperation::kSUB, *given[0].d[0], *given[1].d[0]);
        return 0;
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const* out, int32_t) noexcept override
    {
        bounds = text(out[0].min) + ":" + text(out[0].opt) + ":" + text(out[0].max);
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        int64_t const skipped = in[1].dims.d[0];
        std::copy_n(static_cast<float const*>(inputs[0]) + skipped, out[0].dims.d[0], static_cast<float*>(outputs[0]));
        return 0;
    }
};

TEST_F(Robust, K1_boundsOfOutputsHoldForEveryShapeOfTheProfile)
{
    OneToOneCreator<Rest> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    ITensor* inputs[]{
        network->addInput("x", DataType::kFLOAT, dims({-1})), network->addInput("z", DataType::kFLOAT, dims({-1}))};
    Rest plugin;
    ILayer* layer = network->addPluginV3(inputs, 2, nullptr, 0, plugin);
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (auto const& [select, x, z] : {std::tuple{OptProfileSelector::kMIN, 2, 1},
             std::tuple{OptProfileSelector::kOPT, 8, 3}, std::tuple{OptProfileSelector::kMAX, 16, 15}})
    {
        profile->setDimensions("x", select, dims({x}));
        profile->setDimensions("z", select, dims({z}));
    }
    config->addOptimizationProfile(profile);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(Rest::bounds, "0:5:15");
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (auto const& [rows, skipped] : {std::pair{16, 2}, {16, 15}, {9, 1}})
    {
        std::vector<float> const x = randomFloats(static_cast<size_t>(rows), 5);
        DeviceArray<float> const in{x};
        DeviceArray<float> const z{x};
        DeviceArray<float> const out{static_cast<size_t>(rows - skipped)};
        ASSERT_TRUE(context->setInputShape("x", dims({rows})) && context->setInputShape("z", dims({skipped})));
        ASSERT_TRUE(context->setTensorAddress("x", in.data()) && context->setTensorAddress("z", z.data())
            && context->setTensorAddress("y", out.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(out.read(), (std::vector<float>{x.begin() + skipped, x.end()}));
    }
    getPluginRegistry()->deregisterCreator(creator);
}

//! Twice x; before that it does what a test wants.
class Recursive final : public OneToOne<Recursive>
{
  public:
    static constexpr char const* kType{"Recursive"};
    inline static std::function<void()> before;

    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        if (before)
            before();
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void*, cudaStream_t) noexcept override
    {
        if (before)
            before();
        static_cast<float*>(outputs[0])[0] = 2.0F * static_cast<float const*>(inputs[0])[0];
        return 0;
    }
};

//! The device is given: callbacks run while a run is under way, in the thread of its stream.
TEST_F(Robust, aContextIsNotRunFromInsideItsOwnLayer)
{
    OneToOneCreator<Recursive> creator;
    ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    std::unique_ptr<ICudaEngine> const engine = engineOf<Recursive>(dims({1}));
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const other{engine->createExecutionContext()};
    std::vector<bool> own;
    std::vector<bool> others;
    bool isInside{false};
    DeviceArray<float> const in{std::vector<float>{1.5F}};
    DeviceArray<float> const out{1};
    std::array<void*, 2> bindings{in.data(), out.data()};
    Recursive::before = [&] {
        own.push_back(context->executeV2(bindings.data()));
        if (isInside)
            return; // The other context's own layer.
        isInside = true;
        others.push_back(other->executeV2(bindings.data()));
        isInside = false;
    };
    EXPECT_TRUE(run(*context, 1)) << logger.errors();
    Recursive::before = nullptr;
    EXPECT_EQ(others, (std::vector<bool>{true, true})) << "before and in the run";
    EXPECT_EQ(own, std::vector<bool>(5, false)) << "also by way of the other context, which is told its shapes once";
    EXPECT_EQ(out.read(), (std::vector<float>{3.0F}));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'robust']: the context is running this layer"), 5)
        << logger.errors();
    EXPECT_TRUE(run(*context, 1)) << "it is as good as before";
    getPluginRegistry()->deregisterCreator(creator);
}

//! One thing is wrong with it, which the test says.
class Wrong final : public OneToOne<Wrong>
{
  public:
    static constexpr char const* kType{"Wrong"};
    enum class What : uint8_t
    {
        kNothing,
        kCloneIsItself,
        kAttachIsItself,
        kManyOutputs,
        kNoName,
        kUntouchedShapes,
        kDividesByZero,
        kIsNegative,
        kOverflows,
    };
    inline static What what{What::kNothing};

    IPluginV3* clone() noexcept override
    {
        return what == What::kCloneIsItself ? this : OneToOne::clone();
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        return what == What::kAttachIsItself ? this : OneToOne::attachToContext(context);
    }
    int32_t getNbOutputs() const noexcept override
    {
        return what == What::kManyOutputs ? 1000000000 : 1;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return what == What::kNoName ? nullptr : kType;
    }
    int32_t getOutputShapes(DimsExprs const* given, int32_t, DimsExprs const*, int32_t, DimsExprs* made, int32_t,
        IExprBuilder& builder) noexcept override
    {
        if (what == What::kUntouchedShapes)
            return 0;
        made[0] = given[0];
        if (what == What::kDividesByZero)
            made[0].d[0] = builder.operation(DimensionOperation::kFLOOR_DIV, *given[0].d[0], *builder.constant(0));
        if (what == What::kIsNegative)
            made[0].d[0] = builder.operation(DimensionOperation::kSUB, *given[0].d[0], *builder.constant(4));
        if (what == What::kOverflows)
            made[0].d[0] =
                builder.operation(DimensionOperation::kFLOOR_DIV, *builder.constant(INT64_MIN), *builder.constant(-1));
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void*, cudaStream_t) noexcept override
    {
        static_cast<float*>(outputs[0])[0] = 2.0F * static_cast<float const*>(inputs[0])[0];
        return 0;
    }
};

class WrongPlugins : public Robust
{
  protected:
    OneToOneCreator<Wrong> creator;

    void SetUp() override
    {
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    }
    void TearDown() override
    {
        Wrong::what = Wrong::What::kNothing;
        getPluginRegistry()->deregisterCreator(creator);
    }
    //! Null when it is refused at once; then the build has nothing to do.
    IPluginV3Layer* add(Wrong::What what)
    {
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({1}))};
        Wrong plugin;
        Wrong::what = what;
        IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        Wrong::what = layer == nullptr ? Wrong::What::kNothing : what;
        return layer;
    }
    int32_t errors(std::string const& part)
    {
        return logger.count(ILogger::Severity::kERROR, part);
    }
};

TEST_F(WrongPlugins, areRefusedWhenTheyAreAdded)
{
    EXPECT_EQ(add(Wrong::What::kCloneIsItself), nullptr);
    EXPECT_EQ(errors("returned the plugin itself"), 1) << logger.errors();
    network.reset(builder->createNetworkV2(0));
    EXPECT_EQ(add(Wrong::What::kManyOutputs), nullptr);
    EXPECT_EQ(errors("has 1000000000 outputs"), 1) << logger.errors();
    network.reset(builder->createNetworkV2(0));
    EXPECT_EQ(add(Wrong::What::kNoName), nullptr);
    EXPECT_EQ(errors("no plan could name it"), 1) << logger.errors();
}

TEST_F(WrongPlugins, L9_shapesThatWereNotSetAreErrors)
{
    for (Wrong::What const what : {Wrong::What::kUntouchedShapes, Wrong::What::kDividesByZero})
    {
        network.reset(builder->createNetworkV2(0));
        if (IPluginV3Layer* layer = add(what))
        {
            layer->setName("shapeless");
            network->markOutput(*layer->getOutput(0));
            std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
            EXPECT_EQ(plan, nullptr);
        }
        Wrong::what = Wrong::What::kNothing;
    }
    EXPECT_GE(errors("output 0 in getOutputShapes() of plugin 'Wrong'"), 2) << logger.errors();
    EXPECT_GE(errors("operation() divides by 0"), 1) << logger.errors();
}

TEST_F(WrongPlugins, L9_extentsThatNoTensorHasAreErrorsThatNameLayerAndOutput)
{
    for (Wrong::What const what : {Wrong::What::kIsNegative, Wrong::What::kOverflows})
    {
        network.reset(builder->createNetworkV2(0));
        IPluginV3Layer* layer = add(what);
        ASSERT_NE(layer, nullptr);
        layer->setName("shrinking");
        network->markOutput(*layer->getOutput(0));
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        Wrong::what = Wrong::What::kNothing;
    }
    std::string const where = "[layer 'shrinking'] output 0 of plugin 'Wrong' version '1' namespace '' has the extent ";
    EXPECT_GE(errors(where + "-3 on axis 0: extents are never negative"), 1) << logger.errors();
    EXPECT_GE(errors(where + "9223372036854775807 on axis 0: no tensor is so large"), 1) << logger.errors();
}

TEST_F(WrongPlugins, L7_anAttachedObjectIsANewOne)
{
    IPluginV3Layer* layer = add(Wrong::What::kNothing);
    ASSERT_NE(layer, nullptr);
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Wrong::what = Wrong::What::kAttachIsItself;
    std::unique_ptr<IExecutionContext> const none{engine->createExecutionContext()};
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(errors("attachToContext() of plugin 'Wrong' version '1' namespace '' returned the plugin itself"), 1)
        << logger.errors();
    Wrong::what = Wrong::What::kNothing;
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr);
    EXPECT_TRUE(run(*context, 1));
}

TEST_F(Robust, I4_aLibraryStaysOpenWhileAnEngineHasObjectsOfIt)
{
    IPluginRegistry& registry = *getPluginRegistry();
    IPluginRegistry::PluginLibraryHandle const handle = registry.loadLibrary(TENON_RAW_LIBRARY);
    ASSERT_NE(handle, nullptr) << logger.errors();
    auto* creator = static_cast<IPluginCreatorV3One*>(registry.getCreator("RawStride", "1", "raw"));
    ASSERT_NE(creator, nullptr);
    std::array<int32_t, 1> const steps{2};
    PluginFieldCollection const* names = creator->getFieldNames();
    ASSERT_GE(names->nbFields, 1);
    PluginField const field{names->fields[0].name, steps.data(), names->fields[0].type, 1};
    PluginFieldCollection const fields{1, &field};
    std::unique_ptr<IPluginV3> plugin{creator->createPlugin("x", &fields, TensorRTPhase::kBUILD)};
    ASSERT_NE(plugin, nullptr);
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({8, 8}))};
    IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, *plugin);
    plugin.reset();
    ASSERT_NE(layer, nullptr) << logger.errors();
    network->markOutput(*layer->getOutput(0));
    registry.deregisterLibrary(handle);
    EXPECT_EQ(registry.getCreator("RawStride", "1", "raw"), nullptr);
    EXPECT_GT(layer->getOutput(0)->getDimensions().nbDims, 0) << "asks the object, whose code is still there";
}

TEST_F(Robust, moreInputsThanALayerCanHaveAreRefusedAtOnce)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({4}));
    std::vector<ITensor*> inputs(33, x);
    ITensor* extent = network->addShape(*x)->getOutput(0);
    ITensor* values[]{extent, extent};
    Failing plugin;
    EXPECT_EQ(network->addPluginV3(inputs.data(), 33, nullptr, 0, plugin), nullptr);
    EXPECT_NE(logger.errors().find("plugin 'Failing' version '1' namespace '' has 33 inputs; a layer has 32"),
        std::string::npos)
        << logger.errors();
    EXPECT_EQ(network->addPluginV3(inputs.data(), 31, values, 2, plugin), nullptr);
    EXPECT_NE(network->addPluginV3(inputs.data(), 30, values, 2, plugin), nullptr);
}

} // namespace
} // namespace plugintest
