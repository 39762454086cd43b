// Rules F: optimization profiles.
#include "fixture.h"

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
    EXPECT_EQ(config->addOptimizationProfile(profile), -1);
    EXPECT_FALSE(set(OptProfileSelector::kOPT, {2, 3, 8, 11})); // Above kMAX.
    EXPECT_TRUE(set(OptProfileSelector::kOPT, {2, 3, 8, 10}));
    EXPECT_TRUE(profile->isValid());
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
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

TEST_F(Profile, F5_addOptimizationProfileCountsFromZero)
{
    EXPECT_EQ(config->addOptimizationProfile(profile), 0);
    EXPECT_EQ(config->addOptimizationProfile(builder->createOptimizationProfile()), 1);
    EXPECT_EQ(config->getNbOptimizationProfiles(), 2);
    EXPECT_EQ(config->addOptimizationProfile(nullptr), -1);
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

} // namespace apitest
