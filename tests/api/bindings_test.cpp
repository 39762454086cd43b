// Tensors by binding index, as 8.x programs name them (rules P11, Q25; seed 004): queries, shapes, values, runs.
#include "two_profiles.h"

#include "as_in_8.h"
#include "tenon/bindings.h"

namespace apitest
{

class Bindings : public TwoProfiles
{
  protected:
    //! Runs with the addresses of profile 1 alone among those of both, and compares.
    template <typename Run>
    void runSecondProfile(Run&& run)
    {
        ASSERT_TRUE(context->setOptimizationProfile(1)) << logger.errors();
        ASSERT_TRUE(context->setBindingDimensions(2, dims({1, 3, 22, 10}))) << logger.errors();
        std::vector<float> const values = randomFloats(1 * 3 * 22 * 10, 17);
        DeviceArray<float> const x{values};
        DeviceArray<float> const y{1 * 4 * 22 * 10};
        void* const bindings[]{nullptr, nullptr, x.data(), y.data()};
        ASSERT_TRUE(run(bindings)) << logger.errors();
        expectNear(y.read(), convRelu.expected(values, 1, 22, 10));
    }
};

TEST_F(Bindings, P11_bindingsAreTensorsTimesProfiles)
{
    ASSERT_EQ(engine->getNbBindings(), 4);
    std::vector<std::string> const names{"x", "y", "x [profile 1]", "y [profile 1]"};
    for (int32_t i = 0; i < 4; ++i)
    {
        EXPECT_EQ(engine->getBindingName(i), names[static_cast<size_t>(i)]);
        EXPECT_EQ(engine->getBindingIndex(names[static_cast<size_t>(i)].c_str()), i);
        EXPECT_EQ(engine->bindingIsInput(i), i % 2 == 0);
        EXPECT_EQ(engine->getBindingDataType(i), DataType::kFLOAT);
        EXPECT_EQ(extents(engine->getBindingDimensions(i)), (std::vector<int64_t>{-1, i % 2 == 0 ? 3 : 4, -1, 10}));
        EXPECT_EQ(engine->getLocation(i), TensorLocation::kDEVICE);
        EXPECT_EQ(engine->getBindingFormat(i), TensorFormat::kLINEAR);
        EXPECT_STRNE(engine->getBindingFormatDesc(i), "");
        EXPECT_EQ(engine->getBindingBytesPerComponent(i), -1);
        EXPECT_EQ(engine->getBindingComponentsPerElement(i), -1);
        EXPECT_EQ(engine->getBindingVectorizedDim(i), -1);
        EXPECT_TRUE(engine->isExecutionBinding(i));
        EXPECT_FALSE(engine->isShapeBinding(i));
    }
}

TEST_F(Bindings, Q25_whatIsOutOfRangeHasTheStandardAnswers)
{
    for (int32_t const index : {-1, 4})
    {
        EXPECT_EQ(engine->getBindingName(index), nullptr);
        EXPECT_FALSE(engine->bindingIsInput(index));
        EXPECT_EQ(engine->getBindingDimensions(index).nbDims, -1);
        EXPECT_FALSE(engine->isShapeBinding(index));
        EXPECT_FALSE(engine->isExecutionBinding(index));
        EXPECT_EQ(engine->getProfileDimensions(index, 0, OptProfileSelector::kMIN).nbDims, -1);
        EXPECT_EQ(engine->getProfileShapeValues(0, index, OptProfileSelector::kMIN), nullptr);
        EXPECT_EQ(context->getBindingDimensions(index).nbDims, -1);
        EXPECT_EQ(context->getStrides(index).nbDims, -1);
        EXPECT_FALSE(context->setBindingDimensions(index, dims({1, 3, 8, 10})));
        int32_t value{7};
        EXPECT_FALSE(context->setInputShapeBinding(index, &value));
        EXPECT_FALSE(context->getShapeBinding(index, &value));
        EXPECT_EQ(value, 7);
    }
    EXPECT_EQ(engine->getBindingIndex("nobody"), -1);
    EXPECT_EQ(engine->getBindingIndex(nullptr), -1);
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "there is no binding 4"), 5) << logger.errors();
}

