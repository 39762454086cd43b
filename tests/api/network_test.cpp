// Rules C: networks, layers, tensors.
#include "fixture.h"

#include <array>

namespace apitest
{

class Network : public ApiTest
{
};

TEST_F(Network, C1_addInputRefusesDuplicateNamesAndBadDims)
{
    ASSERT_NE(network->addInput("x", DataType::kFLOAT, dims({2, 3})), nullptr);
    EXPECT_EQ(network->addInput("x", DataType::kFLOAT, dims({2, 3})), nullptr);
    EXPECT_EQ(network->addInput("bad", DataType::kFLOAT, dims({2, -5})), nullptr);
    ITensor* y = network->addUnary(*network->getInput(0), UnaryOperation::kABS)->getOutput(0);
    y->setName("x");
    network->markOutput(*y);
    EXPECT_FALSE(y->isNetworkOutput());
    y->setName("y");
    network->markOutput(*y);
    EXPECT_TRUE(y->isNetworkOutput());
    EXPECT_EQ(network->addInput("y", DataType::kFLOAT, dims({2, 3})), nullptr);
    EXPECT_EQ(network->getNbInputs(), 1);
    ITensor* z = network->addUnary(*network->getInput(0), UnaryOperation::kABS)->getOutput(0);
    z->setName("y");
    network->markOutput(*z);
    EXPECT_FALSE(z->isNetworkOutput()) << "another output has the name";
    EXPECT_EQ(network->getNbOutputs(), 1);
    z->setName("z");
    network->markOutput(*z);
    EXPECT_EQ(network->getNbOutputs(), 2);
    z->setName("y"); // Once both are outputs, the build finds out.
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_TRUE(plan == nullptr || std::string_view{z->getName()} == "z") << "two outputs have one name";
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "'y'"), 3) << logger.errors();
}

TEST_F(Network, C10_onlyLayersThatJoinRanksTakeSeveral)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 3, 4, 4}));
    ITensor* inputs[]{x, x};
    std::vector<ILayer*> const layers{network->addUnary(*x, UnaryOperation::kABS), network->addConcatenation(inputs, 2),
        network->addConvolutionNd(*x, 4, dims({3, 3}), weights(convRelu.kernel), weights(convRelu.bias)),
        network->addReduce(*x, ReduceOperation::kSUM, 2, true), network->addShuffle(*x), network->addIdentity(*x),
        network->addMatrixMultiply(*x, MatrixOperation::kNONE, *x, MatrixOperation::kTRANSPOSE)};
    for (ILayer* const layer : layers)
    {
        EXPECT_EQ(layer->getNbRanks(), 1);
        for (int32_t const ranks : {2, 8, 0, -1})
            EXPECT_FALSE(layer->setNbRanks(ranks)) << layer->getName() << ", " << ranks;
        EXPECT_TRUE(layer->setNbRanks(1)) << layer->getName();
        EXPECT_EQ(layer->getNbRanks(), 1);
    }
}

TEST_F(Network, C2_defaultNamesFollowTheLayerAndItsOrdinal)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 30}));
    ILayer* first = network->addUnary(*x, UnaryOperation::kABS);
    ILayer* second = network->addTopK(*first->getOutput(0), TopKOperation::kMAX, 3, 0b10);
    EXPECT_STREQ(first->getName(), "(Unnamed Layer* 0) [Unary]");
    EXPECT_STREQ(first->getOutput(0)->getName(), "(Unnamed Layer* 0) [Unary]_output");
    EXPECT_STREQ(second->getOutput(1)->getName(), "(Unnamed Layer* 1) [TopK]_output_1");
}

TEST_F(Network, C3_setDimensionsWorksOnInputsAndInfersDependentsAnew)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 3}));
    ITensor* y = network->addUnary(*x, UnaryOperation::kABS)->getOutput(0);
    ITensor* z = network->addReduce(*y, ReduceOperation::kSUM, 0b10, false)->getOutput(0);
    EXPECT_EQ(extents(z->getDimensions()), (std::vector<int64_t>{2}));
    x->setDimensions(dims({7, 4}));
    EXPECT_EQ(extents(y->getDimensions()), (std::vector<int64_t>{7, 4}));
    EXPECT_EQ(extents(z->getDimensions()), (std::vector<int64_t>{7}));
    y->setDimensions(dims({1, 1}));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "not a network input"), 1);
    EXPECT_EQ(extents(y->getDimensions()), (std::vector<int64_t>{7, 4}));
}

