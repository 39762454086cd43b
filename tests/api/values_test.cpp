// Rules A: values, dims, names, versions, and objects that go with delete.
#include "fixture.h"

namespace apitest
{

class Values : public ApiTest
{
};

TEST_F(Values, A1_invalidDimsHaveRankMinusOneAndExtentsOfZero)
{
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    Dims const unset = profile->getDimensions("x", OptProfileSelector::kMIN);
    EXPECT_EQ(unset.nbDims, -1);
    for (int64_t const extent : unset.d)
        EXPECT_EQ(extent, 0);
}

TEST_F(Values, A2_rankLimitIsEightAndExtentsHave64Bits)
{
    EXPECT_EQ(+Dims::MAX_DIMS, 8);
    ITensor* most = network->addInput("most", DataType::kFLOAT, dims({1, 2, 1, 2, 1, 2, 1, 2}));
    ASSERT_NE(most, nullptr);
    EXPECT_EQ(extents(most->getDimensions()), (std::vector<int64_t>{1, 2, 1, 2, 1, 2, 1, 2}));
    Dims tooMany = most->getDimensions();
    tooMany.nbDims = 9;
    EXPECT_EQ(network->addInput("tooMany", DataType::kFLOAT, tooMany), nullptr);
    int64_t const wide = int64_t{1} << 40;
    ITensor* large = network->addInput("large", DataType::kINT8, dims({wide}));
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(large->getDimensions().d[0], wide);
}

TEST_F(Values, A5_A6_versionIntegersMatchHeaderAndLibrary)
{
    EXPECT_EQ(getInferLibVersion(), 10 * 10000 + 16 * 100 + getInferLibPatchVersion());
    EXPECT_EQ(getInferLibVersion(), NV_TENSORRT_VERSION);
    EXPECT_EQ(getInferLibMajorVersion(), NV_TENSORRT_MAJOR);
    EXPECT_EQ(getInferLibMinorVersion(), NV_TENSORRT_MINOR);
    for (int32_t const accepted : {100000, 100001, 100700, 100900, 101600, 8601})
    {
        std::unique_ptr<IRuntime> const made{static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, accepted))};
        EXPECT_NE(made, nullptr) << accepted;
    }
    for (int32_t const refused : {100800, 101700, 110000, 90300, 7234, 0})
    {
        int32_t const before = logger.count(ILogger::Severity::kERROR, "compile");
        EXPECT_EQ(createInferBuilder_INTERNAL(&logger, refused), nullptr) << refused;
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "compile"), before + 1) << refused;
    }
}

TEST_F(Values, A7_namesAreCopiedAndLimitedTo4096Bytes)
{
    KeepingRecorder recorder;
    network->setErrorRecorder(&recorder);
    std::string name = "input";
    ITensor* x = network->addInput(name.c_str(), DataType::kFLOAT, dims({2}));
    ASSERT_NE(x, nullptr);
    name = "other";
    EXPECT_STREQ(x->getName(), "input");

    std::string const longest(4095, 'n');
    x->setName(longest.c_str());
    EXPECT_EQ(x->getName(), longest);
    ASSERT_EQ(recorder.getNbErrors(), 0);
    std::string const tooLong(4096, 'n');
    x->setName(tooLong.c_str());
    EXPECT_EQ(recorder.getNbErrors(), 1);
    x->setName(nullptr);
    EXPECT_EQ(recorder.getNbErrors(), 2);
    EXPECT_EQ(recorder.getErrorCode(1), ErrorCode::kINVALID_ARGUMENT);
    EXPECT_EQ(x->getName(), longest);
    EXPECT_EQ(network->addInput(nullptr, DataType::kFLOAT, dims({2})), nullptr);

    ILayer* layer = network->addUnary(*x, UnaryOperation::kEXP);
    layer->setName("exp");
    layer->setName(tooLong.c_str());
    EXPECT_STREQ(layer->getName(), "exp");
    network->setName("net");
    network->setName(nullptr);
    EXPECT_STREQ(network->getName(), "net");
    EXPECT_EQ(recorder.getNbErrors(), 5);
    network->setErrorRecorder(nullptr);
}

TEST_F(Values, A9_objectsGoWithDeleteInAnyOrder)
{
    std::unique_ptr<ICudaEngine> engine = dynamicEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext()};
    builder.reset(); // Parents first.
    runtime.reset();
    engine.reset();
    runAndCompare(*context, 2, 8, 4);
    EXPECT_EQ(context->getEngine().getNbIOTensors(), 2);
    context.reset();
    network.reset();
    config.reset();
}

TEST_F(Values, A10_enumeratorsAreToldApartByNameNotByTheNumbersOf8)
{
    config->setFlag(BuilderFlag::kREFIT);
    EXPECT_TRUE(config->getFlag(BuilderFlag::kREFIT));
    EXPECT_FALSE(config->getFlag(BuilderFlag::kSTRICT_TYPES));
    EXPECT_NE(static_cast<int32_t>(LayerType::kFULLY_CONNECTED), static_cast<int32_t>(LayerType::kCAST));
}

} // namespace apitest
