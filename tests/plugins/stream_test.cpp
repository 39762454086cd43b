// Custom layers and streams: what a layer puts on its stream, and what it is not told while it runs.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/one_to_one.h"

#include "tenon/host.h"

#include <chrono>
#include <future>
#include <thread>

namespace plugintest
{
namespace
{

using apitest::dims;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! Copies x by work that it puts on the stream that it is given.
class Submitting final : public OneToOne<Submitting>
{
  public:
    static constexpr char const* kType{"Submitting"};
    inline static cudaStream_t given{nullptr};

    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t stream) noexcept override
    {
        given = stream;
        auto const copy = [](void* user) -> int32_t {
            auto const& [from, to, bytes] = *static_cast<Copy*>(user);
            std::memcpy(to, from, bytes);
            return 0;
        };
        auto const release = [](void* user) { delete static_cast<Copy*>(user); };
        auto* const what = new Copy{inputs[0], outputs[0], static_cast<size_t>(in[0].dims.d[0]) * sizeof(float)};
        return static_cast<int32_t>(tenonHostSubmit(stream, copy, what, release));
    }

  private:
    struct Copy
    {
        void const* from;
        void* to;
        size_t bytes;
    };
};

//! Copies x when its gate is open, and notes when it is done.
class Gated final : public OneToOne<Gated>
{
  public:
    static constexpr char const* kType{"Gated"};
    inline static std::shared_future<void> gate;
    inline static std::promise<void>* reached{nullptr}; //!< Told once when a layer stands at the gate.

    int32_t onShapeChange(PluginTensorDesc const* in, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        note("onShapeChange", text(in[0].dims));
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        note("enqueue", text(in[0].dims));
        if (std::promise<void>* const waiting = std::exchange(reached, nullptr))
            waiting->set_value();
        if (gate.valid())
            gate.wait();
        std::memcpy(outputs[0], inputs[0], static_cast<size_t>(in[0].dims.d[0]) * sizeof(float));
        note("enqueue ended", text(in[0].dims));
        return 0;
    }
};

//! x [1…16] -> plugin -> NEG -> y.
template <typename P>
class OnStreams : public apitest::ApiTest
{
  protected:
    OneToOneCreator<P> creator;
    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
    void* own{nullptr};

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
        ASSERT_EQ(tenonHostCreateStream(&own, 0, 0), TENON_HOST_OK);
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({-1}))};
        P plugin;
        ILayer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        ASSERT_NE(layer, nullptr) << logger.errors();
        ITensor* const y = network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG)->getOutput(0);
        y->setName("y");
        network->markOutput(*y);
        addProfile({1}, {4}, {16});
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        ASSERT_NE(context, nullptr);
        Journal::get().clear();
    }
    void TearDown() override
    {
        tenonHostSynchronizeStream(own);
        EXPECT_EQ(tenonHostDestroyStream(own), TENON_HOST_OK);
        context.reset();
        engine.reset();
        network.reset();
        getPluginRegistry()->deregisterCreator(creator);
    }
    bool set(int64_t count, DeviceArray<float> const& x, DeviceArray<float> const& y)
    {
        return context->setInputShape("x", dims({count})) && context->setTensorAddress("x", x.data())
            && context->setTensorAddress("y", y.data());
    }
    static std::vector<float> negated(std::vector<float> values)
    {
        for (float& value : values)
            value = -value;
        return values;
    }
};

class SubmittedWork : public OnStreams<Submitting>
{
};

TEST_F(SubmittedWork, whatALayerPutsOnItsStreamRunsBeforeTheNextStep)
{
    DeviceArray<float> x{16};
    DeviceArray<float> y{16};
    ASSERT_TRUE(set(16, x, y));
    uint32_t seed{0};
    for (void* const handle : {static_cast<void*>(nullptr), reinterpret_cast<void*>(uintptr_t{1}),
             reinterpret_cast<void*>(uintptr_t{2}), own})
        for (int round = 0; round < 2; ++round)
        {
            std::vector<float> const values = randomFloats(16, ++seed); // Never those of the run before.
            x.write(values);
            ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(handle))) << logger.errors();
            ASSERT_EQ(tenonHostSynchronizeStream(handle), TENON_HOST_OK) << tenonHostProblem();
            EXPECT_EQ(Submitting::given, static_cast<cudaStream_t>(handle));
            EXPECT_EQ(y.read(), negated(values)) << handle;
        }
}

