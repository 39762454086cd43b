// Rules Q and S: execution contexts: shapes, addresses, runs.
#include "fixture.h"

#include <functional>
#include <tuple>

namespace apitest
{

class ContextRules : public ApiTest
{
  protected:
    std::unique_ptr<ICudaEngine> engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    std::vector<float> const values = randomFloats(4 * 3 * 16 * 10, 21);
    DeviceArray<float> x{values};
    DeviceArray<float> y{4 * 4 * 16 * 10};
};

TEST_F(ContextRules, Q1_Q2_contextsStartWithProfileZero)
{
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    EXPECT_EQ(context->getOptimizationProfile(), 0);
    EXPECT_EQ(second->getOptimizationProfile(), 0);
    EXPECT_FALSE(context->setOptimizationProfileAsync(1, nullptr));
    EXPECT_FALSE(context->setOptimizationProfileAsync(-1, nullptr));
    EXPECT_TRUE(context->setOptimizationProfileAsync(0, nullptr));
}

TEST_F(ContextRules, Q3_aProfileSwitchForgetsShapes)
{
    addProfile({1, 3, 20, 10}, {1, 3, 20, 10}, {1, 3, 24, 10});
    std::unique_ptr<ICudaEngine> const two = buildEngine();
    std::unique_ptr<IExecutionContext> const switching{two->createExecutionContext()};
    ASSERT_TRUE(switching->setInputShape("x", dims({1, 3, 8, 10})));
    char const* names[2]{};
    EXPECT_EQ(switching->inferShapes(2, names), 0);
    ASSERT_TRUE(switching->setOptimizationProfileAsync(1, nullptr));
    EXPECT_EQ(switching->inferShapes(2, names), 1);
    EXPECT_STREQ(names[0], "x");
    EXPECT_FALSE(switching->setInputShape("x", dims({1, 3, 8, 10})));
    ASSERT_TRUE(switching->setInputShape("x", dims({1, 3, 22, 10})));
    switching->setInputTensorAddress("x", x.data());
    DeviceArray<float> const large{1 * 4 * 22 * 10};
    switching->setOutputTensorAddress("y", large.data());
    ASSERT_TRUE(switching->enqueueV3(stream())) << logger.errors();
    expectNear(large.read(), convRelu.expected(values, 1, 22, 10));
}

TEST_F(ContextRules, Q4_Q5_setInputShapeRefusesWhatDoesNotFitAndKeepsItsState)
{
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    for (auto const& [name, shape] :
        std::vector<std::pair<char const*, std::vector<int64_t>>>{{"nobody", {2, 3, 9, 10}}, {"y", {2, 4, 9, 10}},
            {"x", {2, 3, 9}}, {"x", {2, 5, 9, 10}}, {"x", {-1, 3, 9, 10}}, {"x", {5, 3, 9, 10}}, {"x", {2, 3, 7, 10}}})
    {
        EXPECT_FALSE(context->setInputShape(name, dims(shape)));
        EXPECT_EQ(extents(context->getTensorShape("x")), (std::vector<int64_t>{2, 3, 9, 10}));
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setInputShape"), 7);
}

TEST_F(ContextRules, Q5_aStaticInputAcceptsItsOwnShape)
{
    std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
    network = std::unique_ptr<INetworkDefinition>{builder->createNetworkV2(0)};
    config->reset();
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<ICudaEngine> const still = buildEngine();
    std::unique_ptr<IExecutionContext> const fixed{still->createExecutionContext()};
    EXPECT_TRUE(fixed->setInputShape("x", dims({1, 3, 8, 10})));
    EXPECT_FALSE(fixed->setInputShape("x", dims({1, 3, 9, 10})));
}

TEST_F(ContextRules, Q6_Q7_shapesAreKnownOnceInputsAre)
{
    EXPECT_EQ(extents(context->getTensorShape("x")), (std::vector<int64_t>{-1, 3, -1, 10}));
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{-1, 4, -1, 10}));
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    EXPECT_EQ(extents(context->getTensorShape("x")), (std::vector<int64_t>{2, 3, 9, 10}));
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{2, 4, 9, 10}));
}

