// Rules B: recorders, loggers, error codes, threads.
#include "fixture.h"

#include <functional>

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
    context->setErrorRecorder(nullptr);
    engine->setErrorRecorder(nullptr);
    runtime->setErrorRecorder(nullptr);
    builder->setErrorRecorder(nullptr);
}

//! They could not be made to give it back.
TEST_F(Errors, B2_whatTakesNoRecorderHoldsNone)
{
    builder->setErrorRecorder(&recorder);
    IOptimizationProfile* const profile = builder->createOptimizationProfile();
    EXPECT_FALSE(profile->setDimensions("x", OptProfileSelector::kMIN, dims({-5})));
    EXPECT_EQ(recorder.getNbErrors(), 1);
    builder->setErrorRecorder(nullptr);
    EXPECT_EQ(recorder.references, 0);
    EXPECT_FALSE(profile->setDimensions("x", OptProfileSelector::kMIN, dims({-5})));
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    engine->setErrorRecorder(&recorder);
    std::unique_ptr<IRuntimeConfig> const forContexts{engine->createRuntimeConfig()};
    std::unique_ptr<ISerializationConfig> const forPlans{engine->createSerializationConfig()};
    EXPECT_FALSE(forPlans->setFlags(0xFFFFFFFF));
    forContexts->setExecutionContextAllocationStrategy(static_cast<ExecutionContextAllocationStrategy>(77));
    EXPECT_EQ(recorder.getNbErrors(), 3);
    engine->setErrorRecorder(nullptr);
    EXPECT_EQ(recorder.references, 0);
    EXPECT_FALSE(forPlans->setFlags(0xFFFFFFFF));
    EXPECT_EQ(recorder.getNbErrors(), 3);
}

//! B2 of one object: a reference while the recorder is set, none once it is taken away; left set for the owner's end.
template <typename T>
void expectReferences(T& object, KeepingRecorder& recorder)
{
    object.setErrorRecorder(nullptr); // What it inherited.
    int32_t const before = recorder.references;
    int32_t const increments = recorder.increments;
    object.setErrorRecorder(&recorder);
    EXPECT_EQ(object.getErrorRecorder(), &recorder);
    EXPECT_GT(recorder.increments, increments);
    EXPECT_GT(recorder.references, before);
    object.setErrorRecorder(nullptr);
    EXPECT_EQ(object.getErrorRecorder(), nullptr);
    EXPECT_EQ(recorder.references, before);
    object.setErrorRecorder(&recorder);
}

TEST_F(Errors, B2_everyReferenceOnARecorderIsGivenBack)
{
    {
        std::unique_ptr<IBuilder> const other{createInferBuilder(logger)};
        expectReferences(*other, recorder);
        std::unique_ptr<INetworkDefinition> const child{other->createNetworkV2(0)};
        expectReferences(*child, recorder);
        other->createOptimizationProfile();
        std::unique_ptr<IRuntime> const loader{createInferRuntime(logger)};
        expectReferences(*loader, recorder);
        std::unique_ptr<ICudaEngine> const built = dynamicEngine();
        std::unique_ptr<IHostMemory> const plan{built->serialize()};
        std::unique_ptr<ICudaEngine> const engine{loader->deserializeCudaEngine(plan->data(), plan->size())};
        ASSERT_NE(engine, nullptr);
        expectReferences(*engine, recorder);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        expectReferences(*context, recorder);
        std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
        EXPECT_EQ(inspector->getErrorRecorder(), &recorder); // The engine's (rule B1).
        expectReferences(*inspector, recorder);
        EXPECT_GE(recorder.references, 6);
    }
    EXPECT_EQ(recorder.references, 0);
}

TEST_F(Errors, B3_withoutARecorderMessagesGoToTheLogger)
{
    EXPECT_EQ(network->addInput("x", DataType::kFLOAT, dims({-2})), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "addInput"), 1);
}

