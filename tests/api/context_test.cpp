// Rules Q and S: execution contexts: shapes, addresses, runs.
#include "fixture.h"

#include <thread>

namespace apitest
{

class ContextRules : public ApiTest
{
  protected:
    std::unique_ptr<ICudaEngine> engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    std::vector<float> x = randomFloats(4 * 3 * 16 * 10, 21);
    std::vector<float> y = std::vector<float>(4 * 4 * 16 * 10, -1.0F);
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
    std::vector<float> large(1 * 4 * 22 * 10);
    switching->setOutputTensorAddress("y", large.data());
    ASSERT_TRUE(switching->enqueueV3(nullptr)) << logger.errors();
    expectNear(large, convRelu.expected(x, 1, 22, 10));
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

TEST_F(ContextRules, Q15_inputsAreReadWhenTheRunIsEnqueued)
{
    ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 8, 10})));
    context->setInputTensorAddress("x", x.data());
    context->setOutputTensorAddress("y", y.data());
    ASSERT_TRUE(context->enqueueV3(nullptr));
    std::vector<float> const other = randomFloats(1 * 3 * 8 * 10, 99);
    std::copy(other.begin(), other.end(), x.begin());
    ASSERT_TRUE(context->enqueueV3(nullptr));
    y.resize(1 * 4 * 8 * 10);
    expectNear(y, convRelu.expected(other, 1, 8, 10));
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
    EXPECT_FALSE(context->enqueueV3(nullptr)); // No shape.
    ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 8, 10})));
    context->setOutputTensorAddress("y", y.data());
    EXPECT_FALSE(context->enqueueV3(nullptr)); // No input.
    context->setInputTensorAddress("x", x.data());
    context->setOutputTensorAddress("y", nullptr);
    EXPECT_FALSE(context->enqueueV3(nullptr)); // No output.
    context->setOutputTensorAddress("y", y.data());
    EXPECT_TRUE(context->enqueueV3(nullptr));
}

TEST_F(ContextRules, S4_streamZeroGivesNoWarningOnTheCpu)
{
    runAndCompare(*context, 1, 8, 31);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
}

TEST_F(ContextRules, S5_contextsOfOneEngineRunConcurrently)
{
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            std::unique_ptr<IExecutionContext> const own{engine->createExecutionContext()};
            for (uint32_t k = 0; k < 10; ++k)
                runAndCompare(*own, 1 + (i + k) % 4, 8 + (3 * i + k) % 9, 100 * i + k);
        });
    for (std::thread& thread : threads)
        thread.join();
}

TEST_F(ContextRules, S7_executeV2TakesAddressesInIndexOrder)
{
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    void* bindings[2]{};
    bindings[0] = x.data();
    bindings[1] = y.data();
    ASSERT_TRUE(context->executeV2(bindings)) << logger.errors();
    y.resize(2 * 4 * 9 * 10);
    expectNear(y, convRelu.expected(x, 2, 9, 10));
    EXPECT_FALSE(context->executeV2(nullptr));
}

} // namespace apitest