TEST_F(ContextRules, Q6_extentsThatOnlyOneValueFitsAreKnownAtOnce)
{
    network = std::unique_ptr<INetworkDefinition>{builder->createNetworkV2(0)};
    config->reset();
    convRelu.add(*network, dims({-1, 3, -1, 10}));
    addProfile({1, 3, 9, 10}, {2, 3, 9, 10}, {4, 3, 9, 10}); // The height: kMIN equals kMAX.
    std::unique_ptr<ICudaEngine> const own = buildEngine();
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(extents(own->getTensorShape("x")), (std::vector<int64_t>{-1, 3, 9, 10}));
    EXPECT_EQ(extents(own->getTensorShape("y")), (std::vector<int64_t>{-1, 4, 9, 10}));
    std::unique_ptr<IExecutionContext> const fresh{own->createExecutionContext()};
    EXPECT_EQ(extents(fresh->getTensorShape("x")), (std::vector<int64_t>{-1, 3, 9, 10}));
    runAndCompare(*fresh, 3, 9, 2);
}

TEST_F(ContextRules, P2_anEngineShowsWhatAllItsProfilesFix)
{
    network = std::unique_ptr<INetworkDefinition>{builder->createNetworkV2(0)};
    config->reset();
    convRelu.add(*network, dims({-1, 3, -1, 10}));
    addProfile({2, 3, 9, 10}, {2, 3, 9, 10}, {2, 3, 9, 10});
    addProfile({2, 3, 8, 10}, {2, 3, 8, 10}, {2, 3, 8, 10}); // The batch agrees, the height does not.
    std::unique_ptr<ICudaEngine> const own = buildEngine();
    ASSERT_NE(own, nullptr) << logger.errors();
    EXPECT_EQ(extents(own->getTensorShape("x")), (std::vector<int64_t>{2, 3, -1, 10}));
    EXPECT_EQ(extents(own->getTensorShape("y")), (std::vector<int64_t>{2, 4, -1, 10}));
}

TEST_F(ContextRules, Q6_aNamedDimensionThatAnotherInputFixesIsKnown)
{
    network = std::unique_ptr<INetworkDefinition>{builder->createNetworkV2(0)};
    config->reset();
    ITensor* a = network->addInput("a", DataType::kFLOAT, dims({-1, 2}));
    ITensor* b = network->addInput("b", DataType::kFLOAT, dims({-1, 2}));
    a->setDimensionName(0, "n");
    b->setDimensionName(0, "n");
    ITensor* sum = network->addElementWise(*a, *b, ElementWiseOperation::kSUM)->getOutput(0);
    sum->setName("sum");
    network->markOutput(*sum);
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (char const* name : {"a", "b"})
    {
        profile->setDimensions(name, OptProfileSelector::kMIN, dims({1, 2}));
        profile->setDimensions(name, OptProfileSelector::kOPT, dims({2, 2}));
        profile->setDimensions(name, OptProfileSelector::kMAX, dims({4, 2}));
    }
    config->addOptimizationProfile(profile);
    std::unique_ptr<ICudaEngine> const own = buildEngine();
    std::unique_ptr<IExecutionContext> const fresh{own->createExecutionContext()};
    EXPECT_EQ(extents(fresh->getTensorShape("b")), (std::vector<int64_t>{-1, 2}));
    ASSERT_TRUE(fresh->setInputShape("a", dims({3, 2})));
    EXPECT_EQ(extents(fresh->getTensorShape("b")), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(extents(fresh->getTensorShape("sum")), (std::vector<int64_t>{3, 2}));
}

TEST_F(ContextRules, Q9_writesNoMoreNamesThanThereIsRoomFor)
{
    network = std::unique_ptr<INetworkDefinition>{builder->createNetworkV2(0)};
    config->reset();
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    std::vector<ITensor*> inputs;
    for (char const* name : {"a", "b", "c"})
    {
        inputs.push_back(network->addInput(name, DataType::kFLOAT, dims({-1, 2})));
        for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
            profile->setDimensions(name, select, dims({1 + static_cast<int32_t>(select), 2}));
    }
    ITensor* joined = network->addConcatenation(inputs.data(), 3)->getOutput(0);
    joined->setName("joined");
    network->markOutput(*joined);
    config->addOptimizationProfile(profile);
    std::unique_ptr<ICudaEngine> const own = buildEngine();
    ASSERT_NE(own, nullptr);
    std::unique_ptr<IExecutionContext> const fresh{own->createExecutionContext()};
    char const* const untouched = "untouched";
    char const* names[4]{untouched, untouched, untouched, untouched};
    EXPECT_EQ(fresh->inferShapes(2, names), 3); // Three lack a shape; there is room for two names.
    EXPECT_STREQ(names[0], "a");
    EXPECT_STREQ(names[1], "b");
    EXPECT_EQ(names[2], untouched);
    ASSERT_TRUE(fresh->setInputShape("b", dims({2, 2})));
    EXPECT_EQ(fresh->inferShapes(4, names), 2);
    EXPECT_STREQ(names[0], "a");
    EXPECT_STREQ(names[1], "c");
    EXPECT_EQ(names[2], untouched);
    ASSERT_TRUE(fresh->setInputShape("a", dims({1, 2})));
    ASSERT_TRUE(fresh->setInputShape("c", dims({3, 2})));
    EXPECT_EQ(fresh->inferShapes(0, nullptr), 0);
    EXPECT_EQ(extents(fresh->getTensorShape("joined")).size(), 2U);
}

TEST_F(ContextRules, Q9_Q10_inferShapesNamesWhatIsUnderSpecified)
{
    char const* names[1]{};
    EXPECT_EQ(context->inferShapes(1, names), 1);
    EXPECT_STREQ(names[0], "x");
    EXPECT_EQ(context->inferShapes(0, nullptr), 1);
    EXPECT_EQ(context->inferShapes(-1, names), -1);
    EXPECT_EQ(context->inferShapes(1, nullptr), -1);
    ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 8, 10})));
    EXPECT_EQ(context->inferShapes(1, names), 0);
}

