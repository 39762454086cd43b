// Rules of element types and of layers' properties, through the public calls (A11, A12, E7, E9, E33).
#include "fixture.h"

#include <cmath>
#include <numeric>

namespace apitest
{

class LayerProperties : public ApiTest
{
  protected:
    ITensor* input(char const* name, DataType type, std::vector<int64_t> const& extents)
    {
        return network->addInput(name, type, dims(extents));
    }
    void mark(ITensor& tensor, char const* name)
    {
        tensor.setName(name);
        network->markOutput(tensor);
    }
    //! What the network makes of "x", as its output "y".
    template <typename Out, typename In>
    std::vector<Out> run(std::vector<In> const& x, size_t count)
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        if (engine == nullptr)
            return {};
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        DeviceArray<In> in{x};
        DeviceArray<Out> out{count};
        EXPECT_TRUE(context->setTensorAddress("x", in.data()));
        EXPECT_TRUE(context->setTensorAddress("y", out.data()));
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
        return out.read();
    }
};

TEST_F(LayerProperties, A11_aBoolIsAByteOfZeroOrOne)
{
    ITensor* x = input("x", DataType::kFLOAT, {5});
    ITensor* zero = network->addConstant(dims({1}), weights(convRelu.bias = {0.0F}))->getOutput(0);
    IElementWiseLayer* above = network->addElementWise(*x, *zero, ElementWiseOperation::kGREATER);
    mark(*above->getOutput(0), "y");
    EXPECT_EQ(above->getOutput(0)->getType(), DataType::kBOOL);
    EXPECT_EQ(
        run<uint8_t>(std::vector<float>{-1.5F, 0.0F, 2.0F, 700.0F, -3.0F}, 5), (std::vector<uint8_t>{0, 0, 1, 1, 0}));
}

TEST_F(LayerProperties, A11_uint8BecomesANumberAtTheEdge)
{
    ITensor* x = input("x", DataType::kUINT8, {256});
    mark(*network->addCast(*x, DataType::kFLOAT)->getOutput(0), "y");
    std::vector<uint8_t> all(256);
    std::iota(all.begin(), all.end(), uint8_t{0});
    EXPECT_EQ(run<float>(all, all.size()), (std::vector<float>{all.begin(), all.end()}));
}

TEST_F(LayerProperties, A11_int8AndUint8AreNotConvertedIntoEachOther)
{
    for (auto const& [from, to] : {std::pair{DataType::kINT8, DataType::kUINT8}, {DataType::kUINT8, DataType::kINT8}})
    {
        network.reset(builder->createNetworkV2(0));
        size_t const before = logger.errors().size();
        mark(*network->addCast(*input("x", from, {4}), to)->getOutput(0), "y");
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        EXPECT_NE(logger.errors().find("int8 and uint8 are not converted into each other", before), std::string::npos)
            << logger.errors();
    }
}

TEST_F(LayerProperties, A11_int8BecomesUint8ByWayOfInt32)
{
    ITensor* wide = network->addCast(*input("x", DataType::kINT8, {3}), DataType::kINT32)->getOutput(0);
    mark(*network->addCast(*wide, DataType::kUINT8)->getOutput(0), "y");
    EXPECT_EQ(run<uint8_t>(std::vector<int8_t>{0, 1, 127}, 3), (std::vector<uint8_t>{0, 1, 127}));
}

TEST_F(LayerProperties, A12_toUint8TruncatesTowardsZero)
{
    ITensor* x = input("x", DataType::kFLOAT, {8});
    mark(*network->addCast(*x, DataType::kUINT8)->getOutput(0), "y");
    std::vector<float> const given{0.0F, 0.99F, 1.5F, 2.5F, 127.999F, 254.5F, 255.9F, -0.75F};
    EXPECT_EQ(run<uint8_t>(given, given.size()), (std::vector<uint8_t>{0, 0, 1, 2, 127, 254, 255, 0}));
}

