// Rules F: optimization profiles.
#include "fixture.h"

#include "tenon/profile.h"

#include <limits>

namespace apitest
{

class Profile : public ApiTest
{
  protected:
    IOptimizationProfile* profile = builder->createOptimizationProfile();

    bool set(OptProfileSelector select, std::vector<int64_t> const& shape)
    {
        return profile->setDimensions("x", select, dims(shape));
    }
};

TEST_F(Profile, F1_everyDynamicInputNeedsMinOptMaxInOrder)
{
    convRelu.add(*network, dims({-1, 3, -1, 10}));
    EXPECT_TRUE(set(OptProfileSelector::kMIN, {2, 3, 8, 10}));
    EXPECT_FALSE(set(OptProfileSelector::kMAX, {1, 3, 16, 10})); // Below kMIN.
    EXPECT_FALSE(set(OptProfileSelector::kMAX, {4, 3, 16}));     // Another rank.
    EXPECT_FALSE(set(OptProfileSelector::kOPT, {-1, 3, 8, 10}));
    EXPECT_TRUE(set(OptProfileSelector::kMAX, {4, 3, 16, 10}));
    EXPECT_FALSE(profile->isValid());
    EXPECT_FALSE(set(OptProfileSelector::kOPT, {2, 3, 8, 11})); // Above kMAX.
    EXPECT_TRUE(set(OptProfileSelector::kOPT, {2, 3, 8, 10}));
    EXPECT_TRUE(profile->isValid());
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
}

TEST_F(Profile, F1_aDynamicInputThatAProfileLeavesOutFailsTheBuildByName)
{
    ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({-1, 4}));
    ITensor* const other = network->addInput("other", DataType::kFLOAT, dims({-1, 4}));
    network->markOutput(*network->addElementWise(*x, *other, ElementWiseOperation::kSUM)->getOutput(0));
    for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
        ASSERT_TRUE(profile->setDimensions("x", select, dims({2, 4})));
    ASSERT_EQ(config->addOptimizationProfile(profile), 0) << "a profile knows no network";
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'other'"), 1) << logger.errors();
}

TEST_F(Profile, F1_kMinMayBeZero)
{
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    EXPECT_FALSE(set(OptProfileSelector::kMIN, {-1, 3, 8, 10}));
    EXPECT_TRUE(set(OptProfileSelector::kMIN, {0, 3, 8, 10}));
    EXPECT_TRUE(set(OptProfileSelector::kOPT, {2, 3, 8, 10}));
    EXPECT_TRUE(set(OptProfileSelector::kMAX, {2, 3, 8, 10}));
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    runAndCompare(*context, 0, 8, 1);
    runAndCompare(*context, 2, 8, 2);
}

TEST_F(Profile, F1_theBuildComparesStaticExtentsWithTheNetwork)
{
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    set(OptProfileSelector::kMIN, {1, 5, 8, 10});
    set(OptProfileSelector::kOPT, {1, 5, 8, 10});
    set(OptProfileSelector::kMAX, {2, 5, 8, 10});
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'x'"), 1);
}

TEST_F(Profile, F2_gettersOfWhatWasNotSet)
{
    EXPECT_EQ(profile->getDimensions("x", OptProfileSelector::kOPT).nbDims, -1);
    EXPECT_EQ(profile->getNbShapeValues("x"), -1);
    EXPECT_EQ(profile->getShapeValues("x", OptProfileSelector::kOPT), nullptr);
    EXPECT_EQ(profile->getShapeValuesV2("x", OptProfileSelector::kOPT), nullptr);
    int64_t const values[]{3, 5};
    EXPECT_TRUE(profile->setShapeValuesV2("x", OptProfileSelector::kOPT, values, 2));
    EXPECT_EQ(profile->getNbShapeValues("x"), 2);
    EXPECT_EQ(profile->getShapeValuesV2("x", OptProfileSelector::kOPT)[1], 5);
}