TEST_F(Network, C4_extentsDerivedFromWildcardsAreMinusOne)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 3, -1, 10}));
    IConvolutionLayer* conv =
        network->addConvolutionNd(*x, 4, dims({3, 3}), weights(convRelu.kernel), weights(convRelu.bias));
    EXPECT_EQ(extents(conv->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 4, -1, 8}));
    conv->setStrideNd(dims({2, 2}));
    EXPECT_EQ(extents(conv->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 4, -1, 4}));
}

TEST_F(Network, C5_aNetworkInputCannotBeAnOutput)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2}));
    network->markOutput(*x);
    EXPECT_EQ(network->getNbOutputs(), 0);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "markOutput"), 1);
}

TEST_F(Network, C6_indicesOutOfRangeAndAbsentInputsAnswerNull)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 4}));
    ISliceLayer* slice = network->addSlice(*x, dims({0, 0}), dims({1, 2}), dims({1, 1}));
    for (int32_t const index : {-1, 1, 99})
    {
        EXPECT_EQ(network->getInput(index), nullptr);
        EXPECT_EQ(network->getOutput(index), nullptr);
        EXPECT_EQ(slice->getInput(index), nullptr);
        EXPECT_EQ(slice->getOutput(index), nullptr);
        EXPECT_EQ(network->getLayer(index), nullptr);
    }
    EXPECT_EQ(slice->getInput(0), x);
    int64_t const two[]{2, 2};
    ITensor* size = network->addConstant(dims({2}), Weights{DataType::kINT64, two, 2})->getOutput(0);
    slice->setInput(2, *size); // Input 1, the start, is optional and absent.
    EXPECT_EQ(slice->getNbInputs(), 3);
    EXPECT_EQ(slice->getInput(1), nullptr);
    EXPECT_EQ(slice->getInput(2), size);
}

TEST_F(Network, C7_removeTensorLeavesTensorsThatLayersUse)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2}));
    ITensor* spare = network->addInput("spare", DataType::kFLOAT, dims({2}));
    network->addUnary(*x, UnaryOperation::kABS);
    network->removeTensor(*x);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "removeTensor"), 1);
    EXPECT_EQ(network->getNbInputs(), 2);
    network->removeTensor(*spare);
    EXPECT_EQ(network->getNbInputs(), 1);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "removeTensor"), 1);
}

TEST_F(Network, C7_removeTensorLeavesOutputsOfLayersReadOrNot)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2}));
    ITensor* inner = network->addUnary(*x, UnaryOperation::kABS)->getOutput(0);
    ILayer* last = network->addUnary(*inner, UnaryOperation::kSIN);
    network->markOutput(*last->getOutput(0));
    for (ITensor* made : {inner, last->getOutput(0)})
        network->removeTensor(*made);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "removeTensor"), 2);
    EXPECT_EQ(last->getInput(0), inner);
    EXPECT_EQ(network->getNbOutputs(), 1);
    EXPECT_EQ(extents(last->getOutput(0)->getDimensions()), std::vector<int64_t>{2});
    EXPECT_NE(buildEngine(), nullptr);
}

