// Rules G: builder and configuration.
#include "fixture.h"

#include <cstring>
#include <map>
#include <set>
#include <thread>

#include <unistd.h>

namespace apitest
{

class BuilderRules : public ApiTest
{
};

TEST_F(BuilderRules, G1_flagsReplaceAddAndRemove)
{
    EXPECT_TRUE(config->getFlag(BuilderFlag::kTF32));
    config->setFlags(1U << static_cast<uint32_t>(BuilderFlag::kDEBUG));
    EXPECT_FALSE(config->getFlag(BuilderFlag::kTF32));
    EXPECT_TRUE(config->getFlag(BuilderFlag::kDEBUG));
    config->setFlag(BuilderFlag::kSTRICT_NANS);
    EXPECT_TRUE(config->getFlag(BuilderFlag::kDEBUG));
    config->clearFlag(BuilderFlag::kDEBUG);
    EXPECT_EQ(config->getFlags(), 1U << static_cast<uint32_t>(BuilderFlag::kSTRICT_NANS));
}

//! G2's defaults.
void expectDefaults(IBuilderConfig& config)
{
    EXPECT_EQ(config.getBuilderOptimizationLevel(), 3);
    EXPECT_EQ(config.getAvgTimingIterations(), 1);
    EXPECT_EQ(config.getMaxNbTactics(), -1);
    EXPECT_EQ(config.getMaxAuxStreams(), -1);
    EXPECT_EQ(config.getProfilingVerbosity(), ProfilingVerbosity::kLAYER_NAMES_ONLY);
    EXPECT_EQ(config.getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kNONE);
    EXPECT_EQ(config.getTilingOptimizationLevel(), TilingOptimizationLevel::kNONE);
    EXPECT_EQ(config.getRuntimePlatform(), RuntimePlatform::kSAME_AS_BUILD);
    EXPECT_EQ(config.getEngineCapability(), EngineCapability::kSTANDARD);
    EXPECT_EQ(config.getProfileStream(), nullptr);
    EXPECT_EQ(config.getProgressMonitor(), nullptr);
    EXPECT_EQ(config.getNbOptimizationProfiles(), 0);
    EXPECT_TRUE(config.getFlag(BuilderFlag::kTF32));
    EXPECT_EQ(config.getFlags(), 1U << static_cast<uint32_t>(BuilderFlag::kTF32));
    EXPECT_EQ(config.getTacticSources(), 24U) << "rule G5: the edge mask and JIT";
    EXPECT_EQ(config.getQuantizationFlags(), 0U);
    EXPECT_EQ(config.getDefaultDeviceType(), DeviceType::kGPU);
    EXPECT_EQ(config.getDLACore(), -1);
    EXPECT_EQ(config.getInt8Calibrator(), nullptr);
    EXPECT_EQ(config.getCalibrationProfile(), nullptr);
    EXPECT_EQ(config.getAlgorithmSelector(), nullptr);
    EXPECT_EQ(config.getTimingCache(), nullptr);
    EXPECT_EQ(config.getNbPluginsToSerialize(), 0);
    EXPECT_EQ(config.getL2LimitForTiling(), -1);
    for (int32_t feature = 0; feature < EnumMax<PreviewFeature>(); ++feature)
        EXPECT_EQ(config.getPreviewFeature(static_cast<PreviewFeature>(feature)),
            static_cast<PreviewFeature>(feature) == PreviewFeature::kPROFILE_SHARING_0806)
            << feature;
}

//! Limits of all pools.
std::vector<size_t> poolLimits(IBuilderConfig const& config)
{
    std::vector<size_t> limits;
    for (int32_t pool = 0; pool < EnumMax<MemoryPoolType>(); ++pool)
        limits.push_back(config.getMemoryPoolLimit(static_cast<MemoryPoolType>(pool)));
    return limits;
}

struct NoCalibrator final : IInt8EntropyCalibrator2
{
    int32_t getBatchSize() const noexcept override
    {
        return 1;
    }
    bool getBatch(void**, char const**, int32_t) noexcept override
    {
        return false;
    }
    void const* readCalibrationCache(size_t&) noexcept override
    {
        return nullptr;
    }
    void writeCalibrationCache(void const*, size_t) noexcept override {}
};

TEST_F(BuilderRules, G2_defaults)
{
    expectDefaults(*config);
    config->setBuilderOptimizationLevel(9);
    EXPECT_EQ(config->getBuilderOptimizationLevel(), 5);
}

TEST_F(BuilderRules, G4_poolLimitsThatDoNotFitChangeNothing)
{
    KeepingRecorder recorder;
    builder->setErrorRecorder(&recorder);
    size_t const standard = config->getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
    EXPECT_EQ(standard, static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
    config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, SIZE_MAX / 2);
    EXPECT_EQ(recorder.getErrorCode(0), ErrorCode::kUNSUPPORTED_STATE);
    EXPECT_EQ(config->getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), standard);
    size_t const dram = config->getMemoryPoolLimit(MemoryPoolType::kDLA_LOCAL_DRAM);
    config->setMemoryPoolLimit(MemoryPoolType::kDLA_LOCAL_DRAM, 16);
    EXPECT_EQ(recorder.getErrorCode(1), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_EQ(config->getMemoryPoolLimit(MemoryPoolType::kDLA_LOCAL_DRAM), dram);
    config->setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, size_t{1} << 26);
    EXPECT_EQ(config->getMemoryPoolLimit(MemoryPoolType::kWORKSPACE), size_t{1} << 26);
    builder->setErrorRecorder(nullptr);
}

