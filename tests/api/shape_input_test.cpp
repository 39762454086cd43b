// Shape tensors as inputs: their values are read on the host when shapes are needed (rules Q7, Q10, Q11, Q15).
#include "fixture.h"

namespace apitest
{

//! y = x [1…24] reshaped to the two values of `size`, through a multiplication, so that something runs.
class ShapeInputs : public ApiTest
{
  protected:
    void SetUp() override
    {
        ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1}));
        ITensor* size = network->addInput("size", DataType::kINT64, dims({2}));
        ITensor* doubled = network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
        IShuffleLayer* shuffle = network->addShuffle(*doubled);
        doubled->setName("doubled");
        shuffle->setName("to size");
        shuffle->setInput(1, *size);
        shuffle->getOutput(0)->setName("y");
        network->markOutput(*shuffle->getOutput(0));
        IOptimizationProfile* profile = builder->createOptimizationProfile();
        int64_t const bounds[3][2]{{1, 1}, {2, 3}, {24, 24}};
        int64_t const counts[]{1, 6, 24};
        for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
        {
            auto const i = static_cast<size_t>(select);
            profile->setDimensions("x", select, dims({counts[i]}));
            profile->setShapeValuesV2("size", select, bounds[i], 2);
        }
        ASSERT_EQ(config->addOptimizationProfile(profile), 0);
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        ASSERT_TRUE(context->setInputShape("x", dims({12})));
        context->setInputTensorAddress("x", x12.data());
        context->setOutputTensorAddress("y", y.data());
    }
    void expectDoubled()
    {
        std::vector<float> want = values;
        for (float& value : want)
            value *= 2.0F;
        expectNear(y.read(), want);
    }

    std::vector<float> const values = randomFloats(12, 5);
    DeviceArray<float> const x12{values};
    DeviceArray<float> const y{12};
    int64_t size[2]{3, 4}; // On the host, as shape tensors are (rule D3).
    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
};

TEST_F(ShapeInputs, Q7_Q10_outputsAreUnknownUntilTheValuesAreThere)
{
    EXPECT_EQ(engine->getTensorLocation("size"), TensorLocation::kHOST);
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{-1, -1}));
    char const* names[2]{};
    EXPECT_EQ(context->inferShapes(2, names), 1);
    EXPECT_STREQ(names[0], "size");
    EXPECT_FALSE(context->enqueueV3(stream()));
    ASSERT_TRUE(context->setInputTensorAddress("size", size));
    EXPECT_EQ(context->inferShapes(2, names), 0);
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{3, 4}));
}

TEST_F(ShapeInputs, Q15_valuesAreReadAtEnqueueNotWhenTheAddressIsSet)
{
    ASSERT_TRUE(context->setInputTensorAddress("size", size));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{3, 4}));
    expectDoubled();
    size[0] = 6;
    size[1] = 2;
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{6, 2}));
    expectDoubled();
    size[0] = 2;
    EXPECT_EQ(context->inferShapes(0, nullptr), -1); // Four elements are not twelve.
    EXPECT_FALSE(context->enqueueV3(stream()));
    size[1] = 6;
    EXPECT_EQ(context->inferShapes(0, nullptr), 0);
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{2, 6}));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors(); // Usable after a failure (rule S11).
    expectDoubled();
}

TEST_F(ShapeInputs, S11_aFailureNamesTheLayerOnce)
{
    network.reset(builder->createNetworkV2(0));
    config.reset(builder->createBuilderConfig());
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({6}));
    ITensor* start = network->addInput("start", DataType::kINT64, dims({1}));
    ISliceLayer* slice = network->addSlice(*x, dims({0}), dims({3}), dims({1}));
    slice->setInput(1, *start);
    slice->setName("cut");
    slice->getOutput(0)->setName("y");
    network->markOutput(*slice->getOutput(0));
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    {
        int64_t const value = 3 * static_cast<int64_t>(select);
        ASSERT_TRUE(profile->setShapeValuesV2("start", select, &value, 1));
    }
    ASSERT_EQ(config->addOptimizationProfile(profile), 0);
    engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    context.reset(engine->createExecutionContext());
    context->setInputTensorAddress("x", x12.data());
    context->setOutputTensorAddress("y", y.data());
    size[0] = 2;
    context->setInputTensorAddress("start", size);
    EXPECT_TRUE(context->enqueueV3(stream())) << logger.errors();
    size[0] = 5; // Two elements too far.
    EXPECT_FALSE(context->enqueueV3(stream()));
    std::string const message = logger.errors();
    size_t const first = message.find("layer 'cut'");
    EXPECT_NE(first, std::string::npos) << message;
    EXPECT_EQ(message.find("layer 'cut'", first + 1), std::string::npos) << message;
}