TEST_F(Network, C8_onlySomeLayersGrowTheirInputsAndSkippedOnesAreNull)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({4, 6}));
    ITensor* other = network->addInput("other", DataType::kFLOAT, dims({4, 6}));
    ILayer* unary = network->addUnary(*x, UnaryOperation::kABS);
    unary->setInput(1, *other);
    EXPECT_EQ(unary->getNbInputs(), 1);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setInput"), 1);
    unary->setInput(0, *other);
    EXPECT_EQ(unary->getInput(0), other);

    int64_t const size[]{2, 3};
    ITensor* sizes = network->addConstant(dims({2}), Weights{DataType::kINT64, size, 2})->getOutput(0);
    ISliceLayer* slice = network->addSlice(*x, dims({1, 1}), dims({1, 1}), dims({1, 1}));
    slice->setInput(2, *sizes);
    EXPECT_EQ(slice->getNbInputs(), 3);
    EXPECT_EQ(slice->getInput(1), nullptr);
    EXPECT_EQ(slice->getInput(2), sizes);
    EXPECT_EQ(extents(slice->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(slice->getSize().nbDims, -1);
    slice->setSize(dims({3, 2}));
    EXPECT_EQ(slice->getNbInputs(), 1);
    EXPECT_EQ(extents(slice->getOutput(0)->getDimensions()), (std::vector<int64_t>{3, 2}));
}

TEST_F(Network, C8_nmsAndLoopOutputsGrow)
{
    int32_t const two[]{2};
    float const half[]{0.5F};
    ITensor* count = network->addConstant(Dims{0, {}}, Weights{DataType::kINT32, two, 1})->getOutput(0);
    ITensor* limit = network->addConstant(Dims{0, {}}, Weights{DataType::kFLOAT, half, 1})->getOutput(0);
    ITensor* boxes = network->addInput("boxes", DataType::kFLOAT, dims({1, 6, 4}));
    ITensor* scores = network->addInput("scores", DataType::kFLOAT, dims({1, 6, 3}));
    INMSLayer* nms = network->addNMS(*boxes, *scores, *count);
    EXPECT_EQ(nms->getNbInputs(), 3);
    nms->setInput(4, *limit);
    EXPECT_EQ(nms->getNbInputs(), 5);
    EXPECT_EQ(nms->getInput(3), nullptr); // Skipped.
    EXPECT_EQ(nms->getInput(4), limit);
    nms->setInput(5, *limit);
    EXPECT_EQ(nms->getNbInputs(), 5);

    ILoop* loop = network->addLoop();
    loop->addTripLimit(*count, TripLimit::kCOUNT);
    ILoopOutputLayer* all =
        loop->addLoopOutput(*loop->addRecurrence(*boxes)->getOutput(0), LoopOutput::kCONCATENATE, 0);
    EXPECT_EQ(all->getNbInputs(), 1);
    all->setInput(1, *count);
    EXPECT_EQ(all->getNbInputs(), 2);
    EXPECT_EQ(all->getInput(1), count);
    all->setInput(2, *count);
    EXPECT_EQ(all->getNbInputs(), 2);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setInput"), 2) << logger.errors();
}

TEST_F(Network, C8_shuffleResizeAndFillGrow)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({4, 6}));
    int64_t const eight[]{8, 3};
    ITensor* extents2 = network->addConstant(dims({2}), Weights{DataType::kINT64, eight, 2})->getOutput(0);
    IShuffleLayer* shuffle = network->addShuffle(*x);
    EXPECT_EQ(shuffle->getNbInputs(), 1);
    shuffle->setInput(1, *extents2);
    EXPECT_EQ(shuffle->getNbInputs(), 2);
    EXPECT_EQ(extents(shuffle->getOutput(0)->getDimensions()), (std::vector<int64_t>{8, 3}));
    shuffle->setInput(2, *extents2);
    EXPECT_EQ(shuffle->getNbInputs(), 2);

    IResizeLayer* resize = network->addResize(*x);
    resize->setInput(1, *extents2);
    EXPECT_EQ(resize->getNbInputs(), 2);
    EXPECT_EQ(extents(resize->getOutput(0)->getDimensions()), (std::vector<int64_t>{8, 3}));

    float const values[]{0.5F, 2.0F, 3.0F};
    ITensor* alpha = network->addConstant(Dims{0, {}}, Weights{DataType::kFLOAT, values, 1})->getOutput(0);
    ITensor* beta = network->addConstant(dims({2}), Weights{DataType::kFLOAT, values + 1, 2})->getOutput(0);
    IFillLayer* fill = network->addFill(dims({5, 5}), FillOperation::kLINSPACE);
    EXPECT_EQ(fill->getNbInputs(), 0);
    fill->setInput(2, *beta);
    EXPECT_EQ(fill->getNbInputs(), 3);
    EXPECT_EQ(fill->getInput(0), nullptr); // Skipped.
    EXPECT_EQ(fill->getInput(1), nullptr);
    EXPECT_EQ(fill->getInput(2), beta);
    fill->setInput(1, *alpha);
    fill->setInput(0, *extents2);
    EXPECT_EQ(extents(fill->getOutput(0)->getDimensions()), (std::vector<int64_t>{8, 3}));
    fill->setInput(3, *beta);
    EXPECT_EQ(fill->getNbInputs(), 3);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setInput"), 2);
}

