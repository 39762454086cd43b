// Options of a build: what cannot be given is refused or named, and flags that do not exist are reported.
#include "fixture.h"

#include <cmath>
#include <functional>
#include <limits>

namespace apitest
{

class BuildOptions : public ApiTest
{
  protected:
    void SetUp() override
    {
        convRelu.add(*network, dims({1, 3, 8, 10}));
    }
    //! Whether a plan came of it; the messages of this build alone are kept.
    bool builds(std::function<void(IBuilderConfig&)> const& choose)
    {
        config->reset();
        choose(*config);
        logger.messages.clear();
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        return plan != nullptr;
    }
    //! The build goes on, and one warning names the option and says what happens instead.
    void expectNamed(
        std::string const& name, std::string const& why, std::function<void(IBuilderConfig&)> const& choose)
    {
        SCOPED_TRACE(name);
        EXPECT_TRUE(builds(choose)) << logger.errors();
        EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 1);
        EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, name), 1);
        EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, why), 1);
    }
    void expectNamed(std::string const& name, std::string const& why, BuilderFlag flag)
    {
        expectNamed(name, why, [flag](IBuilderConfig& chosen) { chosen.setFlag(flag); });
    }
    void expectRefused(std::string const& name, std::function<void(IBuilderConfig&)> const& choose)
    {
        SCOPED_TRACE(name);
        EXPECT_FALSE(builds(choose));
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 1) << logger.errors();
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, name), 1) << logger.errors();
    }
};

TEST_F(BuildOptions, plansOfAnotherKindAreNotBuilt)
{
    expectRefused("kSAFETY", [](IBuilderConfig& c) { c.setEngineCapability(EngineCapability::kSAFETY); });
    expectRefused(
        "kDLA_STANDALONE", [](IBuilderConfig& c) { c.setEngineCapability(EngineCapability::kDLA_STANDALONE); });
    expectRefused("kSAFETY_SCOPE", [](IBuilderConfig& c) { c.setFlag(BuilderFlag::kSAFETY_SCOPE); });
    expectRefused("kWINDOWS_AMD64", [](IBuilderConfig& c) { c.setRuntimePlatform(RuntimePlatform::kWINDOWS_AMD64); });
    expectRefused("setDefaultDeviceType(kDLA)", [](IBuilderConfig& c) { c.setDefaultDeviceType(DeviceType::kDLA); });
    expectRefused(
        "setDeviceType(kDLA)", [&](IBuilderConfig& c) { c.setDeviceType(network->getLayer(0), DeviceType::kDLA); });
    expectNamed("kDLA", "kGPU_FALLBACK", [](IBuilderConfig& c) {
        c.setDefaultDeviceType(DeviceType::kDLA);
        c.setFlag(BuilderFlag::kGPU_FALLBACK);
    });
}

TEST_F(BuildOptions, G19_pluginLibrariesThatCannotBeStoredAreNamed)
{
    for (std::string const& path : {std::string{"/proc/self/status"}, std::string{"/no/such/library.so"}})
    {
        char const* const paths[]{path.c_str()};
        expectRefused(path, [&](IBuilderConfig& c) { c.setPluginsToSerialize(paths, 1); });
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "there is no library"), 1);
    char const* const twice[]{"a.so", "a.so"};
    config->setPluginsToSerialize(twice, 2);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "named twice"), 1);
}

//! Plans are data, and say which API and format they need: there is nothing to add for other versions of it (G14).
TEST_F(BuildOptions, G8_G14_versionCompatibleIsForPlans)
{
    config->setFlag(BuilderFlag::kEXCLUDE_LEAN_RUNTIME);
    EXPECT_NE(buildEngine(), nullptr);
    config->setFlag(BuilderFlag::kVERSION_COMPATIBLE);
    EXPECT_NE(buildEngine(), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
    std::unique_ptr<ICudaEngine> const engine{builder->buildEngineWithConfig(*network, *config)};
    EXPECT_EQ(engine, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the flag is for plans"), 1);
}

TEST_F(BuildOptions, kernelsAreMeasuredHere)
{
    EXPECT_STREQ(config->getRemoteAutoTuningConfig(), "");
    EXPECT_TRUE(config->setRemoteAutoTuningConfig(""));
    EXPECT_FALSE(config->setRemoteAutoTuningConfig("host=elsewhere"));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "on this machine alone"), 1);
    EXPECT_STREQ(config->getRemoteAutoTuningConfig(), "");
}

TEST_F(BuildOptions, whatIsNotThereYetSaysWhatHappensInstead)
{
    expectNamed("kFP16", "only custom layers are offered the reduced ones", BuilderFlag::kFP16);
    expectNamed("kINT8", "compute in the types that the network gives them", BuilderFlag::kINT8);
    expectNamed("kMONITOR_MEMORY", "not monitored", BuilderFlag::kMONITOR_MEMORY);
}