TEST_F(Bindings, P11_profilesAreAskedForByTheirOwnBindingsOrTheFirst)
{
    auto const bounds = [&](int32_t binding, int32_t profile) {
        return extents(engine->getProfileDimensions(binding, profile, OptProfileSelector::kMAX));
    };
    std::vector<int64_t> const none{-99};
    EXPECT_EQ(bounds(0, 0), (std::vector<int64_t>{4, 3, 16, 10}));
    EXPECT_EQ(bounds(0, 1), (std::vector<int64_t>{2, 3, 24, 10}));
    EXPECT_EQ(bounds(2, 1), (std::vector<int64_t>{2, 3, 24, 10}));
    EXPECT_EQ(bounds(2, 0), none); // Of another profile,
    EXPECT_EQ(bounds(1, 0), none); // an output,
    EXPECT_EQ(bounds(0, 2), none); // and no profile.
}

TEST_F(Bindings, Q25_shapesAreSetForBindingsOfTheProfileInUse)
{
    EXPECT_FALSE(context->allInputDimensionsSpecified());
    EXPECT_TRUE(context->allInputShapesSpecified()); // There are no shape tensors.
    EXPECT_EQ(extents(context->getBindingDimensions(0)), (std::vector<int64_t>{-1, 3, -1, 10}));
    EXPECT_EQ(extents(context->getBindingDimensions(1)), (std::vector<int64_t>{-1, 4, -1, 10})); // Known later.
    EXPECT_EQ(context->getStrides(0).nbDims, -1);
    for (auto const& [binding, shape] : std::vector<std::pair<int32_t, std::vector<int64_t>>>{{2, {1, 3, 22, 10}},
             {1, {2, 4, 9, 10}}, {0, {2, 3, 9}}, {0, {2, 5, 9, 10}}, {0, {-1, 3, 9, 10}}, {0, {2, 3, 17, 10}}})
        EXPECT_FALSE(context->setBindingDimensions(binding, dims(shape))) << binding;
    EXPECT_GE(logger.count(ILogger::Severity::kERROR, "setBindingDimensions"), 6) << logger.errors();
    EXPECT_FALSE(context->allInputDimensionsSpecified());
    ASSERT_TRUE(context->setBindingDimensions(0, dims({2, 3, 9, 10})));
    EXPECT_TRUE(context->allInputDimensionsSpecified());
    EXPECT_EQ(extents(context->getBindingDimensions(0)), (std::vector<int64_t>{2, 3, 9, 10}));
    EXPECT_EQ(extents(context->getBindingDimensions(1)), (std::vector<int64_t>{2, 4, 9, 10}));
    EXPECT_EQ(extents(context->getStrides(1)), (std::vector<int64_t>{360, 90, 10, 1}));
    EXPECT_EQ(context->getBindingDimensions(3).nbDims, -1); // Of the other profile.
    ASSERT_TRUE(context->setOptimizationProfile(1));        // Forgets all shapes.
    EXPECT_FALSE(context->allInputDimensionsSpecified());
    EXPECT_EQ(context->getBindingDimensions(0).nbDims, -1);
    EXPECT_EQ(extents(context->getBindingDimensions(2)), (std::vector<int64_t>{-1, 3, -1, 10}));
    EXPECT_FALSE(context->setOptimizationProfile(2));
}

TEST_F(ApiTest, Q25_byIndexNoExtentMayBeZero)
{
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    addProfile({0, 3, 8, 10}, {2, 3, 8, 10}, {2, 3, 8, 10});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    EXPECT_FALSE(context->setBindingDimensions(0, dims({0, 3, 8, 10})));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "extent 0 of input 'x' is 0"), 1) << logger.errors();
    EXPECT_TRUE(context->setInputShape("x", dims({0, 3, 8, 10})));
}

TEST_F(Bindings, Q18_shapesCountHoweverTheyWereSet)
{
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    EXPECT_TRUE(context->allInputDimensionsSpecified());
    network.reset(builder->createNetworkV2(0));
    config->reset();
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<ICudaEngine> const still = buildEngine();
    std::unique_ptr<IExecutionContext> const fixed{still->createExecutionContext()};
    EXPECT_TRUE(fixed->allInputDimensionsSpecified()); // Trivially.
}

TEST_F(Bindings, P11_enqueueV2ReadsTheBindingsOfTheProfileInUse)
{
    runSecondProfile([&](void* const* bindings) { return context->enqueueV2(bindings, stream(), nullptr); });
    EXPECT_FALSE(context->enqueueV2(nullptr, stream(), nullptr));
}