TEST_F(Errors, B3_freeFunctionsWithoutALoggerReportToTheGlobalOne)
{
    auto* const global = dynamic_cast<KeepingLogger*>(getLogger()); // The fixture's builder set it.
    ASSERT_NE(global, nullptr);
    int32_t const before = global->count(ILogger::Severity::kERROR, "the logger is null");
    EXPECT_EQ(createInferBuilder_INTERNAL(nullptr, NV_TENSORRT_VERSION), nullptr);
    EXPECT_EQ(createInferRuntime_INTERNAL(nullptr, NV_TENSORRT_VERSION), nullptr);
    EXPECT_EQ(global->count(ILogger::Severity::kERROR, "the logger is null"), before + 2);
}

//! A logger may end once all that was made with it is gone: no call finds it any more.
TEST_F(Errors, B3_theGlobalLoggerIsOneThatAnObjectUses)
{
    auto own = std::make_unique<KeepingLogger>();
    std::unique_ptr<IRuntime> other{createInferRuntime(*own)};
    EXPECT_EQ(getLogger(), own.get());
    std::unique_ptr<IBuilder> maker{createInferBuilder(logger)};
    EXPECT_EQ(getLogger(), &logger); // Used last.
    EXPECT_NE(std::unique_ptr<IBuilder>{createInferBuilder(*own)}, nullptr);
    EXPECT_EQ(getLogger(), own.get());
    std::unique_ptr<INetworkDefinition> child{
        std::unique_ptr<IBuilder>{createInferBuilder(*own)} -> createNetworkV2(0)};
    other.reset();
    EXPECT_EQ(getLogger(), own.get()); // The network still uses it.
    child.reset();
    own.reset();
    EXPECT_EQ(getLogger(), &logger);
    EXPECT_EQ(createInferBuilder_INTERNAL(nullptr, NV_TENSORRT_VERSION), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the logger is null"), 1);
    child.reset();
    maker.reset();
    network.reset();
    config.reset();
    builder.reset();
    runtime.reset();
    EXPECT_NE(getLogger(), &logger); // One that prints.
    EXPECT_EQ(createInferRuntime_INTERNAL(nullptr, NV_TENSORRT_VERSION), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the logger is null"), 1);
}

TEST_F(Errors, B4_reportsAreCountedUntilTheRecordersCapacity)
{
    KeepingRecorder small{2};
    network->setErrorRecorder(&small);
    for (int32_t i = 1; i <= 5; ++i)
    {
        EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
        EXPECT_EQ(network->getErrorRecorder()->getNbErrors(), std::min(i, 2));
        EXPECT_EQ(network->getErrorRecorder()->hasOverflowed(), i > 2);
    }
    EXPECT_NE(network->addInput("x", DataType::kFLOAT, dims({1})), nullptr); // A full recorder stops nothing.
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "addInput"), 5);
    small.clear();
    EXPECT_EQ(small.getNbErrors(), 0);
    EXPECT_FALSE(small.hasOverflowed());
    EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    EXPECT_EQ(small.getNbErrors(), 1);
    EXPECT_NE(std::string{small.getErrorDesc(0)}.find("the name of a network input is null"), std::string::npos);
    network->setErrorRecorder(nullptr);
}

TEST_F(Errors, B4_descriptionsFitTheLimitAndEndWithAZero)
{
    network->setErrorRecorder(&recorder);
    std::string const name(4000, 'n');
    EXPECT_EQ(network->addInput(name.c_str(), DataType::kFLOAT, dims({-2})), nullptr);
    ASSERT_EQ(recorder.getNbErrors(), 1);
    std::string const description = recorder.getErrorDesc(0);
    EXPECT_LE(description.size(), size_t{IErrorRecorder::kMAX_DESC_LENGTH});
    EXPECT_NE(description.find("INetworkDefinition::addInput"), std::string::npos) << description;
    EXPECT_NE(description.find("is below -1"), std::string::npos) << description; // The cause, at the end.
    network->setErrorRecorder(nullptr);
}