TEST_F(ShapeInputs, B8_S11_aReshapeToAnotherVolumeIsNamedWithBothShapes)
{
    KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    ASSERT_TRUE(context->setInputTensorAddress("size", size));
    for (auto const& [rows, columns] : {std::pair{5, 2}, std::pair{10, 2}}) // Fewer elements, and more.
    {
        size[0] = rows;
        size[1] = columns;
        recorder.clear();
        EXPECT_FALSE(context->enqueueV3(stream()));
        ASSERT_EQ(recorder.getNbErrors(), 1);
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_CONFIG) << "each is right alone";
        std::string const text = recorder.getErrorDesc(0);
        std::string const want = "[layer 'to size'] cannot reshape the 12 elements of 'doubled', [12], to the "
            + std::to_string(rows * columns) + " of 'y', [" + std::to_string(rows) + ", " + std::to_string(columns)
            + "]";
        EXPECT_NE(text.find(want), std::string::npos) << text;
        EXPECT_EQ(text.find("[layer '", text.find("[layer '") + 1), std::string::npos) << text;
    }
    context->setErrorRecorder(nullptr);
}

//! y = relu(x[:, : n − 3]) + z: inside of the network there are extents that no input has.
class InnerShapes : public ApiTest
{
  protected:
    void SetUp() override
    {
        ITensor& x = *network->addInput("x", DataType::kFLOAT, dims({-1}));
        ITensor& z = *network->addInput("z", DataType::kFLOAT, dims({-1}));
        ITensor& three = *network->addConstant(dims({1}), {DataType::kINT64, &kThree, 1})->getOutput(0);
        ITensor& shorter =
            *network->addElementWise(*network->addShape(x)->getOutput(0), three, ElementWiseOperation::kSUB)
                 ->getOutput(0);
        ISliceLayer& slice = *network->addSlice(x, dims({0}), dims({0}), dims({1}));
        slice.setInput(2, shorter);
        slice.setName("front");
        ITensor& front = *network->addActivation(*slice.getOutput(0), ActivationType::kRELU)->getOutput(0);
        ILayer& sum = *network->addElementWise(front, z, ElementWiseOperation::kSUM);
        sum.setName("sum");
        sum.getOutput(0)->setName("y");
        network->markOutput(*sum.getOutput(0));
        IOptimizationProfile& profile = *builder->createOptimizationProfile();
        for (char const* const name : {"x", "z"})
            for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
                ASSERT_TRUE(profile.setDimensions(name, select, dims({1 + 5 * static_cast<int64_t>(select)})));
        ASSERT_EQ(config->addOptimizationProfile(&profile), 0);
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        ASSERT_TRUE(context->setTensorAddress("x", in.data()));
        ASSERT_TRUE(context->setTensorAddress("z", added.data()));
        ASSERT_TRUE(context->setTensorAddress("y", y.data()));
    }
    bool runs(int64_t n, int64_t m)
    {
        return context->setInputShape("x", dims({n})) && context->setInputShape("z", dims({m})) && runToEnd(*context);
    }
    void expectSums(int64_t count)
    {
        std::vector<float> const got = y.read();
        for (size_t i = 0; i < static_cast<size_t>(count); ++i)
            EXPECT_FLOAT_EQ(got[i], std::max(values[i], 0.0F) + values[i]) << i;
    }

    static constexpr int64_t kThree{3};
    std::vector<float> const values = randomFloats(11, 6);
    DeviceArray<float> const in{values};
    DeviceArray<float> const added{values};
    DeviceArray<float> const y{11};
    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
};

TEST_F(InnerShapes, S11_extentsInsideTheNetworkThatCannotBeFailTheRunAndTheContextStaysUsable)
{
    ASSERT_TRUE(runs(8, 5)) << logger.errors();
    expectSums(5);
    logger.messages.clear();
    EXPECT_FALSE(runs(2, 5)) << "front would have −1 elements, though x lies within its profile";
    EXPECT_NE(logger.errors().find("-1"), std::string::npos) << logger.errors();
    logger.messages.clear();
    EXPECT_FALSE(runs(9, 5)) << "6 elements and 5 have no sum";
    EXPECT_NE(logger.errors(), "");
    ASSERT_TRUE(runs(10, 7)) << logger.errors();
    expectSums(7);
}

TEST_F(ShapeInputs, Q15_valuesOutsideOfTheProfileFailTheRun)
{
    size[0] = 0;
    ASSERT_TRUE(context->setInputTensorAddress("size", size));
    EXPECT_FALSE(context->enqueueV3(stream()));
    EXPECT_NE(logger.errors().find("size"), std::string::npos) << logger.errors();
}

} // namespace apitest