TEST_F(Network, C11_dimensionsWithOneNameAreEqualAtRunTime)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 2}));
    ITensor* other = network->addInput("other", DataType::kFLOAT, dims({-1, 2}));
    x->setDimensionName(0, "batch");
    other->setDimensionName(0, "batch");
    EXPECT_STREQ(x->getDimensionName(0), "batch");
    EXPECT_EQ(x->getDimensionName(1), nullptr);
    ITensor* y = network->addElementWise(*x, *other, ElementWiseOperation::kSUM)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (char const* name : {"x", "other"})
    {
        profile->setDimensions(name, OptProfileSelector::kMIN, dims({1, 2}));
        profile->setDimensions(name, OptProfileSelector::kOPT, dims({2, 2}));
        profile->setDimensions(name, OptProfileSelector::kMAX, dims({4, 2}));
    }
    config->addOptimizationProfile(profile);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const a = randomFloats(8, 1);
    std::vector<float> const b = randomFloats(8, 2);
    DeviceArray<float> const first{a};
    DeviceArray<float> const second{b};
    DeviceArray<float> const result{8};
    ASSERT_TRUE(context->setInputShape("x", dims({3, 2})));
    context->setInputTensorAddress("x", first.data());
    context->setInputTensorAddress("other", second.data());
    context->setOutputTensorAddress("y", result.data());
    bool const accepted = context->setInputShape("other", dims({4, 2}));
    EXPECT_FALSE(accepted && context->enqueueV3(stream()));
    ASSERT_TRUE(context->setInputShape("other", dims({3, 2})));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    std::vector<float> const sum = result.read();
    for (size_t i = 0; i < 6; ++i)
        EXPECT_FLOAT_EQ(sum[i], a[i] + b[i]);
    x->setDimensionName(0, nullptr);
    EXPECT_EQ(x->getDimensionName(0), nullptr);
}

//! Nothing but the names makes the extents of these inputs equal.
TEST_F(Network, C11_namesAloneMakeExtentsEqualUntilNullClearsThem)
{
    for (bool const isNamed : {true, false})
    {
        SCOPED_TRACE(isNamed);
        network.reset(builder->createNetworkV2(0));
        config.reset(builder->createBuilderConfig());
        IOptimizationProfile& profile = *builder->createOptimizationProfile();
        for (char const* const name : {"x", "other"})
        {
            ITensor& input = *network->addInput(name, DataType::kFLOAT, dims({-1, 2}));
            input.setDimensionName(0, "batch");
            if (!isNamed)
                input.setDimensionName(0, nullptr);
            ITensor& output = *network->addUnary(input, UnaryOperation::kABS)->getOutput(0);
            output.setName((std::string{"of "} + name).c_str());
            network->markOutput(output);
            for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
                ASSERT_TRUE(profile.setDimensions(name, select, dims({1 + 2 * static_cast<int64_t>(select), 2})));
        }
        ASSERT_EQ(config->addOptimizationProfile(&profile), 0);
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        std::array<DeviceArray<float>, 4> const memory{DeviceArray<float>{randomFloats(10, 1)},
            DeviceArray<float>{randomFloats(10, 2)}, DeviceArray<float>{10}, DeviceArray<float>{10}};
        for (size_t i = 0; i < memory.size(); ++i)
            ASSERT_TRUE(context->setTensorAddress(engine->getIOTensorName(static_cast<int32_t>(i)), memory[i].data()));
        auto const runs = [&](int64_t first, int64_t second) {
            return context->setInputShape("x", dims({first, 2})) && context->setInputShape("other", dims({second, 2}))
                && runToEnd(*context);
        };
        EXPECT_EQ(runs(3, 4), !isNamed);
        context->setInputShape("x", dims({4, 2}));
        EXPECT_TRUE(runs(4, 4)) << logger.errors();
    }
}