TEST_F(ContextRules, Q13_Q14_Q16_addresses)
{
    EXPECT_EQ(context->getTensorAddress("x"), nullptr);
    EXPECT_TRUE(context->setTensorAddress("x", x.data()));
    EXPECT_EQ(context->getTensorAddress("x"), x.data());
    EXPECT_TRUE(context->setTensorAddress("x", nullptr));
    EXPECT_EQ(context->getTensorAddress("x"), nullptr);
    EXPECT_FALSE(context->setTensorAddress("nobody", x.data()));
    EXPECT_FALSE(context->setTensorAddress("x", reinterpret_cast<char*>(x.data()) + 1));
    EXPECT_TRUE(context->setTensorAddress("x", x.data() + 1)); // The element's alignment is enough.
    EXPECT_FALSE(context->setInputTensorAddress("y", x.data()));
    EXPECT_FALSE(context->setOutputTensorAddress("x", x.data()));
    EXPECT_TRUE(context->setOutputTensorAddress("y", y.data()));
    EXPECT_EQ(context->getOutputTensorAddress("y"), y.data());
    EXPECT_EQ(context->getOutputTensorAddress("x"), nullptr);
    EXPECT_EQ(context->getTensorAddress("nobody"), nullptr);
}

TEST_F(ContextRules, P1_queriesOfTensorsThatNobodyHasAreReported)
{
    std::vector<std::tuple<char const*, char const*, std::function<void()>>> const wrong{
        {"getTensorShape", "'nobody'", [&] { context->getTensorShape("nobody"); }},
        {"getTensorStrides", "'nobody'", [&] { context->getTensorStrides("nobody"); }},
        {"getTensorAddress", "'nobody'", [&] { context->getTensorAddress("nobody"); }},
        {"getTensorAddress", "(null)", [&] { context->getTensorAddress(nullptr); }},
        {"getOutputTensorAddress", "'nobody'", [&] { context->getOutputTensorAddress("nobody"); }},
        {"getOutputAllocator", "'nobody'", [&] { context->getOutputAllocator("nobody"); }},
        {"getMaxOutputSize", "'nobody'", [&] { context->getMaxOutputSize("nobody"); }},
    };
    for (auto const& [call, cause, ask] : wrong)
    {
        KeepingRecorder recorder;
        context->setErrorRecorder(&recorder);
        ask();
        EXPECT_EQ(recorder.getNbErrors(), 1) << call;
        std::string const said = recorder.getErrorDesc(0);
        EXPECT_TRUE(said.starts_with(std::string{"IExecutionContext::"} + call + ": ")) << call << ", not " << said;
        EXPECT_NE(said.find(cause), std::string::npos) << cause << ", not " << said;
        context->setErrorRecorder(nullptr);
    }
}

