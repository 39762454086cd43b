// Rule E30: a mixture of experts through the public calls.
#include "fixture.h"

#include <cmath>

namespace apitest
{

namespace
{
constexpr size_t kTokensOfMixture{6};
constexpr size_t kHiddenOfMixture{4};
constexpr size_t kInnerOfMixture{3};
constexpr size_t kExpertsOfMixture{5};
constexpr size_t kEachOfMixture{2};
} // namespace

class MixtureOfExperts : public ApiTest
{
  protected:
    ITensor* input(char const* name, std::vector<int64_t> const& extents, DataType type = DataType::kFLOAT)
    {
        return network->addInput(name, type, dims(extents));
    }
    ITensor* hidden{input("x", {2, 3, kHiddenOfMixture})};
    ITensor* chosen{input("chosen", {2, 3, kEachOfMixture}, DataType::kINT32)};
    ITensor* scores{input("scores", {2, 3, kEachOfMixture})};
    ITensor* gate{input("gate", {kExpertsOfMixture, kHiddenOfMixture, kInnerOfMixture})};
    ITensor* up{input("up", {kExpertsOfMixture, kHiddenOfMixture, kInnerOfMixture})};
    ITensor* down{input("down", {kExpertsOfMixture, kInnerOfMixture, kHiddenOfMixture})};
    IMoELayer* layer{network->addMoE(*hidden, *chosen, *scores)};
    //! None while the layer is wrong.
    std::vector<int64_t> shape()
    {
        Dims const found = layer->getOutput(0)->getDimensions();
        return found.nbDims < 0 ? std::vector<int64_t>{} : extents(found);
    }
};

TEST_F(MixtureOfExperts, startsWithoutWeightsAndQuantization)
{
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getType(), LayerType::kMOE);
    EXPECT_EQ(layer->getActivationType(), MoEActType::kSILU);
    EXPECT_EQ(layer->getQuantizationToType(), DataType::kFLOAT);
    EXPECT_EQ(layer->getDynQOutputScaleType(), DataType::kFLOAT);
    EXPECT_LT(layer->getQuantizationBlockShape().nbDims, 0);
    EXPECT_TRUE(std::isinf(layer->getSwigluParamLimit()));
    EXPECT_EQ(layer->getSwigluParamAlpha(), 1.0F);
    EXPECT_EQ(layer->getSwigluParamBeta(), 0.0F);
    EXPECT_TRUE(shape().empty());
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "its experts have no weights: call setGatedWeights()"), 1)
        << logger.errors();
    layer->setGatedWeights(*gate, *up, *down, MoEActType::kNONE);
    EXPECT_EQ(layer->getActivationType(), MoEActType::kNONE);
    EXPECT_EQ(shape(), (std::vector<int64_t>{2, 3, kHiddenOfMixture}));
    layer->setSwigluParams(7.0F, 1.7F, 1.0F);
    EXPECT_EQ(layer->getSwigluParamLimit(), 7.0F);
    EXPECT_EQ(layer->getSwigluParamAlpha(), 1.7F);
    EXPECT_EQ(layer->getSwigluParamBeta(), 1.0F);
    layer->setSwigluParamLimit(0.0F);
    EXPECT_TRUE(shape().empty()) << "a limit of 0";
}

TEST_F(MixtureOfExperts, E30_allBiasesOrNone)
{
    layer->setGatedWeights(*gate, *up, *down, MoEActType::kSILU);
    ITensor* inner = input("inner", {kExpertsOfMixture, kInnerOfMixture});
    layer->setInput(6, *inner);
    EXPECT_TRUE(shape().empty());
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "has 1 of three biases"), 1) << logger.errors();
    layer->setGatedBiases(*inner, *inner, *input("outer", {kExpertsOfMixture, kHiddenOfMixture}));
    EXPECT_EQ(shape(), (std::vector<int64_t>{2, 3, kHiddenOfMixture}));
}

