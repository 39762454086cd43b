// Rules A: values, dims, names, versions, and objects that go with delete.
#include "fixture.h"

#include <set>

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
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (Dims const& invalid : {engine->getTensorShape("nobody"), context->getTensorShape("nobody"),
             context->getTensorStrides("x"), engine->getProfileShape("y", 0, OptProfileSelector::kMIN)})
    {
        EXPECT_EQ(invalid.nbDims, -1);
        EXPECT_EQ(std::count(invalid.d, invalid.d + Dims::MAX_DIMS, 0), +Dims::MAX_DIMS);
    }
}

TEST_F(Values, A1_unknownRankIsToldApartFromInvalid)
{
    Dims const invalid{-1, {}};
    Dims const unknown{-1, {-1, -1, -1, -1, -1, -1, -1, -1}};
    EXPECT_EQ(network->addInput("invalid", DataType::kFLOAT, invalid), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "input 'invalid': the dimensions are invalid"), 1);
    EXPECT_EQ(network->addInput("unknown", DataType::kFLOAT, unknown), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "input 'unknown': the rank is unknown"), 1);
    EXPECT_EQ(network->getNbInputs(), 0);
    // What is stored comes back as it was given.
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 3}));
    IShuffleLayer* shuffle = network->addShuffle(*x);
    for (Dims const& given : {unknown, invalid})
    {
        shuffle->setReshapeDimensions(given);
        Dims const kept = shuffle->getReshapeDimensions();
        EXPECT_EQ(kept.nbDims, -1);
        EXPECT_TRUE(std::equal(kept.d, kept.d + Dims::MAX_DIMS, given.d));
    }
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
        EXPECT_EQ(createInferRuntime_INTERNAL(&logger, refused), nullptr) << refused;
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "compile"), before + 2) << refused;
    }
    config->setFlag(BuilderFlag::kREFIT);
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IRefitter> const made{
        static_cast<IRefitter*>(createInferRefitter_INTERNAL(engine.get(), &logger, 101600))};
    EXPECT_NE(made, nullptr) << logger.errors();
    int32_t const before = logger.count(ILogger::Severity::kERROR, "compile");
    EXPECT_EQ(createInferRefitter_INTERNAL(engine.get(), &logger, 110000), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "compile"), before + 1);
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
    std::string dimension = "batch";
    x->setDimensionName(0, dimension.c_str());
    dimension = "other";
    EXPECT_STREQ(x->getDimensionName(0), "batch");
    x->setDimensionName(0, tooLong.c_str()); // Null clears a dimension's name (rule C11).
    EXPECT_STREQ(x->getDimensionName(0), "batch");
    x->setDimensionName(0, longest.c_str());
    EXPECT_EQ(x->getDimensionName(0), longest);
    EXPECT_EQ(recorder.getNbErrors(), 6);
    for (int32_t i = 0; i < recorder.getNbErrors(); ++i)
        EXPECT_EQ(recorder.getErrorCode(i), ErrorCode::kINVALID_ARGUMENT);
    network->setErrorRecorder(nullptr);
}

TEST_F(Values, A7_everyNameIsCopied)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ITensor* const x = network->getInput(0);
    ILayer* const layer = network->getLayer(0);
    std::string name = "a name that is too long to lie within the text itself";
    std::string const given = name;
    x->setName(name.c_str());
    layer->setName(name.c_str());
    layer->setMetadata(name.c_str());
    network->setName(name.c_str());
    context->setName(name.c_str());
    name.assign(name.size(), '-');
    for (char const* const kept :
        {x->getName(), layer->getName(), layer->getMetadata(), network->getName(), context->getName()})
        EXPECT_EQ(kept, given);
}

