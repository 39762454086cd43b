// tenonAddRecurrentNetwork and tenonSetZeroPoint: what a caller in C may get wrong is told, not read.
#include "fixture.h"

#include "tenon/network.h"

namespace apitest
{

namespace
{
TenonRecurrentNetwork forward(ITensor* x, ITensor* w, ITensor* r)
{
    static int32_t const tanh{static_cast<int32_t>(ActivationType::kTANH)};
    static float const none{0.0F};
    TenonRecurrentNetwork given{};
    given.activationCount = 1;
    given.activations = &tanh;
    given.alphas = &none;
    given.betas = &none;
    given.tensors[0] = x;
    given.tensors[1] = w;
    given.tensors[2] = r;
    return given;
}
} // namespace

class RecurrentCall : public ApiTest
{
  protected:
    void expectRefused(TenonRecurrentNetwork const& given, char const* why)
    {
        EXPECT_EQ(tenonAddRecurrentNetwork(network.get(), &given), nullptr);
        EXPECT_NE(logger.errors().find(why), std::string::npos) << logger.errors();
    }
    ITensor* x{network->addInput("x", DataType::kFLOAT, dims({3, 1, 2}))};
    ITensor* w{network->addInput("w", DataType::kFLOAT, dims({1, 4, 2}))};
    ITensor* r{network->addInput("r", DataType::kFLOAT, dims({1, 4, 4}))};
};

TEST_F(RecurrentCall, addsALayer)
{
    TenonRecurrentNetwork const given = forward(x, w, r);
    auto* const layer = static_cast<ILayer*>(tenonAddRecurrentNetwork(network.get(), &given));
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getNbOutputs(), 2);
}

TEST_F(RecurrentCall, refusesNumbersOutsideOfTheirRange)
{
    for (int32_t const wrong : {-1, 3, 256, 258})
    {
        TenonRecurrentNetwork given = forward(x, w, r);
        given.cell = wrong;
        expectRefused(given, ("cell " + std::to_string(wrong) + " is not within").c_str());
        given = forward(x, w, r);
        given.direction = wrong;
        expectRefused(given, ("direction " + std::to_string(wrong) + " is not within").c_str());
    }
    for (int32_t const wrong : {-1, 7, INT32_MAX})
    {
        TenonRecurrentNetwork given = forward(x, w, r);
        given.activationCount = wrong;
        expectRefused(given, "number of activations");
    }
    EXPECT_EQ(network->getNbLayers(), 0);
}

TEST_F(RecurrentCall, refusesNull)
{
    for (int32_t i = 0; i < 3; ++i)
    {
        TenonRecurrentNetwork given = forward(x, w, r);
        (i == 0 ? reinterpret_cast<void const*&>(given.activations)
                : reinterpret_cast<void const*&>(i == 1 ? given.alphas : given.betas)) = nullptr;
        expectRefused(given, "are null");
    }
    EXPECT_EQ(tenonAddRecurrentNetwork(nullptr, nullptr), nullptr);
    EXPECT_EQ(tenonAddRecurrentNetwork(network.get(), nullptr), nullptr);
}

class ZeroPointCall : public ApiTest
{
  protected:
    ITensor* x{network->addInput("x", DataType::kFLOAT, dims({5}))};
    ITensor* scale{network->addInput("scale", DataType::kFLOAT, dims({}))};
    IQuantizeLayer* quantize{network->addQuantize(*x, *scale, DataType::kINT8)};
    IDequantizeLayer* dequantize{network->addDequantize(*quantize->getOutput(0), *scale, DataType::kFLOAT)};
};

TEST_F(ZeroPointCall, isTakenByLayersOfInt8Numbers)
{
    for (int32_t const zeroPoint : {-128, 0, 127})
    {
        EXPECT_EQ(tenonSetZeroPoint(quantize, zeroPoint), 1) << logger.errors();
        EXPECT_EQ(tenonSetZeroPoint(dequantize, zeroPoint), 1) << logger.errors();
    }
}

TEST_F(ZeroPointCall, refusesNumbersThatInt8HasNot)
{
    for (int32_t const wrong : {-129, 128, INT32_MIN, INT32_MAX})
    {
        EXPECT_EQ(tenonSetZeroPoint(quantize, wrong), 0);
        EXPECT_NE(logger.errors().find("a zero point of " + std::to_string(wrong)), std::string::npos)
            << logger.errors();
    }
}

TEST_F(ZeroPointCall, refusesOtherLayersAndNull)
{
    IActivationLayer* const relu = network->addActivation(*x, ActivationType::kRELU);
    relu->setName("gate");
    EXPECT_EQ(tenonSetZeroPoint(relu, 3), 0);
    EXPECT_NE(logger.errors().find("'gate' is neither a Quantize nor a Dequantize layer"), std::string::npos)
        << logger.errors();
    EXPECT_EQ(tenonSetZeroPoint(nullptr, 3), 0);
}

} // namespace apitest