TEST_F(MixtureOfExperts, quantizationNeedsATypeAndItsScale)
{
    layer->setGatedWeights(*gate, *up, *down, MoEActType::kSILU);
    ITensor* scale = input("scale", {});
    layer->setQuantizationToType(DataType::kFP8);
    EXPECT_TRUE(shape().empty()) << "no scale";
    layer->setQuantizationStatic(*scale, DataType::kHALF);
    EXPECT_TRUE(shape().empty()) << "half is no type to quantize to";
    layer->setQuantizationStatic(*scale, DataType::kINT8);
    EXPECT_EQ(layer->getQuantizationToType(), DataType::kINT8);
    EXPECT_EQ(shape(), (std::vector<int64_t>{2, 3, kHiddenOfMixture}));
    layer->setQuantizationDynamicDblQ(*scale, DataType::kFP4, dims({1, 1, 3}), DataType::kFP8);
    EXPECT_EQ(layer->getDynQOutputScaleType(), DataType::kFP8);
    EXPECT_EQ(extents(layer->getQuantizationBlockShape()), (std::vector<int64_t>{1, 1, 3}));
    EXPECT_EQ(shape(), (std::vector<int64_t>{2, 3, kHiddenOfMixture}));
    layer->setQuantizationBlockShape(dims({3}));
    EXPECT_TRUE(shape().empty()) << "blocks of another rank";
}

TEST_F(MixtureOfExperts, E30_asPlainLoops)
{
    layer->setGatedWeights(*gate, *up, *down, MoEActType::kSILU);
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const x = randomFloats(kTokensOfMixture * kHiddenOfMixture, 1);
    std::vector<float> const weight = randomFloats(kTokensOfMixture * kEachOfMixture, 2);
    std::vector<float> const matrices[]{randomFloats(kExpertsOfMixture * kHiddenOfMixture * kInnerOfMixture, 3),
        randomFloats(kExpertsOfMixture * kHiddenOfMixture * kInnerOfMixture, 4),
        randomFloats(kExpertsOfMixture * kHiddenOfMixture * kInnerOfMixture, 5)};
    std::vector<int32_t> const which{0, 4, 2, 2, 1, 3, 4, 0, 3, 9, -1, 1}; // 9 and −1 are none.
    DeviceArray<float> arrays[]{DeviceArray<float>{x}, DeviceArray<float>{weight}, DeviceArray<float>{matrices[0]},
        DeviceArray<float>{matrices[1]}, DeviceArray<float>{matrices[2]}};
    DeviceArray<int32_t> numbers{which};
    DeviceArray<float> y{x.size()};
    char const* const names[]{"x", "scores", "gate", "up", "down"};
    for (size_t i = 0; i < 5; ++i)
        ASSERT_TRUE(context->setTensorAddress(names[i], arrays[i].data()));
    ASSERT_TRUE(context->setTensorAddress("chosen", numbers.data()));
    ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    ASSERT_TRUE(runToEnd(*context));
    std::vector<double> expected(x.size(), 0.0);
    for (size_t at = 0; at < kTokensOfMixture * kEachOfMixture; ++at)
    {
        size_t const token = at / kEachOfMixture;
        if (which[at] < 0 || which[at] >= static_cast<int32_t>(kExpertsOfMixture))
            continue;
        auto const expert = static_cast<size_t>(which[at]);
        for (size_t j = 0; j < kInnerOfMixture; ++j)
        {
            double sums[2]{};
            for (size_t m = 0; m < 2; ++m)
                for (size_t c = 0; c < kHiddenOfMixture; ++c)
                    sums[m] += static_cast<double>(x[token * kHiddenOfMixture + c])
                        * static_cast<double>(matrices[m][(expert * kHiddenOfMixture + c) * kInnerOfMixture + j]);
            double const inside = sums[1] * sums[0] / (1.0 + std::exp(-sums[0]));
            for (size_t c = 0; c < kHiddenOfMixture; ++c)
                expected[token * kHiddenOfMixture + c] += static_cast<double>(weight[at]) * inside
                    * static_cast<double>(matrices[2][(expert * kInnerOfMixture + j) * kHiddenOfMixture + c]);
        }
    }
    expectNear(y.read(), {expected.begin(), expected.end()});
}

} // namespace apitest