TEST_F(Errors, B5_indicesOutOfRangeAnswerUnspecified)
{
    network->setErrorRecorder(&recorder);
    EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    IErrorRecorder const& asked = *network->getErrorRecorder();
    EXPECT_EQ(asked.getErrorCode(0), ErrorCode::kINVALID_ARGUMENT);
    for (int32_t const index : {-1, 1, 7})
    {
        EXPECT_EQ(asked.getErrorCode(index), ErrorCode::kUNSPECIFIED_ERROR);
        EXPECT_STREQ(asked.getErrorDesc(index), "");
    }
    network->setErrorRecorder(nullptr);
}

TEST_F(Errors, B7_childrenReportToTheLoggerOfTheirOwnParentAsLongAsTheyLive)
{
    KeepingLogger other;
    std::unique_ptr<IBuilder> otherBuilder{createInferBuilder(other)};
    std::unique_ptr<IRuntime> otherRuntime{createInferRuntime(other)};
    EXPECT_EQ(builder->getLogger(), &logger);
    EXPECT_EQ(runtime->getLogger(), &logger);
    EXPECT_EQ(otherBuilder->getLogger(), &other);
    EXPECT_EQ(otherRuntime->getLogger(), &other);
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    std::unique_ptr<INetworkDefinition> const child{otherBuilder->createNetworkV2(0)};
    std::unique_ptr<ICudaEngine> engine{otherRuntime->deserializeCudaEngine(plan->data(), plan->size())};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    otherBuilder.reset();
    otherRuntime.reset();
    EXPECT_EQ(child->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    EXPECT_EQ(engine->getIOTensorName(17), nullptr);
    engine.reset();
    EXPECT_FALSE(context->setInputShape("nobody", dims({1})));
    EXPECT_EQ(other.count(ILogger::Severity::kERROR), 3) << other.errors();
    EXPECT_EQ(other.count(ILogger::Severity::kERROR, "addInput"), 1);
    EXPECT_EQ(other.count(ILogger::Severity::kERROR, "getIOTensorName"), 1);
    EXPECT_EQ(other.count(ILogger::Severity::kERROR, "setInputShape"), 1);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 0) << logger.errors();
    EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({1})), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 1);
    EXPECT_EQ(other.count(ILogger::Severity::kERROR), 3);
}

//! An allocator that has nothing left.
class EmptyAllocator final : public IGpuAllocator
{
  public:
    void* allocate(uint64_t, uint64_t, AllocatorFlags) noexcept override
    {
        return nullptr;
    }
    bool deallocate(void*) noexcept override
    {
        return true;
    }
};

TEST_F(Errors, B8_codesTellWhatKindOfMistakeItWas)
{
    network->setErrorRecorder(&recorder);
    EXPECT_EQ(network->addInput("x", static_cast<DataType>(77), dims({1})), nullptr);
    EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr); // No output.
    EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_CONFIG);
    builder->setErrorRecorder(&recorder);
    config->setDLACore(1);
    builder->setErrorRecorder(nullptr);
    EXPECT_EQ(recorder.last(), ErrorCode::kUNSUPPORTED_STATE);
    EXPECT_NE(std::string{recorder.getErrorDesc(2)}.find("there is no DLA core 1"), std::string::npos);
    EXPECT_EQ(recorder.getNbErrors(), 3);
    network->setErrorRecorder(nullptr);
}