TEST_F(SubmittedWork, itIsRepeatedWithTheGraphThatRecordedTheRun)
{
    DeviceArray<float> x{16};
    DeviceArray<float> y{16};
    ASSERT_TRUE(set(16, x, y));
    ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(own))) << logger.errors(); // S8: a normal one first.
    ASSERT_EQ(tenonHostSynchronizeStream(own), TENON_HOST_OK);
    void* graph{nullptr};
    void* executable{nullptr};
    ASSERT_EQ(tenonHostBeginCapture(own, TENON_HOST_CAPTURE_RELAXED), TENON_HOST_OK);
    ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(own))) << logger.errors();
    ASSERT_EQ(tenonHostEndCapture(own, &graph), TENON_HOST_OK);
    ASSERT_EQ(tenonHostInstantiateGraph(&executable, graph), TENON_HOST_OK);
    void* other{nullptr};
    ASSERT_EQ(tenonHostCreateStream(&other, 0, 0), TENON_HOST_OK);
    uint32_t seed{0};
    for (void* const handle : {own, other, own, static_cast<void*>(nullptr)})
    {
        std::vector<float> const values = randomFloats(16, ++seed);
        x.write(values);
        ASSERT_EQ(tenonHostLaunchGraph(executable, handle), TENON_HOST_OK) << tenonHostProblem();
        ASSERT_EQ(tenonHostSynchronizeStream(handle), TENON_HOST_OK) << tenonHostProblem();
        EXPECT_EQ(y.read(), negated(values)) << seed;
    }
    EXPECT_EQ(tenonHostDestroyExecutable(executable), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyGraph(graph), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyStream(other), TENON_HOST_OK);
}

class GatedLayer : public OnStreams<Gated>
{
};

TEST_F(GatedLayer, L13_aLayerIsToldOtherShapesWhenItsEarlierRunIsOver)
{
    std::vector<float> const values = randomFloats(16, 3);
    DeviceArray<float> const x{values};
    DeviceArray<float> const four{4};
    DeviceArray<float> const six{6};
    std::promise<void> open;
    std::promise<void> reached;
    Gated::gate = open.get_future().share();
    Gated::reached = &reached;
    ASSERT_TRUE(set(4, x, four));
    ASSERT_TRUE(context->enqueueV3(static_cast<cudaStream_t>(own))) << logger.errors();
    reached.get_future().wait();
    void* other{nullptr};
    ASSERT_EQ(tenonHostCreateStream(&other, 0, 0), TENON_HOST_OK);
    std::future<bool> second = std::async(
        std::launch::async, [&] { return set(6, x, six) && context->enqueueV3(static_cast<cudaStream_t>(other)); });
    EXPECT_EQ(second.wait_for(std::chrono::milliseconds{100}), std::future_status::timeout) << "the call waits";
    EXPECT_EQ(Journal::get().count("onShapeChange"), 1);
    open.set_value();
    EXPECT_TRUE(second.get()) << logger.errors();
    EXPECT_EQ(tenonHostSynchronizeStream(other), TENON_HOST_OK);
    EXPECT_EQ(tenonHostDestroyStream(other), TENON_HOST_OK);
    std::vector<std::string> calls;
    for (Entry const& each : Journal::get().all())
        if (each.call != "clone" && each.call != "setTactic")
            calls.push_back(each.call + " " + each.what);
    std::string const small = text(dims({4}));
    std::string const large = text(dims({6}));
    EXPECT_EQ(calls,
        (std::vector<std::string>{"onShapeChange " + small, "enqueue " + small, "enqueue ended " + small,
            "onShapeChange " + large, "enqueue " + large, "enqueue ended " + large}));
    EXPECT_EQ(four.read(), negated({values.begin(), values.begin() + 4}));
    EXPECT_EQ(six.read(), negated({values.begin(), values.begin() + 6}));
    Gated::gate = {};
}

} // namespace
} // namespace plugintest