//! Takes bytes until `most`, then fails.
class LimitedWriter final : public IStreamWriter
{
  public:
    explicit LimitedWriter(size_t most)
        : mMost{most}
    {
    }
    int64_t write(void const* data, int64_t count) final
    {
        auto const* first = static_cast<uint8_t const*>(data);
        size_t const taken = std::min(static_cast<size_t>(count), mMost - bytes.size());
        bytes.insert(bytes.end(), first, first + taken);
        return static_cast<int64_t>(taken);
    }
    std::vector<uint8_t> bytes;

  private:
    size_t mMost;
};

//! Keeps nothing and gives one answer.
class AnsweringWriter final : public IStreamWriter
{
  public:
    explicit AnsweringWriter(int64_t answer)
        : mAnswer{answer}
    {
    }
    int64_t write(void const*, int64_t) final
    {
        return mAnswer;
    }

  private:
    int64_t mAnswer;
};

TEST_F(BuilderRules, G4_aPoolThatTheDeviceLacksIsNamedByTheBuild)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
    config->setMemoryPoolLimit(MemoryPoolType::kDLA_LOCAL_DRAM, size_t{1} << 20);
    EXPECT_EQ(config->getMemoryPoolLimit(MemoryPoolType::kDLA_LOCAL_DRAM), size_t{1} << 20);
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(plan, nullptr) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "kDLA_LOCAL_DRAM"), 1);
}

// That they wait for the work of a profile stream that is one of its own: streams_test.cpp.
TEST_F(BuilderRules, G9_buildsAreDoneWithTheProfileStreamWhenTheyReturn)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    config->setProfileStream(stream());
    EXPECT_EQ(config->getProfileStream(), stream());
    std::unique_ptr<ICudaEngine> const serialized = buildEngine();
    config->setProfileStream(reinterpret_cast<cudaStream_t>(uintptr_t{1})); // Stream 0 by its other name.
    std::unique_ptr<ICudaEngine> const built{builder->buildEngineWithConfig(*network, *config)};
    LimitedWriter writer{SIZE_MAX};
    EXPECT_TRUE(builder->buildSerializedNetworkToStream(*network, *config, writer));
    std::unique_ptr<ICudaEngine> const streamed{
        runtime->deserializeCudaEngine(writer.bytes.data(), writer.bytes.size())};
    // Nothing of the builds goes on: the weights that they read may change.
    for (std::vector<float>* values : {&convRelu.kernel, &convRelu.bias})
        std::fill(values->begin(), values->end(), 1e30F);
    std::vector<float> const values = randomFloats(3 * 8 * 10, 3);
    DeviceArray<float> const x{values};
    for (ICudaEngine* engine : {serialized.get(), built.get(), streamed.get()})
    {
        ASSERT_NE(engine, nullptr) << logger.errors();
        DeviceArray<float> const y{size_t{4 * 8 * 10}};
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        ASSERT_TRUE(context->setTensorAddress("x", x.data()));
        ASSERT_TRUE(context->setTensorAddress("y", y.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        expectNear(y.read(), ConvRelu{}.expected(values, 1, 8, 10));
    }
    config->setProfileStream(reinterpret_cast<cudaStream_t>(uintptr_t{1234}));
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_EQ(builder->buildEngineWithConfig(*network, *config), nullptr);
    EXPECT_FALSE(builder->buildSerializedNetworkToStream(*network, *config, writer));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "profile stream: stream 0x4d2"), 3);
}