TEST_F(Bindings, P11_executeV2ReadsThemWhenCompiledFor8)
{
    runSecondProfile([&](void* const* bindings) { return executeV2AsIn8(context.get(), bindings); });
    DeviceArray<float> const y{1 * 4 * 22 * 10};
    DeviceArray<float> const x{randomFloats(1 * 3 * 22 * 10, 18)};
    void* const bindings[]{x.data(), y.data()};
    EXPECT_TRUE(context->executeV2(bindings)) << logger.errors(); // By default one address per tensor.
}

//! y = x [1…24] reshaped to the values of `size`, and the shapes of both as outputs of shape inference; two profiles.
class ShapeBindings : public ApiTest, public ::testing::WithParamInterface<DataType>
{
  protected:
    void SetUp() override
    {
        ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1}));
        ITensor* size = network->addInput("size", GetParam(), dims({2}));
        ITensor* doubled = network->addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0);
        IShuffleLayer* shuffle = network->addShuffle(*doubled);
        shuffle->setInput(1, *size);
        shuffle->getOutput(0)->setName("y");
        network->markOutput(*shuffle->getOutput(0));
        ITensor* shape = network->addShape(*shuffle->getOutput(0))->getOutput(0);
        shape->setName("shape");
        network->markOutputForShapes(*shape);
        addSizes({1, 1}, {2, 3}, {24, 24});
        addSizes({2, 2}, {2, 2}, {4, 4});
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
    }
    void addSizes(std::vector<int32_t> const& min, std::vector<int32_t> const& opt, std::vector<int32_t> const& max)
    {
        IOptimizationProfile* profile = builder->createOptimizationProfile();
        std::vector<std::vector<int32_t>> const values{min, opt, max};
        for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
        {
            auto const& each = values[static_cast<size_t>(select)];
            ASSERT_TRUE(profile->setDimensions("x", select, dims({each[0] * (each[0] == 24 ? 1 : each[1])})));
            ASSERT_TRUE(profile->setShapeValues("size", select, each.data(), 2));
        }
        ASSERT_GE(config->addOptimizationProfile(profile), 0);
    }

    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
};

INSTANTIATE_TEST_SUITE_P(Types, ShapeBindings, ::testing::Values(DataType::kINT32, DataType::kINT64));

TEST_P(ShapeBindings, P7_D3_Q25_whichBindingsAreShapes)
{
    ASSERT_EQ(engine->getNbBindings(), 8);
    for (int32_t i = 0; i < 8; ++i)
    {
        bool const isShape = i % 4 == 1 || i % 4 == 3;
        EXPECT_EQ(engine->isShapeBinding(i), isShape) << i;
        EXPECT_EQ(engine->isExecutionBinding(i), !isShape) << i; // The pointers of others may be null.
        EXPECT_EQ(engine->getLocation(i), isShape ? TensorLocation::kHOST : TensorLocation::kDEVICE) << i;
        char const* const name = engine->getIOTensorName(i % 4);
        EXPECT_EQ(engine->isShapeInferenceIO(name), isShape) << name;
        EXPECT_EQ(engine->getTensorLocation(name), isShape ? TensorLocation::kHOST : TensorLocation::kDEVICE) << name;
    }
}

