// tenonAddDeterminant and its like: what they add, and what a caller in C may get wrong.
#include "fixture.h"

#include "tenon/network.h"

namespace apitest
{

class OwnLayers : public ApiTest
{
  protected:
    ITensor* input(DataType type, std::initializer_list<int64_t> extents)
    {
        return network->addInput("x", type, dims(extents));
    }
    //! Building fails and says so.
    void expectUnfit(ILayer* layer, char const* why)
    {
        ASSERT_NE(layer, nullptr) << logger.errors();
        layer->setName("mine");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        EXPECT_NE(logger.errors().find("layer 'mine'"), std::string::npos) << logger.errors();
        EXPECT_NE(logger.errors().find(why), std::string::npos) << logger.errors();
    }
};

TEST_F(OwnLayers, areAdded)
{
    auto* const determinant = static_cast<ILayer*>(
        tenonAddDeterminant(network.get(), network->addInput("m", DataType::kFLOAT, dims({5, 3, 3}))));
    ASSERT_NE(determinant, nullptr) << logger.errors();
    ASSERT_EQ(determinant->getNbOutputs(), 1);
    EXPECT_EQ(determinant->getOutput(0)->getDimensions().nbDims, 1);
    EXPECT_EQ(determinant->getOutput(0)->getDimensions().d[0], 5);
    EXPECT_EQ(determinant->getOutput(0)->getType(), DataType::kFLOAT);
    auto* const order =
        static_cast<ILayer*>(tenonAddRowOrder(network.get(), network->addInput("r", DataType::kINT8, dims({7, 2}))));
    ASSERT_NE(order, nullptr) << logger.errors();
    ASSERT_EQ(order->getNbOutputs(), 2);
    EXPECT_EQ(order->getOutput(0)->getType(), DataType::kINT64);
    EXPECT_EQ(order->getOutput(1)->getType(), DataType::kBOOL);
    EXPECT_EQ(order->getOutput(1)->getDimensions().d[0], 7);
    ITensor* const a = network->addInput("a", DataType::kFLOAT, dims({4}));
    auto* const rest = static_cast<ILayer*>(tenonAddRemainder(network.get(), a, a, 1));
    ASSERT_NE(rest, nullptr) << logger.errors();
    EXPECT_EQ(rest->getNbInputs(), 2);
    auto* const bits = static_cast<ILayer*>(tenonAddBitCast(network.get(), a, static_cast<int32_t>(DataType::kINT32)));
    ASSERT_NE(bits, nullptr) << logger.errors();
    EXPECT_EQ(bits->getOutput(0)->getType(), DataType::kINT32);
    auto* const scale = static_cast<ILayer*>(tenonAddByteScale(network.get(), a));
    ASSERT_EQ(scale->getNbOutputs(), 3);
    EXPECT_EQ(scale->getOutput(0)->getDimensions().nbDims, 0);
    EXPECT_EQ(scale->getOutput(0)->getType(), DataType::kFLOAT);
    EXPECT_EQ(scale->getOutput(1)->getType(), DataType::kUINT8);
    EXPECT_EQ(network->getNbLayers(), 5);
    EXPECT_EQ(network->getLayer(0)->getType(), LayerType::kIDENTITY);
}

TEST_F(OwnLayers, takeNoNull)
{
    ITensor* const x = input(DataType::kFLOAT, {2, 2});
    EXPECT_EQ(tenonAddDeterminant(nullptr, x), nullptr);
    EXPECT_EQ(tenonAddDeterminant(network.get(), nullptr), nullptr);
    EXPECT_EQ(tenonAddRowOrder(nullptr, x), nullptr);
    EXPECT_EQ(tenonAddRowOrder(network.get(), nullptr), nullptr);
    EXPECT_EQ(tenonAddRemainder(nullptr, x, x, 0), nullptr);
    EXPECT_EQ(tenonAddRemainder(network.get(), x, nullptr, 0), nullptr);
    EXPECT_EQ(tenonAddRemainder(network.get(), nullptr, x, 0), nullptr);
    EXPECT_EQ(tenonAddBitCast(nullptr, x, 3), nullptr);
    EXPECT_EQ(tenonAddBitCast(network.get(), nullptr, 3), nullptr);
    EXPECT_EQ(tenonAddByteScale(nullptr, x), nullptr);
    EXPECT_EQ(tenonAddByteScale(network.get(), nullptr), nullptr);
    EXPECT_EQ(network->getNbLayers(), 0);
}

TEST_F(OwnLayers, takeNoTensorOfAnotherNetwork)
{
    std::unique_ptr<INetworkDefinition> const other{builder->createNetworkV2(0)};
    ITensor* const x = other->addInput("x", DataType::kFLOAT, dims({2, 2}));
    EXPECT_EQ(tenonAddDeterminant(network.get(), x), nullptr);
    EXPECT_EQ(tenonAddRowOrder(network.get(), x), nullptr);
    EXPECT_FALSE(logger.errors().empty());
    EXPECT_EQ(network->getNbLayers(), 0);
}

TEST_F(OwnLayers, determinantsAreOfSquareMatrices)
{
    expectUnfit(
        static_cast<ILayer*>(tenonAddDeterminant(network.get(), input(DataType::kFLOAT, {2, 3}))), "input 0 'x'");
}

TEST_F(OwnLayers, determinantsAreOfRealNumbers)
{
    expectUnfit(
        static_cast<ILayer*>(tenonAddDeterminant(network.get(), input(DataType::kINT32, {3, 3}))), "input 0 'x'");
}

TEST_F(OwnLayers, scalesAreOfRealNumbers)
{
    expectUnfit(static_cast<ILayer*>(tenonAddByteScale(network.get(), input(DataType::kINT8, {2, 3}))), "input 0 'x'");
}

TEST_F(OwnLayers, bitsAreReadInTypesOfOneWidth)
{
    for (int32_t const wrong : {-1, 17, 99, INT32_MAX, static_cast<int32_t>(DataType::kBOOL)})
    {
        auto* const layer = static_cast<ILayer*>(
            tenonAddBitCast(network.get(), network->addInput("x", DataType::kFLOAT, dims({2})), wrong));
        expectUnfit(layer, "no bits are read as");
        network.reset(builder->createNetworkV2(0));
    }
    expectUnfit(static_cast<ILayer*>(tenonAddBitCast(
                    network.get(), input(DataType::kFLOAT, {2}), static_cast<int32_t>(DataType::kINT64))),
        "of 32 bits, and int64 has 64");
}

TEST_F(OwnLayers, remaindersAreOfEqualShapes)
{
    ITensor* const x = input(DataType::kFLOAT, {2, 3});
    ITensor* const y = network->addInput("by", DataType::kFLOAT, dims({2, 1}));
    expectUnfit(static_cast<ILayer*>(tenonAddRemainder(network.get(), y, x, 0)), "input 1 'x'");
}

TEST_F(OwnLayers, rowsStandInAMatrix)
{
    expectUnfit(
        static_cast<ILayer*>(tenonAddRowOrder(network.get(), input(DataType::kFLOAT, {2, 3, 4}))), "input 0 'x'");
}

} // namespace apitest