TEST_F(BuildOptions, whatHasNoMeaningOnTheCpuSaysWhy)
{
    expectNamed("kTACTIC_DRAM", "no effect",
        [](IBuilderConfig& c) { c.setMemoryPoolLimit(MemoryPoolType::kTACTIC_DRAM, size_t{1} << 20); });
    expectNamed("setHardwareCompatibilityLevel", "GPUs",
        [](IBuilderConfig& c) { c.setHardwareCompatibilityLevel(HardwareCompatibilityLevel::kAMPERE_PLUS); });
    EXPECT_TRUE(builds([](IBuilderConfig& c) { c.setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, size_t{1} << 20); }));
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0) << "nearly every program sets the workspace";
    EXPECT_EQ(logger.count(ILogger::Severity::kINFO, "kWORKSPACE"), 1);
}

TEST_F(BuildOptions, G12_individualRefittingExcludesTheOtherKinds)
{
    for (BuilderFlag const other : {BuilderFlag::kREFIT, BuilderFlag::kREFIT_IDENTICAL})
        expectRefused("kREFIT_INDIVIDUAL", [other](IBuilderConfig& c) {
            c.setFlag(BuilderFlag::kREFIT_INDIVIDUAL);
            c.setFlag(other);
        });
}

//! kSTRICT_NANS holds with and without the flag: no rule of the optimizer takes x·0, x − x or x/x for a constant.
TEST_F(ApiTest, G15_nansFlowThrough)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({3}));
    float const zero{0.0F};
    ITensor* zeros = network->addConstant(dims({1}), Weights{DataType::kFLOAT, &zero, 1})->getOutput(0);
    ITensor* results[]{network->addElementWise(*x, *zeros, ElementWiseOperation::kPROD)->getOutput(0),
        network->addElementWise(*x, *x, ElementWiseOperation::kSUB)->getOutput(0),
        network->addElementWise(*x, *x, ElementWiseOperation::kDIV)->getOutput(0)};
    for (ITensor* result : results)
        network->markOutput(*result);
    config->setFlag(BuilderFlag::kSTRICT_NANS);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    constexpr float kInfinity{std::numeric_limits<float>::infinity()};
    DeviceArray<float> const in{std::vector<float>{kInfinity, std::nanf(""), 2.0F}};
    ASSERT_TRUE(context->setTensorAddress("x", in.data()));
    std::vector<DeviceArray<float>> outs;
    outs.reserve(3);
    for (ITensor* result : results)
    {
        outs.emplace_back(size_t{3});
        ASSERT_TRUE(context->setTensorAddress(result->getName(), outs.back().data()));
    }
    ASSERT_TRUE(context->enqueueV3(stream()));
    for (DeviceArray<float> const& out : outs)
    {
        std::vector<float> const y = out.read();
        EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
        EXPECT_FALSE(std::isnan(y[2]));
    }
}

TEST_F(BuildOptions, flagsThatDoNotExistAreReportedAndIgnored)
{
    auto reported = [&, before = 0]() mutable {
        int32_t const now = logger.count(ILogger::Severity::kERROR, "not exist");
        return now - std::exchange(before, now);
    };
    uint32_t const flags = config->getFlags();
    for (int32_t const number : {77, 29, 64 + 4, -1, INT32_MAX})
    {
        auto const flag = static_cast<BuilderFlag>(number);
        config->setFlag(flag);
        config->clearFlag(flag);
        EXPECT_FALSE(config->getFlag(flag));
        EXPECT_EQ(reported(), 3) << number;
        config->setQuantizationFlag(static_cast<QuantizationFlag>(number));
        config->clearQuantizationFlag(static_cast<QuantizationFlag>(number));
        EXPECT_FALSE(config->getQuantizationFlag(static_cast<QuantizationFlag>(number)));
        EXPECT_EQ(reported(), 3) << number;
        config->setPreviewFeature(static_cast<PreviewFeature>(number), true);
        EXPECT_FALSE(config->getPreviewFeature(static_cast<PreviewFeature>(number)));
        EXPECT_EQ(reported(), 2) << number;
        EXPECT_FALSE(network->getFlag(static_cast<NetworkDefinitionCreationFlag>(number)));
        EXPECT_EQ(reported(), 1) << number;
    }
    EXPECT_EQ(config->getFlags(), flags);
    EXPECT_EQ(config->getQuantizationFlags(), 0U);
    config->setFlags((1U << 29) | (1U << static_cast<uint32_t>(BuilderFlag::kDEBUG)));
    EXPECT_EQ(config->getFlags(), 1U << static_cast<uint32_t>(BuilderFlag::kDEBUG));
    config->setQuantizationFlags(0x80U);
    EXPECT_EQ(config->getQuantizationFlags(), 0U);
    std::unique_ptr<INetworkDefinition> const other{builder->createNetworkV2(1U << 9)};
    EXPECT_EQ(other->getFlags(), 0U);
    runtime->setTempfileControlFlags(0xF0U);
    EXPECT_EQ(runtime->getTempfileControlFlags(), 0U);
    EXPECT_EQ(reported(), 4);
}