TEST_P(ShapeBindings, Q25_valuesAreCopiedAndServeRunsByIndex)
{
    DeviceArray<float> const x{randomFloats(12, 3)};
    DeviceArray<float> const y{12};
    int64_t shape[2]{-7, -7};
    void* const bindings[8]{x.data(), nullptr, y.data(), shape};
    ASSERT_TRUE(context->setBindingDimensions(0, dims({12})));
    EXPECT_FALSE(context->allInputShapesSpecified());
    EXPECT_FALSE(context->enqueueV2(bindings, stream(), nullptr)); // Without the values.
    int32_t back[2]{-1, -1};
    EXPECT_FALSE(context->getShapeBinding(1, back));
    EXPECT_FALSE(context->getShapeBinding(3, back));
    int32_t values[2]{3, 4};
    ASSERT_TRUE(context->setInputShapeBinding(1, values)) << logger.errors();
    values[0] = values[1] = 1; // They have been copied.
    EXPECT_TRUE(context->allInputShapesSpecified());
    EXPECT_EQ(extents(context->getBindingDimensions(2)), (std::vector<int64_t>{3, 4}));
    for (int32_t const binding : {1, 3})
    {
        ASSERT_TRUE(context->getShapeBinding(binding, back)) << logger.errors();
        EXPECT_EQ(std::vector<int32_t>(back, back + 2), (std::vector<int32_t>{3, 4})) << binding;
    }
    ASSERT_TRUE(context->enqueueV2(bindings, stream(), nullptr)) << logger.errors();
    for (size_t i = 0; i < 12; ++i)
        EXPECT_EQ(y.read()[i], 2.0F * x.read()[i]);
    EXPECT_EQ(std::vector<int64_t>(shape, shape + 2), (std::vector<int64_t>{3, 4}));
    values[0] = 6;
    values[1] = 2;
    ASSERT_TRUE(context->setInputShapeBinding(1, values));
    ASSERT_TRUE(context->executeV2(bindings)) << logger.errors();
    EXPECT_EQ(std::vector<int64_t>(shape, shape + 2), (std::vector<int64_t>{6, 2}));
    void* const withoutShape[8]{x.data(), nullptr, y.data(), nullptr}; // Which getShapeBinding() answers.
    shape[0] = -7;
    ASSERT_TRUE(context->enqueueV2(withoutShape, stream(), nullptr)) << logger.errors();
    tenon::test::deviceUnderTest().synchronize();
    EXPECT_EQ(shape[0], -7);
}

//! The run that goes on reads the values that were set by index: they cannot be taken away.
TEST_P(ShapeBindings, Q25_valuesStayWhileARunReadsThem)
{
    class Profiler final : public IProfiler
    {
      public:
        void reportLayerTime(char const*, float) noexcept override
        {
            answers.push_back(context->setTensorAddress("size", other));
        }
        IExecutionContext* context{nullptr};
        int64_t other[2]{1, 1};
        std::vector<bool> answers;
    } profiler;
    profiler.context = context.get();
    DeviceArray<float> const x{randomFloats(12, 3)};
    DeviceArray<float> const y{12};
    int64_t shape[2]{-7, -7};
    void* const bindings[8]{x.data(), nullptr, y.data(), shape};
    ASSERT_TRUE(context->setBindingDimensions(0, dims({12})));
    int32_t const values[2]{3, 4};
    ASSERT_TRUE(context->setInputShapeBinding(1, values));
    context->setProfiler(&profiler);
    ASSERT_TRUE(context->executeV2(bindings)) << logger.errors();
    ASSERT_FALSE(profiler.answers.empty());
    EXPECT_EQ(std::ranges::count(profiler.answers, true), 0);
    EXPECT_EQ(std::vector<int64_t>(shape, shape + 2), (std::vector<int64_t>{3, 4}));
    context->setProfiler(nullptr);
    EXPECT_TRUE(context->setTensorAddress("size", profiler.other)) << "and now they can";
}

TEST_P(ShapeBindings, Q25_valuesOfTheIndexedCallsPrecedeAddressesInTheList)
{
    DeviceArray<float> const x{randomFloats(12, 3)};
    DeviceArray<float> const y{12};
    int64_t shape[2]{-7, -7};
    int64_t junk[2]{99, 99};
    void* const bindings[8]{x.data(), junk, y.data(), shape};
    ASSERT_TRUE(context->setBindingDimensions(0, dims({12})));
    int32_t const values[2]{4, 3};
    ASSERT_TRUE(context->setInputShapeBinding(1, values));
    ASSERT_TRUE(context->enqueueV2(bindings, stream(), nullptr)) << logger.errors();
    tenon::test::deviceUnderTest().synchronize();
    EXPECT_EQ(std::vector<int64_t>(shape, shape + 2), (std::vector<int64_t>{4, 3}));
    int64_t wide[2]{2, 6};
    int32_t narrow[2]{2, 6};
    void* const own = GetParam() == DataType::kINT64 ? static_cast<void*>(wide) : narrow;
    ASSERT_TRUE(context->setInputTensorAddress("size", own)); // The latest call counts.
    void* const named[8]{x.data(), own, y.data(), shape};
    ASSERT_TRUE(context->enqueueV2(named, stream(), nullptr)) << logger.errors();
    tenon::test::deviceUnderTest().synchronize();
    EXPECT_EQ(std::vector<int64_t>(shape, shape + 2), (std::vector<int64_t>{2, 6}));
}