//! Checks the order of the calls; `cancelAt` is the number of stepComplete calls that are answered with true.
class CheckingMonitor final : public IProgressMonitor
{
  public:
    explicit CheckingMonitor(int32_t cancelAt = INT32_MAX)
        : mCancelAt{cancelAt}
    {
    }
    void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept override
    {
        EXPECT_GT(steps, 0);
        EXPECT_FALSE(mOpen.contains(phase));
        if (parent != nullptr)
        {
            EXPECT_TRUE(mOpen.contains(parent)) << parent;
        }
        mOpen[phase] = -1;
        callers.insert(std::this_thread::get_id());
        ++started;
    }
    bool stepComplete(char const* phase, int32_t step) noexcept override
    {
        EXPECT_TRUE(mOpen.contains(phase));
        EXPECT_GT(step, mOpen[phase]);
        mOpen[phase] = step;
        callers.insert(std::this_thread::get_id());
        return ++steps <= mCancelAt;
    }
    void phaseFinish(char const* phase) noexcept override
    {
        EXPECT_EQ(mOpen.erase(phase), 1U) << phase;
        ++finished;
    }
    int32_t started{0};
    int32_t finished{0};
    int32_t steps{0};
    std::set<std::thread::id> callers;

  private:
    int32_t mCancelAt;
    std::map<std::string, int32_t> mOpen;
};

// Calls "may come from several threads": ours come from the one that builds.
TEST_F(BuilderRules, G11_progressIsToldInOrderAndEveryPhaseFinishes)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    CheckingMonitor monitor;
    config->setProgressMonitor(&monitor);
    EXPECT_EQ(config->getProgressMonitor(), &monitor);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_NE(plan, nullptr);
    EXPECT_GT(monitor.started, 1);
    EXPECT_EQ(monitor.started, monitor.finished);
    EXPECT_GT(monitor.steps, 2);
    EXPECT_EQ(monitor.callers, std::set{std::this_thread::get_id()});
}

TEST_F(BuilderRules, G11_falseFromStepCompleteCancelsTheBuildWhereverItComes)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<IHostMemory> plan;
    int32_t at{0};
    for (; plan == nullptr && at < 1000; ++at) // Until a build ends before it is told: a slow machine has more steps.
    {
        CheckingMonitor monitor{at};
        config->setProgressMonitor(&monitor);
        plan.reset(builder->buildSerializedNetwork(*network, *config));
        EXPECT_EQ(monitor.started, monitor.finished);
        if (plan == nullptr)
            EXPECT_EQ(monitor.steps, at + 1);
        else
            EXPECT_LE(monitor.steps, at) << "it was told to end";
    }
    EXPECT_NE(plan, nullptr);
    EXPECT_GT(at, 10);
    config->setProgressMonitor(nullptr);
    plan.reset(builder->buildSerializedNetwork(*network, *config));
    EXPECT_NE(plan, nullptr);
}

TEST_F(BuilderRules, G3_auxiliaryStreamsAreLimitedFromAbove)
{
    int32_t const before = config->getMaxAuxStreams();
    config->setMaxAuxStreams(-2); // Answers nothing in C++; -1 is the default, which leaves the choice to the build.
    EXPECT_EQ(config->getMaxAuxStreams(), before);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setMaxAuxStreams: -2 is negative"), 1);
    convRelu.add(*network, dims({1, 3, 8, 10}));
    for (int32_t const most : {0, 3})
    {
        config->setMaxAuxStreams(most);
        EXPECT_EQ(config->getMaxAuxStreams(), most);
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        EXPECT_LE(engine->getNbAuxStreams(), most);
    }
}

