// Rule E27: attention through the public calls: what it starts with, what excludes what, and what it computes.
#include "fixture.h"

#include <cmath>

namespace apitest
{

class AttentionCalls : public ApiTest
{
  protected:
    ITensor* operand(char const* name, std::vector<int64_t> const& extents)
    {
        Dims shape{static_cast<int32_t>(extents.size()), {}};
        std::copy(extents.begin(), extents.end(), shape.d);
        return network->addInput(name, DataType::kFLOAT, shape);
    }
};

TEST_F(AttentionCalls, E27_anObjectOverTwoLayers)
{
    ITensor* q = operand("q", {1, 2, 3, 4});
    ITensor* k = operand("k", {1, 2, 5, 4});
    ITensor* v = operand("v", {1, 2, 5, 6});
    IAttention* attention = network->addAttention(*q, *k, *v, AttentionNormalizationOp::kSOFTMAX, false);
    ASSERT_NE(attention, nullptr);
    EXPECT_FALSE(attention->getDecomposable());
    EXPECT_FALSE(attention->getCausal());
    EXPECT_EQ(attention->getMask(), nullptr);
    EXPECT_EQ(attention->getNbInputs(), 3);
    EXPECT_EQ(attention->getInput(1), k);
    EXPECT_EQ(attention->getInput(3), nullptr);
    EXPECT_EQ(attention->getNbOutputs(), 1);
    ITensor* y = attention->getOutput(0);
    ASSERT_NE(y, nullptr);
    EXPECT_EQ(extents(y->getDimensions()), (std::vector<int64_t>{1, 2, 3, 6}));
    ASSERT_EQ(network->getNbLayers(), 2);
    EXPECT_EQ(network->getLayer(0)->getType(), LayerType::kATTENTION_INPUT);
    EXPECT_EQ(network->getLayer(1)->getType(), LayerType::kATTENTION_OUTPUT);
    EXPECT_EQ(static_cast<IAttentionInputLayer*>(network->getLayer(0))->getAttention(), attention);
    EXPECT_EQ(static_cast<IAttentionOutputLayer*>(network->getLayer(1))->getAttention(), attention);
    EXPECT_TRUE(attention->setInput(2, *operand("w", {1, 2, 5, 7})));
    EXPECT_FALSE(attention->setInput(3, *v));
    EXPECT_EQ(extents(y->getDimensions()), (std::vector<int64_t>{1, 2, 3, 7}));
    EXPECT_EQ(network->getLayer(0)->getInput(2), attention->getInput(2));
}

TEST_F(AttentionCalls, E27_maskAndCausalExcludeEachOther)
{
    ITensor* q = operand("q", {1, 2, 3, 4});
    ITensor* mask = network->addInput("mask", DataType::kBOOL, dims({1, 1, 3, 3}));
    IAttention* causal = network->addAttention(*q, *q, *q, AttentionNormalizationOp::kSOFTMAX, true);
    EXPECT_FALSE(causal->setMask(*mask));
    EXPECT_EQ(causal->getMask(), nullptr);
    EXPECT_TRUE(causal->setCausal(false));
    EXPECT_TRUE(causal->setMask(*mask));
    EXPECT_EQ(causal->getMask(), mask);
    EXPECT_FALSE(causal->setCausal(true));
    IAttention* plain = network->addAttention(*q, *q, *q, AttentionNormalizationOp::kNONE, true);
    EXPECT_LT(plain->getOutput(0)->getDimensions().nbDims, 0) << "causal without a softmax";
}

//! Query i sees keys up to i: the first row of the result is the first value.
TEST_F(AttentionCalls, E27_causalIsUpperLeft)
{
    ITensor* q = operand("q", {1, 1, 2, 1});
    ITensor* k = operand("k", {1, 1, 3, 1});
    ITensor* y = network->addAttention(*q, *k, *k, AttentionNormalizationOp::kSOFTMAX, true)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    ITensor* plain = network->addAttention(*q, *k, *k, AttentionNormalizationOp::kNONE, false)->getOutput(0);
    plain->setName("plain");
    network->markOutput(*plain);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const queries{1.0F, 2.0F};
    std::vector<float> const keys{0.5F, 1.0F, 4.0F};
    DeviceArray<float> qMemory{queries};
    DeviceArray<float> kMemory{keys};
    DeviceArray<float> yMemory{2};
    DeviceArray<float> plainMemory{2};
    ASSERT_TRUE(context->setTensorAddress("q", qMemory.data()));
    ASSERT_TRUE(context->setTensorAddress("k", kMemory.data()));
    ASSERT_TRUE(context->setTensorAddress("y", yMemory.data()));
    ASSERT_TRUE(context->setTensorAddress("plain", plainMemory.data()));
    ASSERT_TRUE(runToEnd(*context));
    double const a = std::exp(1.0);
    double const b = std::exp(2.0);
    std::vector<float> const found = yMemory.read();
    EXPECT_NEAR(found[0], 0.5, 1e-5);
    EXPECT_NEAR(found[1], (0.5 * a + b) / (a + b), 1e-5);
    std::vector<float> const products = plainMemory.read();
    EXPECT_NEAR(products[0], 17.25, 1e-4);
    EXPECT_NEAR(products[1], 34.5, 1e-4);
}

//! 11.1: the last query sees all keys.
TEST_F(AttentionCalls, E27_causalKindsAreTold)
{
    ITensor* q = operand("q", {1, 2, 3, 4});
    ITensor* mask = network->addInput("mask", DataType::kBOOL, dims({1, 1, 3, 3}));
    IAttention* made =
        network->addAttentionV2(*q, *q, *q, AttentionNormalizationOp::kSOFTMAX, CausalMaskKind::kLOWER_RIGHT);
    ASSERT_NE(made, nullptr) << logger.errors();
    EXPECT_EQ(made->getCausalKind(), CausalMaskKind::kLOWER_RIGHT);
    EXPECT_TRUE(made->getCausal());
    EXPECT_FALSE(made->setMask(*mask));
    EXPECT_TRUE(made->setCausal(true));
    EXPECT_EQ(made->getCausalKind(), CausalMaskKind::kUPPER_LEFT);
    EXPECT_TRUE(made->setCausalKind(CausalMaskKind::kNONE));
    EXPECT_FALSE(made->getCausal());
    EXPECT_TRUE(made->setMask(*mask));
    EXPECT_FALSE(made->setCausalKind(CausalMaskKind::kLOWER_RIGHT));
    EXPECT_FALSE(made->setCausalKind(static_cast<CausalMaskKind>(3)));
    EXPECT_EQ(made->getCausalKind(), CausalMaskKind::kNONE);
    EXPECT_EQ(network->addAttentionV2(*q, *q, *q, AttentionNormalizationOp::kSOFTMAX, static_cast<CausalMaskKind>(-1)),
        nullptr);
}

TEST_F(AttentionCalls, packedSequencesNeedTheirLengths)
{
    ITensor* q = operand("q", {5, 2, 4});
    ITensor* k = operand("k", {7, 1, 4});
    IAttention* packed = network->addAttention(*q, *k, *k, AttentionNormalizationOp::kSOFTMAX, false);
    EXPECT_EQ(packed->getQueryForm(), AttentionIOForm::kPADDED_BHND);
    EXPECT_TRUE(packed->setQueryForm(AttentionIOForm::kPACKED_NHD));
    EXPECT_TRUE(packed->setKeyValueForm(AttentionIOForm::kPACKED_NHD));
    EXPECT_FALSE(packed->setQueryForm(static_cast<AttentionIOForm>(2)));
    EXPECT_EQ(packed->getQueryLengths(), nullptr);
    EXPECT_LT(packed->getOutput(0)->getDimensions().nbDims, 0);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "has no lengths of its packed query"), 1) << logger.errors();
    ITensor* begins = network->addInput("begins", DataType::kINT32, dims({3}));
    ITensor* keyBegins = network->addInput("keyBegins", DataType::kINT64, dims({3}));
    EXPECT_TRUE(packed->setQueryLengths(begins));
    EXPECT_TRUE(packed->setKeyValueLengths(keyBegins));
    EXPECT_EQ(packed->getQueryLengths(), begins);
    EXPECT_EQ(packed->getKeyValueLengths(), keyBegins);
    EXPECT_EQ(extents(packed->getOutput(0)->getDimensions()), (std::vector<int64_t>{5, 2, 4}));
    ITensor* mask = network->addInput("mask", DataType::kBOOL, dims({1, 1, 5, 7}));
    EXPECT_TRUE(packed->setMask(*mask));
    EXPECT_LT(packed->getOutput(0)->getDimensions().nbDims, 0);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "takes no mask for packed sequences"), 1) << logger.errors();
}