TEST_P(ShapeBindings, Q25_valuesOutsideOfTheProfileOrOfOtherTensorsAreRefused)
{
    int32_t const good[2]{3, 4};
    ASSERT_TRUE(context->setInputShapeBinding(1, good));
    int32_t const bad[2]{3, 25};
    EXPECT_FALSE(context->setInputShapeBinding(1, bad));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "value 1 of shape tensor 'size' is 25, outside [1, 24]"), 1)
        << logger.errors();
    for (int32_t const binding : {0, 2, 3, 5}) // No shape tensor, outputs, another profile.
        EXPECT_FALSE(context->setInputShapeBinding(binding, good)) << binding;
    EXPECT_FALSE(context->setInputShapeBinding(1, nullptr));
    int32_t back[2]{};
    EXPECT_FALSE(context->getShapeBinding(0, back));
    EXPECT_FALSE(context->getShapeBinding(1, nullptr));
    ASSERT_TRUE(context->getShapeBinding(1, back));
    EXPECT_EQ(back[1], 4); // What failed has changed nothing.
    int64_t const three[3]{1, 2, 3};
    EXPECT_EQ(tenonSetShapeInput(context.get(), 1, three, 3), 0);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "shape tensor 'size' has 2 values; 3 were given"), 1);
}

TEST_P(ShapeBindings, Q25_anotherProfileForgetsTheValues)
{
    int32_t values[2]{3, 4};
    ASSERT_TRUE(context->setInputShapeBinding(1, values));
    ASSERT_TRUE(context->setOptimizationProfile(1));
    EXPECT_FALSE(context->allInputShapesSpecified());
    EXPECT_EQ(context->getTensorAddress("size"), nullptr);
    EXPECT_FALSE(context->setInputShapeBinding(5, std::vector<int32_t>{5, 2}.data())); // Beyond this profile.
    ASSERT_TRUE(context->setInputShapeBinding(5, values)) << logger.errors();
    ASSERT_TRUE(context->setBindingDimensions(4, dims({12})));
    EXPECT_EQ(extents(context->getBindingDimensions(6)), (std::vector<int64_t>{3, 4}));
}

TEST_P(ShapeBindings, F3_P11_profilesKeepWhichWidthTheirValuesHad)
{
    int32_t const* const narrow = engine->getProfileShapeValues(0, 1, OptProfileSelector::kMAX);
    ASSERT_NE(narrow, nullptr);
    EXPECT_EQ(std::vector<int32_t>(narrow, narrow + 2), (std::vector<int32_t>{24, 24}));
    EXPECT_EQ(engine->getProfileShapeValues(1, 5, OptProfileSelector::kMAX)[0], 4);
    EXPECT_EQ(engine->getProfileShapeValues(1, 1, OptProfileSelector::kMIN)[1], 2); // The first one's stand for all.
    EXPECT_EQ(engine->getProfileShapeValues(0, 5, OptProfileSelector::kMIN), nullptr);
    EXPECT_EQ(engine->getProfileShapeValues(2, 1, OptProfileSelector::kMIN), nullptr);
    EXPECT_EQ(engine->getProfileTensorValues("size", 0, OptProfileSelector::kOPT)[1], 3);
    EXPECT_EQ(engine->getProfileTensorValuesV2("size", 0, OptProfileSelector::kOPT), nullptr);
    config->reset();
    IOptimizationProfile* const profile = builder->createOptimizationProfile();
    for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    {
        int64_t const values[2]{2, static_cast<int64_t>(select) + 2};
        profile->setDimensions("x", select, dims({6}));
        profile->setShapeValuesV2("size", select, values, 2);
    }
    ASSERT_EQ(config->addOptimizationProfile(profile), 0);
    std::unique_ptr<ICudaEngine> const wide = buildEngine();
    ASSERT_NE(wide, nullptr);
    EXPECT_EQ(wide->getProfileTensorValuesV2("size", 0, OptProfileSelector::kMAX)[1], 4);
    EXPECT_EQ(wide->getProfileTensorValues("size", 0, OptProfileSelector::kMAX), nullptr);
    EXPECT_EQ(wide->getProfileShapeValues(0, 1, OptProfileSelector::kMAX), nullptr);
    EXPECT_EQ(wide->getProfileTensorValuesV2("x", 0, OptProfileSelector::kMAX), nullptr); // No shape tensor.
}

} // namespace apitest