TEST_F(BuilderRules, G17_resetRestoresEveryDefault)
{
    config->setFlags(0);
    config->setBuilderOptimizationLevel(0);
    config->setAvgTimingIterations(8);
    config->setMaxNbTactics(5);
    config->setMaxAuxStreams(3);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    config->setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS);
    config->setTilingOptimizationLevel(TilingOptimizationLevel::kFULL);
    CheckingMonitor monitor;
    config->setProgressMonitor(&monitor);
    config->addOptimizationProfile(builder->createOptimizationProfile());
    config->setTacticSources(1);
    config->setQuantizationFlag(QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
    config->setDefaultDeviceType(DeviceType::kDLA);
    NoCalibrator calibrator;
    config->setInt8Calibrator(&calibrator);
    config->setCalibrationProfile(builder->createOptimizationProfile());
    std::unique_ptr<ITimingCache> const cache{config->createTimingCache(nullptr, 0)};
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    char const* const library{"/no/such/library.so"};
    config->setPluginsToSerialize(&library, 1);
    config->setL2LimitForTiling(1 << 20);
    config->setRuntimePlatform(RuntimePlatform::kWINDOWS_AMD64);
    config->setProfileStream(stream());
    for (int32_t feature = 0; feature < EnumMax<PreviewFeature>(); ++feature)
        config->setPreviewFeature(static_cast<PreviewFeature>(feature), true);
    convRelu.add(*network, dims({1, 3, 8, 10}));
    config->setDeviceType(network->getLayer(0), DeviceType::kDLA);
    std::unique_ptr<IBuilderConfig> const fresh{builder->createBuilderConfig()};
    for (int32_t pool = 0; pool < EnumMax<MemoryPoolType>(); ++pool)
        config->setMemoryPoolLimit(static_cast<MemoryPoolType>(pool), size_t{1} << 26);
    EXPECT_NE(poolLimits(*config), poolLimits(*fresh));
    EXPECT_EQ(config->getTimingCache(), cache.get());
    EXPECT_EQ(config->getNbPluginsToSerialize(), 1);
    config->reset();
    expectDefaults(*config);
    EXPECT_EQ(poolLimits(*config), poolLimits(*fresh));
    EXPECT_FALSE(config->isDeviceTypeSet(network->getLayer(0)));
}

TEST_F(BuilderRules, G18_networkAndConfigurationOutliveTheirBuilder)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    EXPECT_EQ(&network->getBuilder(), builder.get());
    builder.reset();
    std::unique_ptr<IHostMemory> const plan{network->getBuilder().buildSerializedNetwork(*network, *config)};
    EXPECT_NE(plan, nullptr) << logger.errors();
}

TEST_F(BuilderRules, G10_streamsReceiveTheWholePlanOrTheBuildFails)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    LimitedWriter all{SIZE_MAX};
    ASSERT_TRUE(builder->buildSerializedNetworkToStream(*network, *config, all));
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(all.bytes.data(), all.bytes.size())};
    EXPECT_NE(engine, nullptr);
    LimitedWriter some{all.bytes.size() / 2};
    EXPECT_FALSE(builder->buildSerializedNetworkToStream(*network, *config, some));
    // Negative says that writing failed, whatever was taken; and nobody takes more than there is.
    for (int64_t const answer : {int64_t{-1}, INT64_MIN, static_cast<int64_t>(all.bytes.size()) + 1})
    {
        AnsweringWriter writer{answer};
        EXPECT_FALSE(builder->buildSerializedNetworkToStream(*network, *config, writer)) << answer;
        EXPECT_EQ(
            logger.count(ILogger::Severity::kERROR, "the stream writer took " + std::to_string(answer) + " of"), 1)
            << logger.errors();
    }
}

TEST_F(BuilderRules, informsInAtMostTenLines)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    EXPECT_LE(logger.count(ILogger::Severity::kINFO), 12); // Two of them by the making of builder and runtime.
    EXPECT_GE(logger.count(ILogger::Severity::kINFO, "device"), 1);
    EXPECT_GE(logger.count(ILogger::Severity::kVERBOSE), 1);
}

TEST_F(BuilderRules, aStandardEngineHasNoTextOfKernels)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<IHostMemory> const plain{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plain, nullptr) << logger.errors();
    IHostMemory* text{plain.get()};
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config, text)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    EXPECT_EQ(text, nullptr);
    ASSERT_EQ(plan->size(), plain->size());
    EXPECT_EQ(std::memcmp(plan->data(), plain->data(), plain->size()), 0);
    config->setEngineCapability(EngineCapability::kSAFETY);
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config, text), nullptr);
    EXPECT_EQ(text, nullptr);
    EXPECT_NE(logger.errors().find("kSAFETY"), std::string::npos) << logger.errors();
}

} // namespace apitest