TEST_F(Errors, B8_codesOfRuns)
{
    // softmax(x) · 1ᵀ·x keeps an activation, so that a context needs memory.
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({8, 8}));
    ISoftMaxLayer* soft = network->addSoftMax(*x);
    soft->setAxes(2);
    ITensor* y = network->addMatrixMultiply(*soft->getOutput(0), MatrixOperation::kNONE, *x, MatrixOperation::kNONE)
                     ->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr);
    runtime->setErrorRecorder(&recorder);
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_GT(engine->getDeviceMemorySizeV2(), 0);
    {
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        EXPECT_FALSE(context->enqueueV3(stream())); // A call out of sequence: no address is set.
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_STATE);
        context->setDeviceMemoryV2(nullptr, 0); // The context owns its memory.
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_STATE);
    }
    EmptyAllocator empty;
    runtime->setGpuAllocator(&empty);
    std::unique_ptr<ICudaEngine> const poor{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    if (poor != nullptr)
    {
        EXPECT_EQ(poor->createExecutionContext(), nullptr);
    }
    EXPECT_EQ(recorder.last(), ErrorCode::kFAILED_ALLOCATION);
    runtime->setErrorRecorder(nullptr);
    // kFAILED_EXECUTION: data_dependent_test.cpp, S11.
}

TEST_F(Errors, B8_inputsThatContradictEachOtherAreAConfiguration)
{
    for (bool const isNamed : {false, true})
    {
        network.reset(builder->createNetworkV2(0));
        config.reset(builder->createBuilderConfig());
        ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({-1, 2}));
        ITensor* const other = network->addInput("other", DataType::kFLOAT, dims({-1, 2}));
        if (isNamed)
        {
            x->setDimensionName(0, "batch");
            other->setDimensionName(0, "batch");
        }
        network->markOutput(*network->addElementWise(*x, *other, ElementWiseOperation::kSUM)->getOutput(0));
        network->getOutput(0)->setName("y");
        IOptimizationProfile* const profile = builder->createOptimizationProfile();
        for (char const* name : {"x", "other"})
        {
            profile->setDimensions(name, OptProfileSelector::kMIN, dims({2, 2}));
            profile->setDimensions(name, OptProfileSelector::kOPT, dims({2, 2}));
            profile->setDimensions(name, OptProfileSelector::kMAX, dims({4, 2}));
        }
        config->addOptimizationProfile(profile);
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        context->setErrorRecorder(&recorder);
        recorder.clear();
        DeviceArray<float> const in{randomFloats(8, 1)};
        std::vector<float> const before = randomFloats(8, 2);
        DeviceArray<float> const out{before};
        EXPECT_TRUE(context->setInputShape("x", dims({3, 2})) && context->setInputShape("other", dims({4, 2})));
        for (char const* name : {"x", "other"})
            EXPECT_TRUE(context->setInputTensorAddress(name, in.data()));
        EXPECT_TRUE(context->setOutputTensorAddress("y", out.data()));
        EXPECT_FALSE(context->enqueueV3(stream()));
        EXPECT_EQ(recorder.getNbErrors(), 1);
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_CONFIG) << recorder.getErrorDesc(0);
        EXPECT_EQ(out.read(), before) << "a run that is refused leaves its outputs alone";
        context->setErrorRecorder(nullptr);
    }
}

