// Networks whose dims leave the batch out: when a network is one, what runs, and what engines and contexts answer.
#include "api/fixture.h"
#include "support/era_networks.h"

#include <array>
#include <functional>
#include <set>

namespace apitest
{
namespace
{

constexpr int32_t kLimit{5};
constexpr int32_t kSmallest{2}; //!< That the first profile of an explicit network takes at most.
constexpr uint32_t kExplicit{1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)};

//! Networks of one function are engines of all three kinds. An input or output tensor has `perSample` elements.
class ImplicitBatch : public ApiTest
{
  protected:
    std::unique_ptr<IExecutionContext> contextOf(ICudaEngine& engine)
    {
        return std::unique_ptr<IExecutionContext>{engine.createExecutionContext()};
    }
    //! A network of the builder with that max batch size.
    void begin(int32_t most = kLimit)
    {
        builder->setMaxBatchSize(most);
        network.reset(builder->createNetworkV2(0));
    }
    ITensor* input(char const* name, std::vector<int64_t> const& extents, DataType type = DataType::kFLOAT)
    {
        return network->addInput(name, type, dims(extents));
    }
    void mark(ITensor& tensor, char const* name)
    {
        tensor.setName(name);
        network->markOutput(tensor);
    }
    ITensor* constantOf(std::vector<int64_t> const& extents, std::vector<float> const& values)
    {
        return network->addConstant(dims(extents), weights(values))->getOutput(0);
    }
    //! Runs each batch up to kLimit and compares with what `expected` makes of x, sample by sample.
    using Expected = std::function<std::vector<float>(std::vector<float> const& sample)>;
    void runAll(ICudaEngine& engine, size_t inputs, size_t outputs, Expected const& expected)
    {
        auto const context = contextOf(engine);
        for (int32_t batch = 1; batch <= engine.getMaxBatchSize(); ++batch)
        {
            std::vector<float> const values =
                randomFloats(inputs * static_cast<size_t>(batch), 50U + static_cast<uint32_t>(batch));
            std::vector<float> want;
            for (size_t i = 0; i < static_cast<size_t>(batch); ++i)
            {
                auto const sample = expected({values.begin() + static_cast<std::ptrdiff_t>(i * inputs),
                    values.begin() + static_cast<std::ptrdiff_t>((i + 1) * inputs)});
                want.insert(want.end(), sample.begin(), sample.end());
            }
            DeviceArray<float> const x{values};
            DeviceArray<float> const y{outputs * static_cast<size_t>(batch)};
            void* bindings[]{x.data(), y.data()};
            ASSERT_TRUE(context->execute(batch, bindings)) << logger.errors();
            expectNear(y.read(), want);
        }
    }
};

TEST_F(ImplicitBatch, C15_aNetworkIsImplicitWithoutTheBitWhereTheBuilderHasAMaxBatchSize)
{
    EXPECT_EQ(builder->getMaxBatchSize(), 1);
    EXPECT_FALSE(network->hasImplicitBatchDimension());
    builder->setMaxBatchSize(kLimit);
    EXPECT_EQ(builder->getMaxBatchSize(), kLimit);
    EXPECT_TRUE(network->hasImplicitBatchDimension()) << "before the build is early enough";
    network.reset(builder->createNetworkV2(kExplicit));
    EXPECT_FALSE(network->hasImplicitBatchDimension()) << "the bit says otherwise";
    builder->setMaxBatchSize(0);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setMaxBatchSize"), 1);
    EXPECT_EQ(builder->getMaxBatchSize(), kLimit);
    builder->reset();
    EXPECT_EQ(builder->getMaxBatchSize(), 1);
    network.reset(builder->createNetworkV2(0));
    EXPECT_FALSE(network->hasImplicitBatchDimension());
}

TEST_F(ImplicitBatch, C15_callersOfTheirHeadersOfEightMeanAnImplicitBatch)
{
    network.reset(builder->createNetworkV2(impl::kCOMPAT_8_NETWORK));
    EXPECT_TRUE(network->hasImplicitBatchDimension());
    EXPECT_EQ(network->getFlags(), 0U) << "the mark is no flag";
    EXPECT_EQ(logger.errors(), "");
    network.reset(builder->createNetworkV2(impl::kCOMPAT_8_NETWORK | kExplicit));
    EXPECT_FALSE(network->hasImplicitBatchDimension());
}

TEST_F(ImplicitBatch, everyBatchUpToTheMaximumRuns)
{
    begin();
    convRelu.add(*network, dims({3, 8, 10}));
    EXPECT_EQ(extents(network->getOutput(0)->getDimensions()), (std::vector<int64_t>{4, 8, 10}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    runAll(*engine, 3 * 8 * 10, 4 * 8 * 10,
        [&](std::vector<float> const& sample) { return convRelu.expected(sample, 1, 8, 10); });
    KeepingRecorder recorder; // Runs have it until they are over.
    auto const context = contextOf(*engine);
    DeviceArray<float> const x{randomFloats(240 * 6, 1)};
    DeviceArray<float> const y{size_t{320 * 6}};
    void* bindings[]{x.data(), y.data()};
    context->setErrorRecorder(&recorder);
    for (int32_t const batch : {kLimit + 1, 0, -1})
    {
        EXPECT_FALSE(context->execute(batch, bindings)) << batch;
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT);
        EXPECT_FALSE(context->enqueue(batch, bindings, stream(), nullptr));
    }
    EXPECT_FALSE(context->execute(1, nullptr));
    EXPECT_TRUE(context->enqueue(3, bindings, stream(), nullptr)) << "the context runs on";
    context->setErrorRecorder(nullptr);
}

TEST_F(ImplicitBatch, aMaxBatchSizeAfterTheLayersIsEarlyEnough)
{
    convRelu.add(*network, dims({3, 8, 10}));
    EXPECT_EQ(extents(network->getOutput(0)->getDimensions()), (std::vector<int64_t>{4, 8, 10}))
        << "layers take the ranks of a sample before anybody knows";
    builder->setMaxBatchSize(2);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    runAll(*engine, 240, 320, [&](std::vector<float> const& sample) { return convRelu.expected(sample, 1, 8, 10); });
}

TEST_F(ImplicitBatch, O_answersOfTheEngineLeaveTheBatchOut)
{
    begin();
    convRelu.add(*network, dims({3, 8, 10}));
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    ASSERT_NE(plan, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    for (bool const again : {false, true}) // O7: stored and loaded once more, the same.
    {
        ASSERT_NE(engine, nullptr);
        std::vector<int64_t> const x{3, 8, 10};
        EXPECT_TRUE(engine->hasImplicitBatchDimension());
        EXPECT_EQ(engine->getMaxBatchSize(), kLimit);
        EXPECT_EQ(engine->getNbOptimizationProfiles(), 1);
        EXPECT_EQ(engine->getNbBindings(), 2);
        EXPECT_EQ(extents(engine->getTensorShape("x")), x);
        EXPECT_EQ(extents(engine->getBindingDimensions(0)), x);
        EXPECT_EQ(extents(engine->getBindingDimensions(1)), (std::vector<int64_t>{4, 8, 10}));
        EXPECT_EQ(extents(engine->getProfileDimensions(0, 0, OptProfileSelector::kMAX)), x);
        auto const context = contextOf(*engine);
        EXPECT_EQ(extents(context->getBindingDimensions(1)), (std::vector<int64_t>{4, 8, 10}));
        EXPECT_EQ(extents(context->getTensorShape("x")), x);
        EXPECT_EQ(extents(context->getStrides(0)), (std::vector<int64_t>{80, 10, 1}));
        EXPECT_TRUE(context->allInputDimensionsSpecified());
        EXPECT_EQ(context->inferShapes(0, nullptr), 0);
        EXPECT_GE(context->getMaxOutputSize("y"), kLimit * 320 * 4);
        if (!again)
        {
            std::unique_ptr<IHostMemory> const stored{engine->serialize()};
            engine.reset(runtime->deserializeCudaEngine(stored->data(), stored->size()));
        }
    }
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    EXPECT_NE(
        std::string{inspector->getEngineInformation(LayerInformationFormat::kJSON)}.find("conv"), std::string::npos);
}

TEST_F(ImplicitBatch, Q25_callsWithFullDimsFailOnAnImplicitEngine)
{
    begin();
    convRelu.add(*network, dims({3, 8, 10}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    auto const context = contextOf(*engine);
    KeepingRecorder recorder;
    context->setErrorRecorder(&recorder);
    DeviceArray<float> const x{randomFloats(240, 1)};
    DeviceArray<float> const y{size_t{320}};
    void* bindings[]{x.data(), y.data()};
    EXPECT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    std::vector<std::function<bool()>> const calls{[&] { return context->enqueueV3(stream()); },
        [&] { return context->executeV2(bindings); }, [&] { return context->enqueueV2(bindings, stream(), nullptr); },
        [&] {
            return context->setInputShape("x", dims({1, 3, 8, 10}));
        },
        [&] {
            return context->setBindingDimensions(0, dims({3, 8, 10}));
        }};
    for (size_t i = 0; i < calls.size(); ++i)
    {
        EXPECT_FALSE(calls[i]()) << i;
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_STATE) << i;
        EXPECT_EQ(recorder.getNbErrors(), static_cast<int32_t>(i) + 1);
    }
    EXPECT_TRUE(context->execute(1, bindings)) << logger.errors();
    context->setErrorRecorder(nullptr);
}

TEST_F(ImplicitBatch, S4_onAnExplicitEngineTheBatchSizeHasNoEffectAndOneWarning)
{
    network.reset(builder->createNetworkV2(kExplicit));
    convRelu.add(*network, dims({2, 3, 8, 10}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getMaxBatchSize(), 1);
    auto const context = contextOf(*engine);
    std::vector<float> const values = randomFloats(480, 3);
    DeviceArray<float> const x{values};
    for (int32_t const batch : {1, 7, 0})
    {
        DeviceArray<float> const y{size_t{640}};
        void* bindings[]{x.data(), y.data()};
        ASSERT_TRUE(context->execute(batch, bindings)) << logger.errors();
        expectNear(y.read(), convRelu.expected(values, 2, 8, 10));
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "kEXPLICIT_BATCH"), 1);
}

TEST_F(ImplicitBatch, S4_whoNeverSaidWhichBatchIsToldToSetIt)
{
    convRelu.add(*network, dims({2, 3, 8, 10}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_FALSE(engine->hasImplicitBatchDimension());
    auto const context = contextOf(*engine);
    std::vector<float> const values = randomFloats(480, 3);
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{size_t{640}};
    void* bindings[]{x.data(), y.data()};
    EXPECT_FALSE(context->execute(2, bindings));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setMaxBatchSize"), 1);
    ASSERT_TRUE(context->execute(1, bindings)) << "one run, of all that the dims hold";
    expectNear(y.read(), convRelu.expected(values, 2, 8, 10));
}

TEST_F(ImplicitBatch, aLayerWithTheRankOfASampleFailsByNameWhereTheNetworkIsExplicit)
{
    convRelu.add(*network, dims({3, 8, 10}));
    EXPECT_EQ(std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)}, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'conv'] Convolution: input 'x'"), 1) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "setMaxBatchSize"), 1);
    network.reset(builder->createNetworkV2(kExplicit));
    convRelu.add(*network, dims({3, 8, 10}));
    EXPECT_EQ(extents(network->getOutput(0)->getDimensions()), (std::vector<int64_t>{-99})) << "no sample here";
}

TEST_F(ImplicitBatch, layersWithoutAFormForABatchFailByName)
{
    begin();
    ITensor* x = input("x", {3, 4});
    ILayer* shape = network->addShape(*x);
    shape->setName("extents of x");
    mark(*shape->getOutput(0), "y");
    EXPECT_EQ(std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)}, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "extents of x"), 1) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "implicit batch"), 1);
}