TEST_F(Profile, F3_valuesOf32And64BitsExcludeEachOther)
{
    int32_t const narrow[]{3, 5};
    int64_t const wide[]{int64_t{1} << 40, 7};
    ASSERT_TRUE(profile->setShapeValues("s", OptProfileSelector::kMIN, narrow, 2));
    ASSERT_TRUE(profile->setShapeValues("s", OptProfileSelector::kOPT, narrow, 2));
    EXPECT_EQ(profile->getShapeValues("s", OptProfileSelector::kMIN)[1], 5);
    EXPECT_EQ(profile->getShapeValuesV2("s", OptProfileSelector::kMIN), nullptr);
    ASSERT_TRUE(profile->setShapeValuesV2("s", OptProfileSelector::kOPT, wide, 2));
    EXPECT_EQ(profile->getShapeValuesV2("s", OptProfileSelector::kOPT)[0], wide[0]);
    for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT})
        EXPECT_EQ(profile->getShapeValues("s", select), nullptr);
    EXPECT_EQ(profile->getShapeValuesV2("s", OptProfileSelector::kMIN), nullptr); // Not one of these yet.
    ASSERT_TRUE(profile->setShapeValues("s", OptProfileSelector::kOPT, narrow, 2));
    EXPECT_EQ(profile->getShapeValues("s", OptProfileSelector::kOPT)[0], 3);
    EXPECT_EQ(profile->getShapeValuesV2("s", OptProfileSelector::kOPT), nullptr);
    ASSERT_TRUE(profile->setShapeValuesV2("other", OptProfileSelector::kOPT, wide, 2)); // Each input for itself.
    EXPECT_EQ(profile->getShapeValues("s", OptProfileSelector::kOPT)[0], 3);
}

TEST_F(Profile, F4_extraMemoryIsAShareAndTheFirstProfileHasNone)
{
    EXPECT_EQ(profile->getExtraMemoryTarget(), 1.0F);
    for (float const bad : {-0.01F, 1.01F, std::numeric_limits<float>::quiet_NaN()})
    {
        EXPECT_FALSE(profile->setExtraMemoryTarget(bad));
        EXPECT_EQ(profile->getExtraMemoryTarget(), 1.0F);
    }
    EXPECT_TRUE(profile->setExtraMemoryTarget(0.25F));
    EXPECT_EQ(profile->getExtraMemoryTarget(), 0.25F);
    EXPECT_TRUE(profile->setExtraMemoryTarget(0.0F)); // Ignored for profile 0: it is built as ever.
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    ASSERT_TRUE(set(OptProfileSelector::kMIN, {1, 3, 8, 10}));
    ASSERT_TRUE(set(OptProfileSelector::kOPT, {2, 3, 8, 10}));
    ASSERT_TRUE(set(OptProfileSelector::kMAX, {4, 3, 8, 10}));
    ASSERT_EQ(config->addOptimizationProfile(profile), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    runAndCompare(*context, 4, 8, 3);
}

TEST_F(Profile, F5_addOptimizationProfileCountsFromZero)
{
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
    EXPECT_EQ(config->addOptimizationProfile(builder->createOptimizationProfile()), 1);
    EXPECT_EQ(config->getNbOptimizationProfiles(), 2);
    EXPECT_EQ(config->addOptimizationProfile(nullptr), -1);
}

TEST_F(Profile, F5_addOptimizationProfileAnswersMinusOneForAnInvalidOne)
{
    ASSERT_TRUE(set(OptProfileSelector::kMIN, {1, 3, 8, 10}));
    ASSERT_FALSE(profile->isValid()); // kOPT and kMAX are missing.
    EXPECT_EQ(config->addOptimizationProfile(profile), -1);
    EXPECT_EQ(config->getNbOptimizationProfiles(), 0);
    ASSERT_TRUE(set(OptProfileSelector::kOPT, {1, 3, 8, 10}));
    ASSERT_TRUE(set(OptProfileSelector::kMAX, {1, 3, 8, 10}));
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
}

TEST_F(Profile, F6_shapeInputsNeedAProfileToo)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({6}));
    ITensor* size = network->addInput("size", DataType::kINT64, dims({2}));
    IShuffleLayer* shuffle = network->addShuffle(*x);
    shuffle->setInput(1, *size);
    shuffle->getOutput(0)->setName("y");
    network->markOutput(*shuffle->getOutput(0));
    EXPECT_EQ(
        builder->buildSerializedNetwork(*network, *config), nullptr); // No extent is −1, yet y's depend on values.
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "input 'size' is a shape tensor"), 1);
    int64_t const values[3][2]{{1, 1}, {2, 3}, {6, 6}};
    EXPECT_TRUE(profile->setShapeValuesV2("size", OptProfileSelector::kMIN, values[0], 2));
    EXPECT_TRUE(profile->setShapeValuesV2("size", OptProfileSelector::kOPT, values[1], 2));
    EXPECT_TRUE(profile->setShapeValuesV2("size", OptProfileSelector::kMAX, values[2], 2));
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->isShapeInferenceIO("size"));
}