TEST_F(BuildOptions, C18_aNetworkAnswersTheFlagsItWasMadeWith)
{
    using Flag = NetworkDefinitionCreationFlag;
    uint32_t const typed = 1U << static_cast<uint32_t>(Flag::kSTRONGLY_TYPED);
    uint32_t const explicitBatch = 1U << static_cast<uint32_t>(Flag::kEXPLICIT_BATCH);
    for (uint32_t const flags : {0U, typed, explicitBatch, typed | explicitBatch})
    {
        std::unique_ptr<INetworkDefinition> const made{builder->createNetworkV2(flags)};
        EXPECT_EQ(made->getFlags(), flags);
        EXPECT_EQ(made->getFlag(Flag::kSTRONGLY_TYPED), (flags & typed) != 0);
        EXPECT_EQ(made->getFlag(Flag::kEXPLICIT_BATCH), (flags & explicitBatch) != 0);
    }
    std::unique_ptr<INetworkDefinition> const ofEight{builder->createNetworkV2(impl::kCOMPAT_8_NETWORK | typed)};
    EXPECT_EQ(ofEight->getFlags(), typed) << "what the headers of another generation add is no flag";
}

TEST_F(BuildOptions, G5_sourcesThatDoNotExistChangeNothing)
{
    constexpr auto bitOf = [](TacticSource source) { return 1U << static_cast<uint32_t>(source); };
    uint32_t const usual = bitOf(TacticSource::kEDGE_MASK_CONVOLUTIONS) | bitOf(TacticSource::kJIT_CONVOLUTIONS);
    EXPECT_EQ(usual, 24U);
    EXPECT_EQ(config->getTacticSources(), usual);
    EXPECT_FALSE(config->setTacticSources(1U << 5));
    EXPECT_FALSE(config->setTacticSources(~0U));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setTacticSources"), 2) << logger.errors();
    EXPECT_EQ(config->getTacticSources(), usual);
    EXPECT_TRUE(config->setTacticSources(bitOf(TacticSource::kCUBLAS)));
    EXPECT_EQ(config->getTacticSources(), bitOf(TacticSource::kCUBLAS));
    EXPECT_TRUE(config->setTacticSources(0));
    EXPECT_EQ(config->getTacticSources(), 0U);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(engine->getTacticSources(), 0U) << "none of those libraries takes part";
    config->reset();
    EXPECT_EQ(config->getTacticSources(), usual);
}

TEST_F(BuildOptions, G7_whatBuildsIsSupportedAndWhatIsNotSupportedDoesNotBuild)
{
    EXPECT_TRUE(builder->isNetworkSupported(*network, *config)) << logger.errors();
    EXPECT_TRUE(builds([](IBuilderConfig&) {})) << logger.errors();
    IElementWiseLayer* const sum = network->addElementWise(
        *network->getInput(0), *network->getLayer(1)->getOutput(0), ElementWiseOperation::kSUM); // 3 and 4 channels.
    network->markOutput(*sum->getOutput(0));
    EXPECT_FALSE(builder->isNetworkSupported(*network, *config));
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "isNetworkSupported"), 1) << logger.errors();
    EXPECT_FALSE(builds([](IBuilderConfig&) {}));
}

TEST_F(BuildOptions, valuesThatDoNotExistChangeNothing)
{
    config->setEngineCapability(static_cast<EngineCapability>(7));
    config->setDefaultDeviceType(static_cast<DeviceType>(-2));
    config->setProfilingVerbosity(static_cast<ProfilingVerbosity>(9));
    config->setHardwareCompatibilityLevel(static_cast<HardwareCompatibilityLevel>(33));
    config->setRuntimePlatform(static_cast<RuntimePlatform>(4));
    EXPECT_FALSE(config->setTilingOptimizationLevel(static_cast<TilingOptimizationLevel>(5)));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "does not exist"), 6);
    EXPECT_EQ(config->getEngineCapability(), EngineCapability::kSTANDARD);
    EXPECT_EQ(config->getDefaultDeviceType(), DeviceType::kGPU);
    EXPECT_EQ(config->getProfilingVerbosity(), ProfilingVerbosity::kLAYER_NAMES_ONLY);
    EXPECT_EQ(config->getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kNONE);
    EXPECT_EQ(config->getRuntimePlatform(), RuntimePlatform::kSAME_AS_BUILD);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::unique_ptr<ISerializationConfig> const serialization{engine->createSerializationConfig()};
    EXPECT_FALSE(serialization->setFlag(static_cast<SerializationFlag>(77)));
    EXPECT_FALSE(serialization->clearFlag(static_cast<SerializationFlag>(-1)));
    EXPECT_FALSE(serialization->getFlag(static_cast<SerializationFlag>(32)));
    EXPECT_EQ(serialization->getFlags(), 0U);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "ISerializationConfig"), 3);
}

} // namespace apitest
