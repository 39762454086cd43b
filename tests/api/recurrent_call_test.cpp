// tenonAddRecurrentNetwork: what a caller in C may get wrong is told, not read.
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

} // namespace apitest