TEST_F(AttentionCalls, normalizedProductsAreQuantizedByAScaleAndAType)
{
    ITensor* q = operand("q", {1, 2, 3, 4});
    ITensor* scale = network->addInput("scale", DataType::kFLOAT, dims({}));
    IAttention* attention = network->addAttention(*q, *q, *q, AttentionNormalizationOp::kSOFTMAX, false);
    EXPECT_EQ(attention->getNormalizationQuantizeToType(), DataType::kFLOAT);
    EXPECT_FALSE(attention->setNormalizationQuantizeToType(DataType::kHALF));
    EXPECT_TRUE(attention->setNormalizationQuantizeToType(DataType::kINT8));
    EXPECT_EQ(attention->getNormalizationQuantizeToType(), DataType::kINT8);
    EXPECT_LT(attention->getOutput(0)->getDimensions().nbDims, 0) << "without a scale";
    EXPECT_TRUE(attention->setNormalizationQuantizeScale(*scale));
    EXPECT_EQ(attention->getNormalizationQuantizeScale(), scale);
    EXPECT_EQ(extents(attention->getOutput(0)->getDimensions()), (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST_F(AttentionCalls, C10_severalRanksAreTakenAndNotBuilt)
{
    ITensor* q = operand("q", {1, 2, 3, 4});
    IAttention* attention = network->addAttention(*q, *q, *q, AttentionNormalizationOp::kSOFTMAX, false);
    network->markOutput(*attention->getOutput(0));
    EXPECT_EQ(attention->getNbRanks(), 1);
    EXPECT_FALSE(attention->setNbRanks(0));
    EXPECT_TRUE(attention->setNbRanks(2));
    EXPECT_EQ(attention->getNbRanks(), 2);
    EXPECT_FALSE(network->getLayer(1)->setNbRanks(2)) << "through the attention alone";
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_NE(logger.errors().find("it spreads over 2 ranks; a network runs on one device here"), std::string::npos)
        << logger.errors();
    EXPECT_TRUE(attention->setNbRanks(1));
    EXPECT_NE(buildEngine(), nullptr);
}

} // namespace apitest