TEST_F(Values, A7_namesOfContextsAndInProfiles)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::string const longest(4095, 'n');
    context->setName(longest.c_str());
    EXPECT_EQ(context->getName(), longest);
    EXPECT_EQ(logger.errors(), "");
    std::string const tooLong(4096, 'n');
    context->setName(tooLong.c_str());
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "IExecutionContext::setName"), 1);
    context->setName(nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "IExecutionContext::setName"), 2);
    EXPECT_EQ(context->getName(), longest);
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    std::vector<float> const values(4);
    int32_t reported = logger.count(ILogger::Severity::kERROR);
    auto const isRefused = [&](bool isDone) {
        int32_t const now = logger.count(ILogger::Severity::kERROR);
        bool const isTold = now == reported + 1;
        reported = now;
        return !isDone && isTold;
    };
    int32_t const number{1};
    for (char const* const name : {static_cast<char const*>(nullptr), tooLong.c_str()})
    {
        EXPECT_TRUE(isRefused(profile->setDimensions(name, OptProfileSelector::kMIN, dims({1}))));
        EXPECT_TRUE(isRefused(profile->setShapeValues(name, OptProfileSelector::kMIN, &number, 1)));
        EXPECT_EQ(profile->getDimensions(name, OptProfileSelector::kMIN).nbDims, -1);
        reported = logger.count(ILogger::Severity::kERROR);
        EXPECT_TRUE(isRefused(context->setInputShape(name, dims({1, 3, 8, 10}))));
        EXPECT_TRUE(isRefused(context->setTensorAddress(name, nullptr)));
        EXPECT_TRUE(isRefused(context->setOutputAllocator(name, nullptr)));
    }
    EXPECT_TRUE(isRefused(network->setWeightsName(weights(values), tooLong.c_str()))); // Null clears (rule C12).
    EXPECT_TRUE(network->setWeightsName(weights(values), longest.c_str()));
    EXPECT_TRUE(isRefused(network->setWeightsName(weights(values), tooLong.c_str())));
    EXPECT_TRUE(network->markWeightsRefittable(longest.c_str())) << "the name that it has stays";
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
    std::vector<BuilderFlag> flags{BuilderFlag::kSTRICT_TYPES, BuilderFlag::kENABLE_TACTIC_HEURISTIC}; // Of 8.x.
    for (int32_t number = 0; number < EnumMax<BuilderFlag>(); ++number)
        flags.push_back(static_cast<BuilderFlag>(number));
    for (BuilderFlag const flag : flags) // Each name has a bit of its own.
    {
        config->setFlags(0);
        config->setFlag(flag);
        for (BuilderFlag const other : flags)
            EXPECT_EQ(config->getFlag(other), other == flag)
                << static_cast<int32_t>(flag) << " and " << static_cast<int32_t>(other);
    }
    // 8.x has kFULLY_CONNECTED where 10.x has kCAST, and numbers all later kinds otherwise.
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 3, 4, 4}));
    EXPECT_EQ(network->addCast(*x, DataType::kINT32)->getType(), LayerType::kCAST);
    EXPECT_EQ(network->addActivation(*x, ActivationType::kRELU)->getType(), LayerType::kACTIVATION);
    EXPECT_EQ(network->addPoolingNd(*x, PoolingType::kMAX, dims({2, 2}))->getType(), LayerType::kPOOLING);
    EXPECT_EQ(network->addSoftMax(*x)->getType(), LayerType::kSOFTMAX);
    EXPECT_EQ(network->addNonZero(*x, DataType::kINT32)->getType(), LayerType::kNON_ZERO);
    EXPECT_EQ(network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getType(), LayerType::kELEMENTWISE);
    std::set<LayerType> const old{LayerType::kFULLY_CONNECTED, LayerType::kRNN_V2};
    for (int32_t i = 0; i < network->getNbLayers(); ++i)
        EXPECT_FALSE(old.contains(network->getLayer(i)->getType())) << network->getLayer(i)->getName();
}

TEST_F(Values, X1_aContextKeepsItsRuntimeConfigAndAnInspectorItsContext)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IRuntimeConfig> chosen{engine->createRuntimeConfig()};
    chosen->setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE);
    std::unique_ptr<IExecutionContext> context{engine->createExecutionContext(chosen.get())};
    ASSERT_NE(context, nullptr);
    EXPECT_EQ(context->getRuntimeConfig(), chosen.get());
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    EXPECT_TRUE(inspector->setExecutionContext(context.get()));
    EXPECT_EQ(inspector->getExecutionContext(), context.get());
    chosen.reset();
    std::vector<std::unique_ptr<IRuntimeConfig>> others; // They may get the memory of the one that is gone.
    for (int32_t i = 0; i < 64; ++i)
        others.emplace_back(engine->createRuntimeConfig());
    ASSERT_NE(context->getRuntimeConfig(), nullptr);
    EXPECT_EQ(context->getRuntimeConfig()->getExecutionContextAllocationStrategy(),
        ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE);
    runAndCompare(*context, 2, 8, 4);
    context->setName("still there");
    context.reset();
    ASSERT_NE(inspector->getExecutionContext(), nullptr);
    EXPECT_STREQ(inspector->getExecutionContext()->getName(), "still there");
}

} // namespace apitest
