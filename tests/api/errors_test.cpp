// Rules B: recorders, loggers, error codes, threads.
#include "fixture.h"

#include <thread>

namespace apitest
{

class Errors : public ApiTest
{
  protected:
    KeepingRecorder recorder;
};

TEST_F(Errors, B1_childrenInheritTheRecorderOfTheirParent)
{
    builder->setErrorRecorder(&recorder);
    std::unique_ptr<INetworkDefinition> const child{builder->createNetworkV2(0)};
    EXPECT_EQ(child->getErrorRecorder(), &recorder);
    std::unique_ptr<ICudaEngine> const first = dynamicEngine();
    runtime->setErrorRecorder(&recorder);
    std::unique_ptr<IHostMemory> const plan{first->serialize()};
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getErrorRecorder(), &recorder);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_EQ(context->getErrorRecorder(), &recorder);
    EXPECT_FALSE(context->setInputShape("nobody", dims({1})));
    EXPECT_EQ(recorder.getNbErrors(), 1);
}

TEST_F(Errors, B2_everyReferenceOnARecorderIsGivenBack)
{
    {
        std::unique_ptr<IBuilder> const other{createInferBuilder(logger)};
        other->setErrorRecorder(&recorder);
        EXPECT_GE(recorder.increments, 1);
        std::unique_ptr<INetworkDefinition> const child{other->createNetworkV2(0)};
        EXPECT_GE(recorder.references, 1);
        other->createOptimizationProfile();
        other->setErrorRecorder(nullptr);
        EXPECT_EQ(other->getErrorRecorder(), nullptr);
        other->setErrorRecorder(&recorder);
    }
    EXPECT_EQ(recorder.references, 0);
}

TEST_F(Errors, B3_withoutARecorderMessagesGoToTheLogger)
{
    EXPECT_EQ(network->addInput("x", DataType::kFLOAT, dims({-2})), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "addInput"), 1);
}

TEST_F(Errors, B4_B5_reportsAreCountedAndOutOfRangeIndicesAnswerUnspecified)
{
    network->setErrorRecorder(&recorder);
    for (int32_t i = 1; i <= 3; ++i)
    {
        EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
        EXPECT_EQ(network->getErrorRecorder()->getNbErrors(), i);
    }
    EXPECT_NE(std::string{recorder.getErrorDesc(2)}, "");
    EXPECT_EQ(recorder.getErrorCode(7), ErrorCode::kUNSPECIFIED_ERROR);
    EXPECT_STREQ(recorder.getErrorDesc(7), "");
    recorder.clear();
    EXPECT_EQ(recorder.getNbErrors(), 0);
    network->setErrorRecorder(nullptr);
}

TEST_F(Errors, B6_severalThreadsMayReportAtOnce)
{
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
            for (int32_t k = 0; k < 50; ++k)
                EXPECT_EQ(own->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "addInput"), 200);
}

TEST_F(Errors, B7_builderAndRuntimeHandOutTheirLogger)
{
    EXPECT_EQ(builder->getLogger(), &logger);
    EXPECT_EQ(runtime->getLogger(), &logger);
}

TEST_F(Errors, B8_codesTellWhatKindOfMistakeItWas)
{
    network->setErrorRecorder(&recorder);
    EXPECT_EQ(network->addInput("x", static_cast<DataType>(77), dims({1})), nullptr);
    EXPECT_EQ(recorder.getErrorCode(0), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr); // No output.
    EXPECT_EQ(recorder.getErrorCode(1), ErrorCode::kINVALID_CONFIG);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1}));
    EXPECT_EQ(network->addLoop(), nullptr);
    EXPECT_EQ(recorder.getErrorCode(2), ErrorCode::kUNSUPPORTED_STATE);
    EXPECT_NE(std::string{recorder.getErrorDesc(2)}.find("INetworkDefinition::addLoop is not implemented"),
        std::string::npos);
    EXPECT_NE(x, nullptr);
    network->setErrorRecorder(nullptr);
}

TEST_F(Errors, B9_setMaxThreadsRefusesLessThanOneAndAnswersOneUntilSet)
{
    builder->setErrorRecorder(&recorder);
    runtime->setErrorRecorder(&recorder);
    EXPECT_EQ(builder->getMaxThreads(), 1);
    EXPECT_EQ(runtime->getMaxThreads(), 1);
    EXPECT_FALSE(builder->setMaxThreads(0));
    EXPECT_FALSE(runtime->setMaxThreads(-3));
    EXPECT_EQ(recorder.getErrorCode(0), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_EQ(recorder.getErrorCode(1), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_TRUE(builder->setMaxThreads(2));
    EXPECT_TRUE(runtime->setMaxThreads(2));
    EXPECT_EQ(builder->getMaxThreads(), 2);
    EXPECT_EQ(runtime->getMaxThreads(), 2);
    builder->setErrorRecorder(nullptr);
    runtime->setErrorRecorder(nullptr);
}

} // namespace apitest