TEST_F(Errors, B8_codesOfTheCallsOfAContext)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    context->setErrorRecorder(&recorder);
    DeviceArray<float> const x{randomFloats(4 * 3 * 16 * 10, 2)};
    void* const nothing[]{nullptr, nullptr};
    struct Mistake
    {
        char const* call;
        std::function<bool()> make; //!< Whether it succeeded.
        ErrorCode code;
    };
    auto const argument = ErrorCode::kINVALID_ARGUMENT;
    auto const state = ErrorCode::kINVALID_STATE;
    std::vector<Mistake> const mistakes{
        {"setInputShape", [&] { return context->setInputShape("nobody", dims({1})); }, argument},
        {"setInputShape",
            [&] {
                return context->setInputShape("x", dims({9, 3, 8, 10}));
            },
            argument},
        {"getTensorShape", [&] { return context->getTensorShape("nobody").nbDims >= 0; }, argument},
        {"getTensorStrides", [&] { return context->getTensorStrides(nullptr).nbDims >= 0; }, argument},
        {"setTensorAddress", [&] { return context->setTensorAddress("nobody", x.data()); }, argument},
        {"setInputTensorAddress", [&] { return context->setInputTensorAddress("y", x.data()); }, argument},
        {"setOutputTensorAddress", [&] { return context->setOutputTensorAddress("x", x.data()); }, argument},
        {"setOutputAllocator", [&] { return context->setOutputAllocator("x", nullptr); }, argument},
        {"setOptimizationProfileAsync", [&] { return context->setOptimizationProfileAsync(3, stream()); }, argument},
        {"inferShapes", [&] { return context->inferShapes(2, nullptr) >= 0; }, argument},
        {"executeV2", [&] { return context->executeV2(nullptr); }, argument},
        {"setTensorDebugState", [&] { return context->setTensorDebugState("y", true); }, argument},
        {"setNvtxVerbosity", [&] { return context->setNvtxVerbosity(ProfilingVerbosity::kDETAILED); }, argument},
        {"enqueueV3", [&] { return context->enqueueV3(stream()); }, state},
        {"executeV2", [&] { return context->executeV2(nothing); }, state},
        {"updateDeviceMemorySizeForShapes", [&] { return context->updateDeviceMemorySizeForShapes() > 0; }, state},
        {"reportToProfiler", [&] { return context->reportToProfiler(); }, state},
        {"setUnfusedTensorsDebugState", [&] { return context->setUnfusedTensorsDebugState(true); }, state},
    };
    for (Mistake const& each : mistakes)
    {
        int32_t const before = recorder.getNbErrors();
        EXPECT_FALSE(each.make()) << each.call;
        EXPECT_EQ(recorder.getNbErrors(), before + 1) << each.call; // Once, where it was made.
        EXPECT_EQ(recorder.last(), each.code) << each.call;
        EXPECT_NE(
            std::string{recorder.getErrorDesc(before)}.find(std::string{each.call}.substr(0, 20)), std::string::npos)
            << recorder.getErrorDesc(before);
    }
    runAndCompare(*context, 2, 9, 5); // None of them has changed anything.
    context->setErrorRecorder(nullptr);
}

TEST_F(Errors, B9_setMaxThreadsRefusesLessThanOneAndAnswersOneUntilSet)
{
    builder->setErrorRecorder(&recorder);
    runtime->setErrorRecorder(&recorder);
    EXPECT_EQ(builder->getMaxThreads(), 1);
    EXPECT_EQ(runtime->getMaxThreads(), 1);
    EXPECT_FALSE(builder->setMaxThreads(0));
    EXPECT_FALSE(runtime->setMaxThreads(-3));
    EXPECT_EQ(recorder.getNbErrors(), 2);
    EXPECT_EQ(recorder.getErrorCode(0), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_EQ(recorder.getErrorCode(1), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_TRUE(builder->setMaxThreads(2));
    EXPECT_TRUE(runtime->setMaxThreads(2));
    EXPECT_FALSE(builder->setMaxThreads(INT32_MIN));
    EXPECT_FALSE(runtime->setMaxThreads(0));
    EXPECT_EQ(builder->getMaxThreads(), 2) << "what is refused changes nothing";
    EXPECT_EQ(runtime->getMaxThreads(), 2);
    config->setFlag(BuilderFlag::kREFIT);
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IRefitter> const refitter{createInferRefitter(*engine, logger)};
    ASSERT_NE(refitter, nullptr);
    KeepingRecorder ofRefitter;
    refitter->setErrorRecorder(&ofRefitter);
    EXPECT_EQ(refitter->getMaxThreads(), 1);
    EXPECT_FALSE(refitter->setMaxThreads(0));
    EXPECT_EQ(ofRefitter.getNbErrors(), 1);
    EXPECT_EQ(ofRefitter.last(), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_TRUE(refitter->setMaxThreads(3));
    EXPECT_FALSE(refitter->setMaxThreads(-1));
    EXPECT_EQ(refitter->getMaxThreads(), 3);
    refitter->setErrorRecorder(nullptr);
    builder->setErrorRecorder(nullptr);
    runtime->setErrorRecorder(nullptr);
}

} // namespace apitest
