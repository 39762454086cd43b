// Tenon's own calls: inspection, verification, devices, knobs.
#include "fixture.h"

#include "tenon/tenon.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

namespace apitest
{

using Json = nlohmann::json;

class OwnCalls : public ApiTest
{
};

TEST_F(OwnCalls, verifyComparesEveryStepWithTheReference)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    TenonText problem{nullptr};
    Json const report = Json::parse(tenon::take(tenonVerify(engine.get(), nullptr, 0, nullptr, &problem)));
    EXPECT_EQ(problem, nullptr);
    EXPECT_TRUE(report["ok"]) << report.dump(1);
    int32_t compared{0};
    for (Json const& step : report["steps"])
        compared += step["compared"].get<bool>() ? 1 : 0;
    EXPECT_GE(compared, 1);
}

TEST_F(OwnCalls, verifyNamesTheFirstStepThatExceedsATolerance)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    TenonVerifyOptions const tight{1e-30, 0.0, 5, 1};
    Json const report = Json::parse(tenon::take(tenonVerify(engine.get(), nullptr, 0, &tight, nullptr)));
    EXPECT_FALSE(report["ok"]);
    EXPECT_NE(report["first_divergence"]["layer"].get<std::string>().find("conv"), std::string::npos);
}

TEST_F(OwnCalls, verifyComparesStepsWhoseOperandsAreShapes)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 3, -1, 10}));
    ITensor* whole = network->addShape(*x)->getOutput(0);
    int64_t const halves[]{1, 3, 2, 10};
    ITensor* divisor = network->addConstant(dims({4}), Weights{DataType::kINT64, halves, 4})->getOutput(0);
    ITensor* size = network->addElementWise(*whole, *divisor, ElementWiseOperation::kDIV)->getOutput(0);
    ISliceLayer* slice = network->addSlice(*x, dims({0, 1, 2, 3}), dims({1, 1, 1, 1}), dims({1, 1, 1, 1}));
    slice->setInput(2, *size);
    ITensor* y = slice->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    addProfile({1, 3, 8, 10}, {2, 3, 12, 10}, {4, 3, 16, 10});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Json const report = Json::parse(tenon::take(tenonVerify(engine.get(), nullptr, 0, nullptr, nullptr)));
    EXPECT_TRUE(report["ok"]) << report.dump(1);
    EXPECT_TRUE(report["steps"].back()["compared"]) << report.dump(1);
}

TEST_F(OwnCalls, verifyTellsWhatIsWrongWithItsInputs)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    TenonInput const input{"nobody", nullptr, 0, nullptr};
    TenonText problem{nullptr};
    EXPECT_EQ(tenonVerify(engine.get(), &input, 1, nullptr, &problem), nullptr);
    EXPECT_NE(tenon::take(problem).find("nobody"), std::string::npos);
}

TEST_F(OwnCalls, inspectShowsLayersDecisionsAndProfiles)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    Json const json = Json::parse(tenon::take(tenonInspectEngine(engine.get(), nullptr)));
    EXPECT_EQ(json["network_layers"], 2);
    EXPECT_EQ(json["io"].size(), 2U);
    EXPECT_EQ(json["profiles"][0]["x"]["max"], Json({4, 3, 16, 10}));
    EXPECT_EQ(json["programs"].size(), 1U);
    EXPECT_FALSE(json["decisions"].empty());
    std::unique_ptr<IHostMemory> const plan{engine->serialize()};
    EXPECT_EQ(Json::parse(tenon::take(tenonInspectPlan(plan->data(), plan->size(), nullptr))), json);
    TenonText problem{nullptr};
    EXPECT_EQ(tenonInspectPlan(plan->data(), 7, &problem), nullptr);
    EXPECT_FALSE(tenon::take(problem).empty());
    Json const net = Json::parse(tenon::take(tenonInspectNetwork(network.get(), nullptr)));
    EXPECT_EQ(net["layers"].size(), 2U);
    EXPECT_EQ(net["layers"][0]["kind"], "Convolution");
}

TEST_F(OwnCalls, listsDevicesKnobsAndWhatIsNotImplemented)
{
    Json const devices = Json::parse(tenon::take(tenonDevices()));
    EXPECT_TRUE(devices["chosen"].is_string());
    EXPECT_GE(devices["devices"].size(), 2U);
    EXPECT_GE(Json::parse(tenon::take(tenonKnobs())).size(), 9U);
    Json const missing = Json::parse(tenon::take(tenonNotImplemented()));
    auto const lists = [&](char const* call) {
        return std::find(missing.begin(), missing.end(), call) != missing.end();
    };
    EXPECT_FALSE(lists("INetworkDefinition::addDistCollective"));
    EXPECT_FALSE(lists("INetworkDefinition::addActivation"));
    EXPECT_FALSE(lists("IConvolutionLayer::setStrideNd"));
    EXPECT_FALSE(lists("ICudaEngine::getNbLayers"));
    EXPECT_STRNE(tenonVersion(), "");
}

TEST_F(OwnCalls, networksOfOursAloneTakeWeightsAnywhere)
{
    struct Others final : INetworkDefinition
    {
    } others;
    EXPECT_EQ(tenonTakesWeightsAnywhere(network.get()), 1);
    EXPECT_EQ(tenonTakesWeightsAnywhere(&others), 0);
    EXPECT_EQ(tenonTakesWeightsAnywhere(nullptr), 0);
}

TEST_F(OwnCalls, buildsAskWhomTheirThreadSays)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    struct Asked
    {
        std::atomic<int32_t> count{0};
        int32_t answer{1};
        static int32_t mayContinue(void* user)
        {
            auto* const self = static_cast<Asked*>(user);
            ++self->count;
            return self->answer;
        }
    } asked;
    auto const build = [&] {
        return std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)} != nullptr;
    };
    tenonAskInBuilds(&Asked::mayContinue, &asked);
    EXPECT_TRUE(build()) << logger.errors();
    EXPECT_GT(asked.count, 0);
    asked.answer = 0;
    EXPECT_FALSE(build());
    EXPECT_NE(logger.errors().find("cancelled"), std::string::npos) << logger.errors();
    std::thread{[&] { EXPECT_TRUE(build()) << "another thread asks others"; }}.join();
    int32_t const before = asked.count;
    tenonAskInBuilds(nullptr, nullptr);
    EXPECT_TRUE(build());
    EXPECT_EQ(asked.count, before);
}

} // namespace apitest
