// Rules C10 and E31: exchanges between devices, of which there is one.
#include "fixture.h"

namespace apitest
{

class Collectives : public ApiTest
{
  protected:
    ITensor* x{network->addInput("x", DataType::kFLOAT, dims({4, 3}))};
    IDistCollectiveLayer* add(CollectiveOperation operation, ReduceOperation reduction = ReduceOperation::kNONE,
        int64_t root = 0, std::vector<int64_t> groups = {})
    {
        return network->addDistCollective(
            *x, operation, reduction, root, groups.data(), static_cast<int64_t>(groups.size()));
    }
    void expectNotBuilt(IDistCollectiveLayer& layer, std::string const& why)
    {
        network->markOutput(*layer.getOutput(0));
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        EXPECT_NE(logger.errors().find(why), std::string::npos) << logger.errors();
        network.reset(builder->createNetworkV2(0));
        x = network->addInput("x", DataType::kFLOAT, dims({4, 3}));
    }
};

TEST_F(Collectives, E31_onOneDeviceWhatComesInGoesOut)
{
    constexpr CollectiveOperation kAll[]{CollectiveOperation::kALL_REDUCE, CollectiveOperation::kALL_GATHER,
        CollectiveOperation::kBROADCAST, CollectiveOperation::kREDUCE, CollectiveOperation::kREDUCE_SCATTER,
        CollectiveOperation::kALL_TO_ALL, CollectiveOperation::kGATHER, CollectiveOperation::kSCATTER};
    for (CollectiveOperation const operation : kAll)
    {
        IDistCollectiveLayer* layer = add(operation, ReduceOperation::kAVG, 0, {0});
        ASSERT_NE(layer, nullptr) << logger.errors();
        EXPECT_EQ(layer->getType(), LayerType::kDIST_COLLECTIVE);
        EXPECT_EQ(extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{4, 3}));
        layer->getOutput(0)->setName(("y" + std::to_string(static_cast<int32_t>(operation))).c_str());
        network->markOutput(*layer->getOutput(0));
    }
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const given = randomFloats(12, 5);
    DeviceArray<float> in{given};
    ASSERT_TRUE(context->setTensorAddress("x", in.data()));
    std::vector<DeviceArray<float>> results;
    for (CollectiveOperation const operation : kAll)
    {
        results.emplace_back(given.size());
        std::string const name = "y" + std::to_string(static_cast<int32_t>(operation));
        ASSERT_TRUE(context->setTensorAddress(name.c_str(), results.back().data()));
    }
    ASSERT_TRUE(runToEnd(*context));
    for (DeviceArray<float> const& each : results)
        EXPECT_EQ(each.read(), given);
}

TEST_F(Collectives, E31_theRootMattersWhereThereIsOne)
{
    EXPECT_NE(
        add(CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM, 7)->getOutput(0)->getDimensions().nbDims, -1);
    IDistCollectiveLayer* layer = add(CollectiveOperation::kBROADCAST, ReduceOperation::kNONE, 1);
    layer->setName("spread");
    expectNotBuilt(*layer, "layer 'spread': rank 1 is its root; a network runs on one device here");
}

TEST_F(Collectives, C10_severalRanksAreTakenAndNotBuilt)
{
    IDistCollectiveLayer* layer = add(CollectiveOperation::kALL_REDUCE, ReduceOperation::kSUM);
    EXPECT_EQ(layer->getNbRanks(), 1);
    EXPECT_FALSE(layer->setNbRanks(0));
    EXPECT_TRUE(layer->setNbRanks(3));
    EXPECT_EQ(layer->getNbRanks(), 3);
    expectNotBuilt(*layer, "it spreads over 3 ranks; a network runs on one device here");
    expectNotBuilt(*add(CollectiveOperation::kALL_GATHER, ReduceOperation::kNONE, 0, {0, 1}), "its group of 2");
    expectNotBuilt(*add(CollectiveOperation::kALL_GATHER, ReduceOperation::kNONE, 0, {1}), "begins with rank 1");
}

TEST_F(Collectives, unknownOperationsAndMissingReductionsAreRefused)
{
    EXPECT_EQ(add(static_cast<CollectiveOperation>(8)), nullptr);
    EXPECT_EQ(add(CollectiveOperation::kALL_REDUCE, static_cast<ReduceOperation>(6)), nullptr);
    EXPECT_EQ(add(CollectiveOperation::kREDUCE_SCATTER), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "kNONE says nothing of how"), 1) << logger.errors();
    EXPECT_EQ(network->addDistCollective(*x, CollectiveOperation::kALL_GATHER, ReduceOperation::kNONE, 0, nullptr, 2),
        nullptr);
}

} // namespace apitest