TEST_F(Profile, F6_dynamicNetworksNeedAProfileAndStaticOnesGetOne)
{
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "optimization profile"), 1);
    network->getInput(0)->setDimensions(dims({2, 3, 8, 10}));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(engine->getNbOptimizationProfiles(), 1);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    runAndCompare(*context, 2, 8, 6);
}

//! y = reshape(x, size): size is a shape tensor of two values.
class ShapeProfile : public Profile
{
  protected:
    void SetUp() override
    {
        ITensor* x = network->addInput("x", DataType::kFLOAT, dims({6}));
        ITensor* size = network->addInput("size", DataType::kINT64, dims({2}));
        IShuffleLayer* shuffle = network->addShuffle(*x);
        shuffle->setInput(1, *size);
        network->markOutput(*shuffle->getOutput(0));
    }
    bool setValues(std::vector<int64_t> const& values)
    {
        bool set{true};
        for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
            set = profile->setShapeValuesV2(
                      "size", select, values.empty() ? nullptr : values.data(), static_cast<int32_t>(values.size()))
                && set;
        return set;
    }
};

TEST_F(ShapeProfile, F1_theBuildComparesTheNumberOfValuesWithTheTensor)
{
    for (size_t const count : {size_t{0}, size_t{1}, size_t{3}, size_t{64}})
    {
        profile = builder->createOptimizationProfile();
        config->reset();
        ASSERT_TRUE(setValues(std::vector<int64_t>(count, 2)));
        ASSERT_EQ(config->addOptimizationProfile(profile), 0);
        EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR,
                      "input 'size' is a shape tensor of 2 values, and optimization profile 0 gives "
                          + std::to_string(count)),
            1)
            << logger.errors();
    }
}

TEST_F(ShapeProfile, F1_theBuildComparesTheNumberOfValuesOfEachProfile)
{
    ASSERT_TRUE(setValues({2, 3}));
    ASSERT_EQ(config->addOptimizationProfile(profile), 0);
    profile = builder->createOptimizationProfile();
    ASSERT_TRUE(setValues({2, 3, 1}));
    ASSERT_EQ(config->addOptimizationProfile(profile), 1);
    EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "of 2 values, and optimization profile 1 gives 3"), 1);
}

TEST_F(Profile, F5_aProfileOfAnotherBuilderIsRefused)
{
    convRelu.add(*network, dims({1, 3, 8, 10}));
    std::unique_ptr<IBuilder> other{createInferBuilder(logger)};
    IOptimizationProfile* const foreign = other->createOptimizationProfile();
    EXPECT_EQ(config->addOptimizationProfile(foreign), -1);
    EXPECT_FALSE(config->setCalibrationProfile(foreign));
    other.reset(); // Its profiles go with it.
    EXPECT_EQ(config->addOptimizationProfile(foreign), -1);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "is not one of this builder's"), 3);
    EXPECT_EQ(config->getNbOptimizationProfiles(), 0);
    EXPECT_NE(buildEngine(), nullptr);
}

TEST_F(Profile, F1_ownCallsReplaceAllThreeOrNone)
{
    auto const shapes = [&](std::vector<std::vector<int64_t>> const& bounds) {
        std::vector<TenonNumbers> numbers;
        for (std::vector<int64_t> const& each : bounds)
            numbers.push_back({static_cast<int32_t>(each.size()), each.data()});
        return tenonSetProfileShapes(profile, "x", numbers.data());
    };
    EXPECT_EQ(shapes({{1, 3}, {2, 3}, {4, 3}}), 1);
    EXPECT_EQ(shapes({{10, 3}, {20, 3}, {40, 3}}), 1); // Each beyond the old kMAX.
    EXPECT_EQ(shapes({{1}, {2}, {2}}), 1);             // Another rank.
    EXPECT_EQ(shapes({{3}, {2}, {4}}), 0);
    EXPECT_EQ(shapes({{1}, {2}, {-4}}), 0);
    EXPECT_EQ(shapes({{1}, std::vector<int64_t>(9, 2), {4}}), 0);
    EXPECT_EQ(extents(profile->getDimensions("x", OptProfileSelector::kMIN)), (std::vector<int64_t>{1}));
    EXPECT_EQ(extents(profile->getDimensions("x", OptProfileSelector::kMAX)), (std::vector<int64_t>{2}));
}

} // namespace apitest