TEST_F(ContextRules, Q15_inputsAreReadWhenTheRunIsEnqueued)
{
    ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 8, 10})));
    context->setInputTensorAddress("x", x.data());
    context->setOutputTensorAddress("y", y.data());
    ASSERT_TRUE(context->enqueueV3(stream()));
    std::vector<float> const other = randomFloats(1 * 3 * 8 * 10, 99);
    x.write(other);
    ASSERT_TRUE(context->enqueueV3(stream()));
    expectNear(y.read(1 * 4 * 8 * 10), convRelu.expected(other, 1, 8, 10));
}

TEST_F(ContextRules, Q17_maxOutputSizeIsABoundOnceShapesAreSet)
{
    EXPECT_EQ(context->getMaxOutputSize("x"), -1);
    EXPECT_EQ(context->getMaxOutputSize("nobody"), -1);
    EXPECT_EQ(context->getMaxOutputSize("y"), -1);
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    EXPECT_GE(context->getMaxOutputSize("y"), static_cast<int64_t>(2 * 4 * 9 * 10 * sizeof(float)));
}

TEST_F(ContextRules, Q22_namesAreCopied)
{
    EXPECT_STREQ(context->getName(), "");
    std::string name = "first";
    context->setName(name.c_str());
    name = "other";
    EXPECT_STREQ(context->getName(), "first");
}

TEST_F(ContextRules, S1_enqueueNeedsShapesAndAddresses)
{
    EXPECT_FALSE(context->enqueueV3(stream())); // No shape.
    ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 8, 10})));
    context->setOutputTensorAddress("y", y.data());
    EXPECT_FALSE(context->enqueueV3(stream())); // No input.
    context->setInputTensorAddress("x", x.data());
    context->setOutputTensorAddress("y", nullptr);
    EXPECT_FALSE(context->enqueueV3(stream())); // No output.
    context->setOutputTensorAddress("y", y.data());
    EXPECT_TRUE(context->enqueueV3(stream()));
    tenon::test::deviceUnderTest().synchronize();
}

TEST_F(ContextRules, S4_streamZeroGivesNoWarningOnTheCpu)
{
    runAndCompare(*context, 1, 8, 31);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
}

//! Handle 1 is the default stream by its other name, 2 a queue of this thread's (decisions: handles on CPU).
TEST_F(ContextRules, S4_streamOneIsStreamZero)
{
    auto const handle = [](uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); };
    ASSERT_TRUE(context->setOptimizationProfileAsync(0, handle(1))) << logger.errors();
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    ASSERT_TRUE(context->setTensorAddress("x", x.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    ASSERT_TRUE(context->enqueueV3(handle(1))) << logger.errors();
    expectNear(y.read(2 * 4 * 9 * 10), convRelu.expected(values, 2, 9, 10));
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
    EXPECT_TRUE(context->enqueueV3(handle(2))) << logger.errors();
    EXPECT_TRUE(context->setOptimizationProfileAsync(0, handle(2))) << logger.errors();
    EXPECT_FALSE(context->enqueueV3(handle(0xABC0)));
    EXPECT_FALSE(context->setOptimizationProfileAsync(0, handle(0xABC0)));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "0xabc0"), 2) << logger.errors();
    context.reset(); // Waits for what it has put into queues.
}

TEST_F(ContextRules, S7_executeV2TakesAddressesInIndexOrder)
{
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    void* bindings[2]{};
    bindings[0] = x.data();
    bindings[1] = y.data();
    ASSERT_TRUE(context->executeV2(bindings)) << logger.errors();
    expectNear(y.read(2 * 4 * 9 * 10), convRelu.expected(values, 2, 9, 10));
    EXPECT_FALSE(context->executeV2(nullptr));
}

TEST_F(ApiTest, Y1_noEngineHasCollectiveLayersForACommunicator)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    int32_t someone{0};
    for (void* const communicator : {static_cast<void*>(&someone), static_cast<void*>(nullptr)})
    {
        EXPECT_FALSE(context->setCommunicator(communicator));
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
    }
    EXPECT_EQ(recorder.getNbErrors(), 2);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setCommunicator: the engine has no collective layers"), 2);
    context->setErrorRecorder(nullptr);
}

} // namespace apitest