TEST_F(Network, C13_weightsAreReadUntilTheBuildEndsAndNotAfterwards)
{
    auto kernel = std::make_unique<std::vector<float>>(convRelu.kernel);
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 3, 8, 10}));
    IConvolutionLayer* conv = network->addConvolutionNd(*x, 4, dims({3, 3}), weights(*kernel), weights(convRelu.bias));
    conv->setPaddingNd(dims({1, 1}));
    ITensor* y = network->addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    EXPECT_EQ(conv->getKernelWeights().values, kernel->data());
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::fill(kernel->begin(), kernel->end(), 1e9F);
    kernel.reset();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    runAndCompare(*context, 1, 8, 5);
}

TEST_F(Network, B8_anErrorNamesWeightsByTheirLayer)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({1, 3, 8, 8}));
    std::vector<int32_t> const whole(4 * 3 * 3 * 3, 1);
    Weights const kernel{DataType::kINT32, whole.data(), static_cast<int64_t>(whole.size())};
    IConvolutionLayer* conv = network->addConvolutionNd(*x, 4, dims({3, 3}), kernel, {});
    ASSERT_NE(conv, nullptr);
    conv->setName("a convolution whose name is long enough for the heap");
    conv->getOutput(0)->getDimensions();
    EXPECT_NE(logger.errors().find("input 1 'a convolution whose name is long enough for the heap.kernel'"),
        std::string::npos)
        << logger.errors();
}

TEST_F(Network, C14_allFormatsAreAllowedUntilSaidOtherwise)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2}));
    EXPECT_EQ(x->getAllowedFormats(), (1U << EnumMax<TensorFormat>()) - 1U);
    x->setAllowedFormats(1U << static_cast<uint32_t>(TensorFormat::kLINEAR));
    EXPECT_EQ(x->getAllowedFormats(), 1U);
}

TEST_F(Network, C14_formatsThatAreNotForTheTypeAreRefusedByName)
{
    KeepingRecorder recorder;
    convRelu.add(*network, dims({1, 3, 8, 10}));
    network->setErrorRecorder(&recorder);
    auto const bit = [](TensorFormat format) { return 1U << static_cast<uint32_t>(format); };
    for (ITensor* const tensor : {network->getInput(0), network->getOutput(0)})
    {
        SCOPED_TRACE(tensor->getName());
        for (uint32_t const formats : {bit(TensorFormat::kCHW4), bit(TensorFormat::kDHWC) | bit(TensorFormat::kHWC8)})
        {
            recorder.clear();
            tensor->setAllowedFormats(formats);
            EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
            ASSERT_EQ(recorder.getNbErrors(), 1);
            EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_CONFIG);
            EXPECT_NE(std::string{recorder.getErrorDesc(0)}.find("allow kLINEAR"), std::string::npos);
        }
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "tensor '" + std::string{tensor->getName()} + "' allows"), 2)
            << logger.errors();
        tensor->setAllowedFormats(bit(TensorFormat::kCHW4) | bit(TensorFormat::kLINEAR));
    }
    EXPECT_NE(buildEngine(), nullptr) << "linear is among them";
    network->setErrorRecorder(nullptr);
}

TEST_F(Network, C14_shapeTensorsAreLinear)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1}));
    ITensor* size = network->addInput("size", DataType::kINT64, dims({2}));
    IShuffleLayer* shuffle = network->addShuffle(*x);
    shuffle->setInput(1, *size);
    network->markOutput(*shuffle->getOutput(0));
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    int64_t const values[]{2, 3};
    for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    {
        profile->setDimensions("x", select, dims({6}));
        profile->setShapeValuesV2("size", select, values, 2);
    }
    config->addOptimizationProfile(profile);
    size->setAllowedFormats(1U << static_cast<uint32_t>(TensorFormat::kCHW4));
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'size' allows the formats"), 1);
    size->setAllowedFormats(1U << static_cast<uint32_t>(TensorFormat::kLINEAR));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getTensorFormat("size"), TensorFormat::kLINEAR);
}

} // namespace apitest
