// Group L, what a run promises: codes, shapes, tactics, empty tensors.
#include "plugins/flexible_test.h"

namespace plugintest
{
namespace
{

class V3Run : public FlexibleTest<Flexible>
{
  protected:
    std::unique_ptr<ICudaEngine> engine;
    apitest::KeepingRecorder recorder;

    void build(Dims const& shape)
    {
        registerCreator();
        ASSERT_NE(addTo(shape), nullptr);
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        engine->setErrorRecorder(&recorder);
    }
    void TearDown() override
    {
        if (engine != nullptr)
            engine->setErrorRecorder(nullptr);
        engine.reset();
        FlexibleTest::TearDown();
    }
    //! The one report that the recorder has, which names call, code and layer.
    void expectReport(std::string const& call, int32_t code)
    {
        ASSERT_EQ(recorder.getNbErrors(), 1);
        std::string const said = recorder.getErrorDesc(0);
        EXPECT_NE(said.find(call + "() of plugin 'Flexible' version '1' namespace '' returned " + std::to_string(code)),
            std::string::npos)
            << said;
        EXPECT_NE(logger.errors().find("[layer 'flexible']"), std::string::npos) << logger.errors();
        EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_EXECUTION);
        recorder.clear();
    }
};

TEST_F(V3Run, L21_codesOfRunsAreInTheRecorderAndTheContextStaysUsable)
{
    build(dims({2, 3}));
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const x{size_t{6}};
    DeviceArray<float> const y{size_t{6}};
    behaviour->shapeChange = [](TensorDescs, TensorDescs) { return 21; };
    EXPECT_FALSE(enqueue(*context, x, y, dims({2, 3})));
    expectReport("onShapeChange", 21);
    EXPECT_EQ(Journal::get().count("enqueue"), 0) << "it is not run after that";
    behaviour->shapeChange = nullptr;
    behaviour->enqueue = [](TensorDescs, TensorDescs, void const* const*, void* const*, void*) { return -22; };
    EXPECT_FALSE(enqueue(*context, x, y, dims({2, 3})));
    expectReport("enqueue", -22);
    behaviour->enqueue = nullptr;
    runCopies(*context, dims({2, 3}));
    EXPECT_EQ(recorder.getNbErrors(), 0);
}

TEST_F(V3Run, L21_aCodeOfSetTacticFailsTheContext)
{
    build(dims({2, 3}));
    behaviour->setTactic = [](int32_t) { return 23; };
    EXPECT_EQ(engine->createExecutionContext(), nullptr);
    expectReport("setTactic", 23);
}

TEST_F(V3Run, L21_codesOfABuildAreInTheRecorderOfTheBuilder)
{
    builder->setErrorRecorder(&recorder);
    network.reset(builder->createNetworkV2(0));
    behaviour->configure = [](DynamicDescs, int32_t, DynamicDescs) { return 24; };
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    buildFails();
    expectReport("configurePlugin", 24);
    builder->setErrorRecorder(nullptr);
}

TEST_F(V3Run, L15_withoutTacticsOfItsOwnAPluginIsSetToZero)
{
    build(dims({2, 3}));
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    runCopies(*context, dims({2, 3}));
    EXPECT_EQ(whatOf("setTactic"), std::vector<std::string>{"0"});
    EXPECT_LT(Journal::get().first("setTactic"), Journal::get().first("enqueue"));
}

TEST_F(V3Run, L13_everyContextIsToldItsShapesBeforeItsFirstRun)
{
    build(dims({2, 3}));
    std::unique_ptr<IExecutionContext> const first{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    Journal::get().clear();
    runCopies(*first, dims({2, 3}));
    runCopies(*second, dims({2, 3}));
    EXPECT_EQ(Journal::get().count("onShapeChange"), 2);
}

TEST_F(V3Run, L23_emptyTensorsHaveAddresses)
{
    registerCreator();
    behaviour->workspace = 0;
    int32_t runs{0};
    behaviour->enqueue = [&](TensorDescs in, TensorDescs out, void const* const* inputs, void* const* outputs, void*) {
        ++runs;
        EXPECT_EQ(volumeOf(in[0].dims), 0);
        EXPECT_EQ(volumeOf(out[0].dims), 0);
        EXPECT_NE(inputs[0], nullptr);
        EXPECT_NE(outputs[0], nullptr);
        return 0;
    };
    // Between two layers of the engine, so that neither address is the user's.
    ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({-1, 3}));
    ITensor* const twice = network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
    Flexible plugin{behaviour};
    IPluginV3Layer* const layer = network->addPluginV3(&twice, 1, nullptr, 0, plugin);
    ASSERT_NE(layer, nullptr);
    ITensor* const y = network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    addProfile({0, 3}, {2, 3}, {4, 3});
    engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const in{size_t{1}};
    DeviceArray<float> const out{size_t{1}};
    ASSERT_TRUE(enqueue(*context, in, out, dims({0, 3}))) << logger.errors();
    EXPECT_EQ(runs, 1);
}

TEST_F(V3Run, L23_emptyTensorsAtTheEdgesOfTheNetworkHaveAddresses)
{
    int32_t runs{0};
    behaviour->enqueue = [&](TensorDescs, TensorDescs, void const* const* inputs, void* const* outputs, void*) {
        ++runs;
        EXPECT_NE(inputs[0], nullptr);
        EXPECT_NE(outputs[0], nullptr);
        return 0;
    };
    registerCreator();
    ASSERT_NE(addTo(dims({-1, 3})), nullptr);
    addProfile({0, 3}, {2, 3}, {4, 3});
    engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setInputShape("x", dims({0, 3})));
    ASSERT_TRUE(context->setTensorAddress("x", nullptr));
    ASSERT_TRUE(context->setTensorAddress("y", nullptr));
    EXPECT_FALSE(context->enqueueV3(apitest::stream())) << "null is no address, not even of nothing";
    EXPECT_EQ(runs, 0);
    DeviceArray<float> const x{size_t{1}};
    DeviceArray<float> const y{size_t{1}};
    EXPECT_TRUE(enqueue(*context, x, y, dims({0, 3}))) << logger.errors();
    EXPECT_EQ(runs, 1);
}

} // namespace
} // namespace plugintest