TEST_F(ImplicitBatch, extentsOfRunTimeAreRefusedByName)
{
    begin();
    ITensor* x = input("x", {-1, 4});
    mark(*network->addActivation(*x, ActivationType::kRELU)->getOutput(0), "y");
    EXPECT_EQ(std::unique_ptr<IHostMemory>{builder->buildSerializedNetwork(*network, *config)}, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "input 'x'"), 1) << logger.errors();
}

// ---- layers

TEST_F(ImplicitBatch, shufflesSlicesAndReductionsKeepTheBatchInFront)
{
    begin();
    ITensor* x = input("x", {2, 3, 4});
    IShuffleLayer* turned = network->addShuffle(*x);
    turned->setFirstTranspose({{2, 0, 1}});
    turned->setReshapeDimensions(dims({0, -1})); // 0 copies the 4.
    ISliceLayer* cut = network->addSlice(*turned->getOutput(0), dims({1, 0}), dims({2, 3}), dims({2, 2}));
    IReduceLayer* sum = network->addReduce(*cut->getOutput(0), ReduceOperation::kSUM, 1U << 1, false);
    mark(*sum->getOutput(0), "y");
    EXPECT_EQ(extents(turned->getOutput(0)->getDimensions()), (std::vector<int64_t>{4, 6}));
    EXPECT_EQ(extents(sum->getOutput(0)->getDimensions()), (std::vector<int64_t>{2}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    runAll(*engine, 24, 2, [](std::vector<float> const& x) {
        std::vector<float> y;
        for (size_t const row : {1, 3})
        {
            float all{0.0F};
            for (size_t const column : {0, 2, 4})
                all += x[column * 4 + row];
            y.push_back(all);
        }
        return y;
    });
}

TEST_F(ImplicitBatch, whatAllSamplesShareIsRepeatedWhereItStandsBesideThem)
{
    begin();
    std::vector<float> const shared = randomFloats(4, 9);
    ITensor* x = input("x", {3, 4});
    ITensor* both[]{constantOf({1, 4}, shared), x};
    IConcatenationLayer* joined = network->addConcatenation(both, 2);
    joined->setAxis(0);
    mark(*joined->getOutput(0), "y");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    runAll(*engine, 12, 16, [&](std::vector<float> const& x) {
        std::vector<float> y = shared;
        y.insert(y.end(), x.begin(), x.end());
        return y;
    });
}

TEST_F(ImplicitBatch, topKSoftMaxScaleAndResizeWorkSampleBySample)
{
    begin();
    std::vector<float> const factors = randomFloats(2 * 1 * 3, 4);
    ITensor* x = input("x", {2, 1, 3});
    IScaleLayer* scaled = network->addScale(
        *x, ScaleMode::kELEMENTWISE, {DataType::kFLOAT, nullptr, 0}, weights(factors), {DataType::kFLOAT, nullptr, 0});
    ISoftMaxLayer* soft = network->addSoftMax(*scaled->getOutput(0));
    soft->setAxes(1U << 2);
    IResizeLayer* resized = network->addResize(*soft->getOutput(0));
    resized->setOutputDimensions(dims({2, 2, 6}));
    ITopKLayer* best = network->addTopK(*resized->getOutput(0), TopKOperation::kMAX, 1, 1U << 2);
    mark(*best->getOutput(0), "y");
    network->markOutput(*best->getOutput(1));
    best->getOutput(1)->setName("where");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    auto const context = contextOf(*engine);
    constexpr size_t kBatch{3};
    std::vector<float> const values = randomFloats(kBatch * 6, 6);
    DeviceArray<float> const in{values};
    DeviceArray<float> const y{kBatch * 4};
    DeviceArray<int32_t> const where{kBatch * 4};
    void* bindings[]{in.data(), y.data(), where.data()};
    ASSERT_TRUE(context->execute(kBatch, bindings)) << logger.errors();
    for (size_t row = 0; row < kBatch * 2; ++row)
    {
        std::vector<double> e;
        for (size_t i = 0; i < 3; ++i)
            e.push_back(std::exp(static_cast<double>(values[row * 3 + i] * factors[row % 2 * 3 + i])));
        auto const peak = std::max_element(e.begin(), e.end());
        for (size_t copy = 0; copy < 2; ++copy)
        {
            EXPECT_NEAR(y.read()[row * 2 + copy], *peak / (e[0] + e[1] + e[2]), 1e-5);
            EXPECT_EQ(where.read()[row * 2 + copy], 2 * (peak - e.begin()));
        }
    }
}

TEST_F(ImplicitBatch, gathersReadFromEachSampleOrFromOneTable)
{
    begin();
    std::vector<float> const table = randomFloats(5 * 2, 9);
    ITensor* x = input("x", {3, 4});
    ITensor* at = input("at", {2}, DataType::kINT32);
    ITensor* words = network->addGather(*constantOf({5, 2}, table), *at, 0)->getOutput(0);
    ITensor* rows = network->addGather(*x, *at, 0)->getOutput(0);
    ITensor* columns = network->addGather(*x, *at, 1)->getOutput(0);
    EXPECT_EQ(extents(words->getDimensions()), (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(extents(columns->getDimensions()), (std::vector<int64_t>{3, 2}));
    mark(*words, "words");
    mark(*rows, "rows");
    mark(*columns, "columns");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    auto const context = contextOf(*engine);
    constexpr size_t kBatch{2};
    std::vector<float> const values = randomFloats(kBatch * 12, 6);
    std::vector<int32_t> const indices{2, 0, 1, 2};
    DeviceArray<float> const in{values};
    DeviceArray<int32_t> const where{indices};
    DeviceArray<float> const outWords{kBatch * 4};
    DeviceArray<float> const outRows{kBatch * 8};
    DeviceArray<float> const outColumns{kBatch * 6};
    void* bindings[]{in.data(), where.data(), outWords.data(), outRows.data(), outColumns.data()};
    ASSERT_TRUE(context->execute(kBatch, bindings)) << logger.errors();
    for (size_t b = 0; b < kBatch; ++b)
        for (size_t i = 0; i < 2; ++i)
        {
            auto const index = static_cast<size_t>(indices[b * 2 + i]);
            for (size_t k = 0; k < 2; ++k)
                EXPECT_EQ(outWords.read()[(b * 2 + i) * 2 + k], table[index * 2 + k]);
            for (size_t k = 0; k < 4; ++k)
                EXPECT_EQ(outRows.read()[(b * 2 + i) * 4 + k], values[b * 12 + index * 4 + k]);
            for (size_t row = 0; row < 3; ++row)
                EXPECT_EQ(outColumns.read()[(b * 3 + row) * 2 + i], values[b * 12 + row * 4 + index]);
        }
}

TEST_F(ImplicitBatch, anInputThatIsBroadcastHasOneCopyForAllSamples)
{
    begin();
    ITensor* x = input("x", {2, 3});
    ITensor* s = input("s", {2, 3});
    s->setBroadcastAcrossBatch(true);
    EXPECT_TRUE(s->getBroadcastAcrossBatch());
    EXPECT_FALSE(x->getBroadcastAcrossBatch());
    ITensor* sum = network->addElementWise(*x, *s, ElementWiseOperation::kSUM)->getOutput(0);
    ITensor* alone = network->addActivation(*s, ActivationType::kRELU)->getOutput(0);
    EXPECT_FALSE(sum->getBroadcastAcrossBatch());
    EXPECT_TRUE(alone->getBroadcastAcrossBatch()) << "it follows from what all samples share";
    mark(*sum, "sum");
    mark(*alone, "alone");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(extents(engine->getBindingDimensions(1)), (std::vector<int64_t>{2, 3}));
    auto const context = contextOf(*engine);
    for (size_t const batch : {4, 1})
    {
        std::vector<float> const values = randomFloats(batch * 6, 6);
        std::vector<float> const shared = randomFloats(6, 7);
        DeviceArray<float> const in{values};
        DeviceArray<float> const one{shared};
        DeviceArray<float> const all{batch * 6};
        DeviceArray<float> const once{size_t{6}};
        void* bindings[]{in.data(), one.data(), all.data(), once.data()};
        ASSERT_TRUE(context->execute(static_cast<int32_t>(batch), bindings)) << logger.errors();
        for (size_t i = 0; i < values.size(); ++i)
            EXPECT_EQ(all.read()[i], values[i] + shared[i % 6]);
        for (size_t i = 0; i < 6; ++i)
            EXPECT_EQ(once.read()[i], std::max(shared[i], 0.0F));
    }
}

TEST_F(ImplicitBatch, aConvolutionOfAConstantIsComputedOnce)
{
    begin();
    std::vector<float> const image = randomFloats(3 * 4 * 5, 2);
    ITensor* x = input("x", {4, 4, 5});
    auto* conv = network->addConvolutionNd(
        *constantOf({3, 4, 5}, image), 4, dims({3, 3}), weights(convRelu.kernel), weights(convRelu.bias));
    conv->setPaddingNd(dims({1, 1}));
    ITensor* relu = network->addActivation(*conv->getOutput(0), ActivationType::kRELU)->getOutput(0);
    mark(*network->addElementWise(*x, *relu, ElementWiseOperation::kSUM)->getOutput(0), "y");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<float> const added = convRelu.expected(image, 1, 4, 5);
    runAll(*engine, 80, 80, [&](std::vector<float> const& x) {
        std::vector<float> y = x;
        for (size_t i = 0; i < y.size(); ++i)
            y[i] += added[i];
        return y;
    });
}

TEST_F(ImplicitBatch, fullyConnectedTakesTheLastThreeAxesAsOneVector)
{
    std::vector<float> const kernel = randomFloats(7 * 24, 1);
    std::vector<float> const bias = randomFloats(7, 2);
    auto const expected = [&](std::vector<float> const& x) {
        std::vector<float> y;
        for (size_t row = 0; row * 24 < x.size(); ++row)
            for (size_t i = 0; i < 7; ++i)
            {
                double all = bias[i];
                for (size_t k = 0; k < 24; ++k)
                    all += static_cast<double>(x[row * 24 + k]) * static_cast<double>(kernel[i * 24 + k]);
                y.push_back(static_cast<float>(all));
            }
        return y;
    };
    begin();
    IFullyConnectedLayer* layer = network->addFullyConnected(*input("x", {2, 3, 4}), 6, weights(kernel), weights(bias));
    EXPECT_EQ(layer->getType(), LayerType::kFULLY_CONNECTED);
    layer->setNbOutputChannels(7);
    EXPECT_EQ(layer->getNbOutputChannels(), 7);
    EXPECT_EQ(layer->getKernelWeights().values, kernel.data());
    EXPECT_EQ(layer->getBiasWeights().count, 7);
    EXPECT_EQ(extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{7, 1, 1}));
    mark(*layer->getOutput(0), "y");
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    runAll(*engine, 24, 7, expected);

    begin();
    layer = network->addFullyConnected(*input("x", {5, 2, 3, 4}), 7, weights(kernel), weights(bias));
    EXPECT_EQ(extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{5, 7, 1, 1}));
    mark(*layer->getOutput(0), "y");
    engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    runAll(*engine, 5 * 24, 5 * 7, expected);
}

// ---- whole networks

using tenon::test::BatchMode;
using tenon::test::EraNetwork;
using tenon::test::WeightStore;

//! One tensor of a network: elements of a sample.
struct Port
{
    char const* name;
    size_t perSample;
    bool isTokens{false};
};

class SameNetwork : public ImplicitBatch
{
  protected:
    template <BatchMode kMode, typename Add>
    std::unique_ptr<ICudaEngine> engineOf(Add&& add)
    {
        WeightStore store;
        builder->reset();
        config.reset(builder->createBuilderConfig());
        if (kMode == BatchMode::kImplicit)
            begin(kLimit);
        else
            network.reset(builder->createNetworkV2(kExplicit));
        EraNetwork<kMode> era{*network, store};
        add(era);
        if (kMode == BatchMode::kExplicit)
            for (int64_t const most : {kSmallest, kLimit})
                addBatchProfile(most);
        return buildEngine();
    }
    void addBatchProfile(int64_t most)
    {
        IOptimizationProfile* profile = builder->createOptimizationProfile();
        ITensor const& in = *network->getInput(0);
        Dims shape = in.getDimensions();
        for (auto const& [select, batch] : {std::pair{OptProfileSelector::kMIN, int64_t{1}},
                 std::pair{OptProfileSelector::kOPT, most}, std::pair{OptProfileSelector::kMAX, most}})
        {
            shape.d[0] = batch;
            ASSERT_TRUE(profile->setDimensions(in.getName(), select, shape));
        }
        ASSERT_GE(config->addOptimizationProfile(profile), 0);
    }
    static std::vector<float> contents(Port const& port, size_t batch)
    {
        std::vector<float> values = randomFloats(port.perSample * batch, 31);
        if (port.isTokens)
            for (size_t i = 0; i < values.size(); ++i)
            {
                auto const token = static_cast<int32_t>(std::abs(values[i]) * 1000.0F) % 50;
                std::memcpy(&values[i], &token, sizeof(token));
            }
        return values;
    }

    //! Runs one batch by `run`, which gets addresses in I/O order, and gives all outputs.
    using Run = std::function<bool(std::vector<void*> const& bindings)>;
    std::vector<std::vector<float>> outputsOf(std::vector<Port> const& ports, size_t batch, Run const& run)
    {
        std::vector<DeviceArray<float>> memory;
        memory.emplace_back(contents(ports.front(), batch));
        for (size_t i = 1; i < ports.size(); ++i)
            memory.emplace_back(ports[i].perSample * batch);
        std::vector<void*> bindings;
        for (DeviceArray<float> const& each : memory)
            bindings.push_back(each.data());
        EXPECT_TRUE(run(bindings)) << logger.errors();
        tenon::test::deviceUnderTest().synchronize();
        std::vector<std::vector<float>> all;
        for (size_t i = 1; i < ports.size(); ++i)
            all.push_back(memory[i].read());
        return all;
    }

    //! The ways to run a batch give the same, bit by bit.
    void compare(ICudaEngine& implicit, ICudaEngine& full, std::vector<Port> const& ports)
    {
        auto const old = contextOf(implicit);
        std::array const byIndex{contextOf(full), contextOf(full)}; // One with each profile.
        std::array const byName{contextOf(full), contextOf(full)};
        ASSERT_TRUE(byIndex[1]->setOptimizationProfileAsync(1, stream()));
        ASSERT_TRUE(byName[1]->setOptimizationProfileAsync(1, stream()));
        auto const count = static_cast<std::ptrdiff_t>(ports.size());
        for (int32_t const batch : {1, 3, static_cast<int32_t>(kLimit), 2})
        {
            auto const size = static_cast<size_t>(batch);
            auto const want =
                outputsOf(ports, size, [&](auto const& bindings) { return old->execute(batch, bindings.data()); });
            EXPECT_EQ(
                outputsOf(ports, size,
                    [&](auto const& bindings) { return old->enqueue(batch, bindings.data(), stream(), nullptr); }),
                want);
            Dims shape = full.getTensorShape(ports.front().name);
            shape.d[0] = batch;
            for (size_t profile = batch <= kSmallest ? 0 : 1; profile < 2; ++profile)
            {
                SCOPED_TRACE("profile " + std::to_string(profile) + ", batch " + std::to_string(batch));
                auto const second = outputsOf(ports, size, [&](auto const& bindings) {
                    auto const first = static_cast<std::ptrdiff_t>(profile) * count;
                    std::vector<void*> all(static_cast<size_t>(2 * count), nullptr);
                    std::copy(bindings.begin(), bindings.end(), all.begin() + first);
                    return byIndex[profile]->setBindingDimensions(static_cast<int32_t>(first), shape)
                        && byIndex[profile]->enqueueV2(all.data(), stream(), nullptr);
                });
                EXPECT_EQ(second, want) << "V2 bindings";
                auto const third = outputsOf(ports, size, [&](auto const& bindings) {
                    bool done = byName[profile]->setInputShape(ports.front().name, shape);
                    for (size_t i = 0; i < ports.size(); ++i)
                        done = done && byName[profile]->setTensorAddress(ports[i].name, bindings[i]);
                    return done && byName[profile]->enqueueV3(stream());
                });
                EXPECT_EQ(third, want) << "V3";
            }
            expectOfEachSample(want, size);
        }
    }
    //! All finite, and no two samples have the same.
    static void expectOfEachSample(std::vector<std::vector<float>> const& outputs, size_t batch)
    {
        for (auto const& output : outputs)
        {
            for (float const value : output)
                ASSERT_TRUE(std::isfinite(value));
            std::set<std::vector<float>> samples;
            auto const perSample = static_cast<std::ptrdiff_t>(output.size() / batch);
            for (auto at = output.begin(); at != output.end(); at += perSample)
                samples.emplace(at, at + perSample);
            EXPECT_EQ(samples.size(), batch);
        }
    }
};

TEST_F(SameNetwork, S7_resNet18GivesTheSameAsImplicitBatchByIndexAndByName)
{
    auto const add = [](auto& era) { era.addResNet18(64, 100); };
    auto const implicit = engineOf<BatchMode::kImplicit>(add);
    auto const full = engineOf<BatchMode::kExplicit>(add);
    ASSERT_TRUE(implicit != nullptr && full != nullptr);
    EXPECT_EQ(extents(implicit->getTensorShape("scores")), (std::vector<int64_t>{100, 1, 1}));
    EXPECT_EQ(extents(full->getTensorShape("scores")), (std::vector<int64_t>{-1, 100, 1, 1}));
    compare(*implicit, *full, {{"x", 3 * 64 * 64}, {"scores", 100}});
}

TEST_F(SameNetwork, S7_anEncoderGivesTheSameAsImplicitBatchByIndexAndByName)
{
    auto const add = [](auto& era) { era.addEncoder(12, 32, 4); };
    auto const implicit = engineOf<BatchMode::kImplicit>(add);
    auto const full = engineOf<BatchMode::kExplicit>(add);
    ASSERT_TRUE(implicit != nullptr && full != nullptr);
    EXPECT_EQ(extents(implicit->getTensorShape("states")), (std::vector<int64_t>{12, 32}));
    compare(*implicit, *full, {{"tokens", 12, true}, {"states", 12 * 32}, {"first", 32}});
}

} // namespace
} // namespace apitest
