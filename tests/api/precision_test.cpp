// Rules C16 and C17: precisions and output types that layers ask for.
#include "fixture.h"

namespace apitest
{

class Precision : public ApiTest
{
  protected:
    //! y = relu(x), of type `type`.
    IActivationLayer* addRelu(DataType type = DataType::kFLOAT)
    {
        ITensor* x = network->addInput("x", type, dims({2, 5}));
        IActivationLayer* relu = network->addActivation(*x, ActivationType::kRELU);
        relu->setName("gate");
        relu->getOutput(0)->setName("y");
        network->markOutput(*relu->getOutput(0));
        return relu;
    }
    bool builds()
    {
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        return plan != nullptr;
    }
    static constexpr char const* kSentence{
        "layer 'gate' asks for precision float16 and computes in float32, the type of its operands"};
};

TEST_F(Precision, C16_stronglyTypedNetworksRefusePrecisionsAndOutputTypes)
{
    network.reset(
        builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    IActivationLayer* relu = addRelu(DataType::kHALF);
    relu->setPrecision(DataType::kFLOAT);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "ILayer::setPrecision: layer 'gate'"), 1);
    EXPECT_FALSE(relu->precisionIsSet());
    relu->setOutputType(0, DataType::kFLOAT);
    relu->getOutput(0)->setType(DataType::kFLOAT);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "layer 'gate': the types of a strongly typed network"), 2);
    EXPECT_FALSE(relu->outputTypeIsSet(0));
    EXPECT_EQ(relu->getOutput(0)->getType(), DataType::kHALF); // It follows from the input.
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getTensorDataType("y"), DataType::kHALF);
}

TEST_F(Precision, C16_operandsOfUnlikeTypesAreRefusedByName)
{
    network.reset(
        builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    ITensor* a = network->addInput("a", DataType::kFLOAT, dims({3}));
    ITensor* b = network->addInput("b", DataType::kHALF, dims({3}));
    IElementWiseLayer* sum = network->addElementWise(*a, *b, ElementWiseOperation::kSUM);
    ASSERT_NE(sum, nullptr);
    sum->setName("sum of unlike");
    network->markOutput(*sum->getOutput(0));
    EXPECT_FALSE(builds());
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "'sum of unlike'"), 1) << logger.errors();
}

TEST_F(Precision, E16_anIdentityOfAStronglyTypedNetworkKeepsTheType)
{
    network.reset(
        builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    for (DataType const type : {DataType::kHALF, DataType::kINT32, DataType::kBOOL})
    {
        std::string const name = "x" + std::to_string(network->getNbInputs());
        ITensor* x = network->addInput(name.c_str(), type, dims({2, 5}));
        IIdentityLayer* same = network->addIdentity(*x);
        same->setOutputType(0, DataType::kFLOAT);
        same->getOutput(0)->setType(DataType::kFLOAT);
        EXPECT_EQ(same->getOutput(0)->getType(), type);
        network->markOutput(*same->getOutput(0));
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the types of a strongly typed network"), 6);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    for (int32_t i = 0; i < 3; ++i)
        EXPECT_EQ(engine->getTensorDataType(engine->getIOTensorName(3 + i)),
            engine->getTensorDataType(engine->getIOTensorName(i)));
}

TEST_F(Precision, E16_anOutputOfTheNetworkIsNotCastToAnotherKindOfNumber)
{
    IActivationLayer* relu = addRelu();
    for (DataType const type : {DataType::kINT32, DataType::kBOOL, DataType::kINT64})
    {
        relu->getOutput(0)->setType(type);
        int32_t const before = logger.count(ILogger::Severity::kERROR, "[layer 'gate'] output 'y' is float32");
        EXPECT_FALSE(builds());
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'gate'] output 'y' is float32"), before + 1)
            << logger.errors();
    }
    relu->getOutput(0)->setType(DataType::kHALF);
    EXPECT_TRUE(builds()) << logger.errors();
    // An identity of a weakly typed network is there to convert.
    network.reset(builder->createNetworkV2(0));
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 5}));
    IIdentityLayer* converting = network->addIdentity(*x);
    converting->setOutputType(0, DataType::kINT32);
    converting->getOutput(0)->setName("y");
    network->markOutput(*converting->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(engine->getTensorDataType("y"), DataType::kINT32);
}

TEST_F(Precision, C17_obeyFailsTheBuildByLayer)
{
    addRelu()->setPrecision(DataType::kBOOL);
    config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    EXPECT_FALSE(builds());
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "layer 'gate' asks for precision bool"), 1) << logger.errors();
}

TEST_F(Precision, C17_preferWarnsAndFallsBack)
{
    IActivationLayer* relu = addRelu();
    relu->setPrecision(DataType::kBOOL);
    config->setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
    EXPECT_TRUE(builds()) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "layer 'gate' asks for precision bool"), 1);
    config->clearFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
    relu->setPrecision(DataType::kHALF);
    EXPECT_TRUE(builds()); // A wish without a flag is told of, too.
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, kSentence), 1);
    relu->resetPrecision();
    EXPECT_TRUE(builds());
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, kSentence), 1);
}

TEST_F(Precision, C17_whatIsMetIsNotTalkedOf)
{
    config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    addRelu(DataType::kHALF)->setPrecision(DataType::kHALF);
    EXPECT_TRUE(builds()) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
}

TEST_F(Precision, C17_outputTypesAreMet)
{
    config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    addRelu()->setOutputType(0, DataType::kHALF);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getTensorDataType("y"), DataType::kHALF);
}

TEST_F(Precision, C17_typesThatDoNotExistChangeNothing)
{
    IActivationLayer* relu = addRelu();
    relu->setPrecision(static_cast<DataType>(99));
    relu->setOutputType(0, static_cast<DataType>(99));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "data type 99 does not exist"), 2);
    EXPECT_FALSE(relu->precisionIsSet());
    EXPECT_FALSE(relu->outputTypeIsSet(0));
}

} // namespace apitest