TEST_F(LayerProperties, E7_aTensorTakesTheFieldsPlaceAndTheFieldTheTensors)
{
    ITensor* x = input("x", DataType::kFLOAT, {2, 6});
    ITensor* pair = input("pair", DataType::kINT64, {2});
    ITensor* number = input("number", DataType::kINT32, {});
    IShuffleLayer* shuffle = network->addShuffle(*x);
    shuffle->setReshapeDimensions(dims({3, 4}));
    shuffle->setInput(1, *pair);
    EXPECT_EQ(shuffle->getReshapeDimensions().nbDims, -1);
    shuffle->setReshapeDimensions(dims({4, 3}));
    EXPECT_EQ(extents(shuffle->getReshapeDimensions()), (std::vector<int64_t>{4, 3}));
    EXPECT_EQ(shuffle->getInput(1), nullptr);
    ISliceLayer* slice = network->addSlice(*x, dims({0, 1}), dims({1, 2}), dims({1, 2}));
    slice->setInput(1, *pair);
    slice->setInput(2, *pair);
    slice->setInput(3, *pair);
    EXPECT_EQ(slice->getStart().nbDims, -1);
    EXPECT_EQ(slice->getSize().nbDims, -1);
    EXPECT_EQ(slice->getStride().nbDims, -1);
    slice->setSize(dims({2, 1}));
    EXPECT_EQ(extents(slice->getSize()), (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(slice->getInput(2), nullptr);
    EXPECT_EQ(slice->getInput(1), pair) << "the others stay";
    EXPECT_EQ(slice->getInput(3), pair);
    IFillLayer* fill = network->addFill(dims({2, 3}), FillOperation::kLINSPACE);
    fill->setInput(0, *pair);
    EXPECT_EQ(fill->getDimensions().nbDims, -1);
    fill->setDimensions(dims({4, 1}));
    EXPECT_EQ(fill->getInput(0), nullptr);
    ITopKLayer* top = network->addTopK(*x, TopKOperation::kMAX, 3, 2);
    top->setInput(1, *number);
    EXPECT_EQ(top->getK(), -1);
    top->setK(2);
    EXPECT_EQ(top->getK(), 2);
    EXPECT_EQ(top->getInput(1), nullptr);
    IResizeLayer* resize = network->addResize(*x);
    resize->setOutputDimensions(dims({4, 12}));
    resize->setInput(1, *pair);
    EXPECT_EQ(resize->getOutputDimensions().nbDims, -1);
    resize->setOutputDimensions(dims({2, 12}));
    EXPECT_EQ(resize->getInput(1), nullptr);
}

TEST_F(LayerProperties, E9_moreElementsThanUpstreamTakes)
{
    constexpr int64_t kCount{5000};
    ITensor* x = input("x", DataType::kFLOAT, {kCount + 50});
    mark(*network->addTopK(*x, TopKOperation::kMAX, kCount, 1)->getOutput(0), "y");
    std::vector<float> const given = randomFloats(kCount + 50, 21);
    std::vector<float> sorted = given;
    std::ranges::sort(sorted, std::greater<>{});
    sorted.resize(kCount);
    EXPECT_EQ(run<float>(given, kCount), sorted);
}

TEST_F(LayerProperties, E9_aCountOfTheRunIsAtMostTheExtent)
{
    ITensor* x = input("x", DataType::kFLOAT, {6});
    ITensor* count = input("count", DataType::kINT32, {});
    ITopKLayer* top = network->addTopK(*x, TopKOperation::kMAX, 1, 1);
    top->setName("best");
    top->setInput(1, *count);
    mark(*top->getOutput(0), "y");
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (auto const& [select, value] : {std::pair{OptProfileSelector::kMIN, int64_t{1}},
             {OptProfileSelector::kOPT, int64_t{3}}, {OptProfileSelector::kMAX, int64_t{9}}})
        ASSERT_TRUE(profile->setShapeValuesV2("count", select, &value, 1));
    ASSERT_EQ(config->addOptimizationProfile(profile), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> given = randomFloats(6, 8);
    DeviceArray<float> in{given};
    DeviceArray<float> out{9};
    int32_t value{4}; // On the host, as shape tensors are.
    EXPECT_TRUE(context->setTensorAddress("x", in.data()));
    EXPECT_TRUE(context->setTensorAddress("y", out.data()));
    EXPECT_TRUE(context->setTensorAddress("count", &value));
    EXPECT_TRUE(runToEnd(*context)) << logger.errors();
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{4}));
    std::ranges::sort(given, std::greater<>{});
    std::vector<float> found = out.read();
    found.resize(4);
    EXPECT_EQ(found, (std::vector<float>{given.begin(), given.begin() + 4}));
    value = 7;
    EXPECT_FALSE(runToEnd(*context));
    EXPECT_NE(logger.errors().find("best"), std::string::npos) << logger.errors();
}

TEST_F(LayerProperties, E33_theLowerBoundOfAClipIsTheLastWord)
{
    ITensor* x = input("x", DataType::kFLOAT, {3});
    IActivationLayer* clip = network->addActivation(*x, ActivationType::kCLIP);
    clip->setAlpha(2.0F);
    clip->setBeta(-1.0F);
    mark(*clip->getOutput(0), "y");
    EXPECT_EQ(run<float>(std::vector<float>{-5.0F, 0.5F, 9.0F}, 3), (std::vector<float>{2.0F, 2.0F, 2.0F}));
}

} // namespace apitest
