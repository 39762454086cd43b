// Weight streaming: budgets of both generations, what stays in memory under them, and that results do not depend on
// them (rules V1 to V5).
#include "fixture.h"

#include <fstream>
#include <thread>

namespace apitest
{

//! y = x · a · b · c, and a convolution in front whose kernel transforms its weights.
struct HeavyNetwork
{
    static constexpr int64_t kSide{768};
    std::vector<float> kernel = randomFloats(64 * 64 * 3 * 3, 1);
    std::vector<float> matrices[3] = {
        randomFloats(kSide * kSide, 2), randomFloats(kSide* kSide, 3), randomFloats(kSide* kSide, 4)};

    static HeavyNetwork like(uint32_t seed)
    {
        HeavyNetwork made;
        made.kernel = randomFloats(made.kernel.size(), seed);
        for (std::vector<float>& matrix : made.matrices)
            matrix = randomFloats(matrix.size(), ++seed);
        return made;
    }
    void add(INetworkDefinition& network) const
    {
        ITensor* x = network.addInput("x", DataType::kFLOAT, dims({1, 64, 12, 12}));
        IConvolutionLayer* conv = network.addConvolutionNd(*x, 64, dims({3, 3}), weights(kernel), {});
        conv->setPaddingNd(dims({1, 1}));
        conv->setName("conv");
        IShuffleLayer* shuffle = network.addShuffle(*conv->getOutput(0));
        shuffle->setReshapeDimensions(dims({12, kSide}));
        ITensor* at = shuffle->getOutput(0);
        for (size_t i = 0; i < 3; ++i)
        {
            IConstantLayer* matrix = network.addConstant(dims({kSide, kSide}), weights(matrices[i]));
            matrix->setName(("matrix " + std::to_string(i)).c_str());
            at = network.addMatrixMultiply(*at, MatrixOperation::kNONE, *matrix->getOutput(0), MatrixOperation::kNONE)
                     ->getOutput(0);
            at = network.addActivation(*at, ActivationType::kTANH)->getOutput(0);
        }
        at->setName("y");
        network.markOutput(*at);
    }
    static constexpr int64_t kMatrixBytes{kSide * kSide * int64_t{sizeof(float)}};
};

//! Bytes of the process's memory that are pages of files.
inline int64_t pagesOfFiles()
{
    std::ifstream status{"/proc/self/smaps_rollup"};
    std::string word;
    int64_t all{0};
    int64_t anonymous{0};
    while (status >> word)
    {
        if (word == "Rss:")
            status >> all;
        if (word == "Anonymous:")
            status >> anonymous;
    }
    return (all - anonymous) * 1024;
}

class WeightStreaming : public ApiTest
{
  protected:
    HeavyNetwork first;

    std::unique_ptr<ICudaEngine> engineOf(HeavyNetwork const& values, std::vector<BuilderFlag> const& flags)
    {
        std::unique_ptr<INetworkDefinition> const own{builder->createNetworkV2(0)};
        values.add(*own);
        config->reset();
        for (BuilderFlag const flag : flags)
            config->setFlag(flag);
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*own, *config)};
        EXPECT_NE(plan, nullptr) << logger.errors();
        return std::unique_ptr<ICudaEngine>{
            plan == nullptr ? nullptr : runtime->deserializeCudaEngine(plan->data(), plan->size())};
    }
    std::vector<float> run(IExecutionContext& context)
    {
        DeviceArray<float> const x{randomFloats(64 * 12 * 12, 11)};
        DeviceArray<float> const y{size_t{12} * HeavyNetwork::kSide};
        EXPECT_TRUE(context.setTensorAddress("x", x.data()) && context.setTensorAddress("y", y.data()));
        EXPECT_TRUE(runToEnd(context)) << logger.errors();
        return y.read();
    }
    std::vector<float> run(ICudaEngine& engine)
    {
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        return run(*context);
    }
    //! Devices with memory of their own keep all weights there, and say so.
    bool isOnHost(ICudaEngine& engine)
    {
        if (!tenon::test::isGuarded())
            return true;
        EXPECT_EQ(engine.getStreamableWeightsSize(), 0);
        EXPECT_FALSE(engine.setWeightStreamingBudgetV2(0));
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "streams none"), 1);
        return false;
    }
};

TEST_F(WeightStreaming, V1_V4_resultsAreTheSameForEveryBudget)
{
    std::vector<float> const expected = run(*engineOf(first, {}));
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    ASSERT_NE(engine, nullptr) << logger.errors();
    EXPECT_EQ(run(*engine), expected);
    if (!isOnHost(*engine))
        return;
    int64_t const all = engine->getStreamableWeightsSize();
    EXPECT_GE(all, 3 * HeavyNetwork::kMatrixBytes);
    EXPECT_EQ(engine->getWeightStreamingBudgetV2(), all) << "streaming is off at first";
    EXPECT_EQ(engine->getWeightStreamingScratchMemorySize(), 0);
    std::mt19937 random{5};
    std::vector<int64_t> budgets{0, 1, all - 1, all, all + 1};
    for (int32_t i = 0; i < 12; ++i)
        budgets.push_back(std::uniform_int_distribution<int64_t>{0, all}(random));
    for (int64_t const budget : budgets)
    {
        ASSERT_TRUE(engine->setWeightStreamingBudgetV2(budget)) << logger.errors();
        EXPECT_EQ(engine->getWeightStreamingBudgetV2(), budget);
        EXPECT_EQ(run(*engine), expected) << budget;
        EXPECT_EQ(run(*engine), expected) << budget << ", weights have come and gone";
    }
    EXPECT_FALSE(engine->setWeightStreamingBudgetV2(-1));
    EXPECT_EQ(engine->getWeightStreamingBudgetV2(), budgets.back());
}

TEST_F(WeightStreaming, V1_whatIsInMemoryFollowsTheBudget)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    ASSERT_NE(engine, nullptr);
    if (!isOnHost(*engine))
        return;
    constexpr int64_t kSlack{1 << 20};
    run(*engine); // All code that a run needs is in memory now.
    int64_t const all = engine->getStreamableWeightsSize();
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(0));
    int64_t const none = pagesOfFiles();
    run(*engine);
    EXPECT_LT(pagesOfFiles(), none + kSlack) << "a step takes its weights with it";
    EXPECT_EQ(engine->getWeightStreamingScratchMemorySize(), HeavyNetwork::kMatrixBytes);
    int64_t const two = 2 * HeavyNetwork::kMatrixBytes + (all - 3 * HeavyNetwork::kMatrixBytes);
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(two));
    run(*engine);
    EXPECT_GT(pagesOfFiles(), none + HeavyNetwork::kMatrixBytes - kSlack) << "one stays";
    EXPECT_LT(pagesOfFiles(), none + two) << "and room is left for the others' passage";
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(all));
    run(*engine);
    EXPECT_GT(pagesOfFiles(), none + all - kSlack);
}

TEST_F(WeightStreaming, V1_theCallsOfBothGenerationsDoNotMix)
{
    std::unique_ptr<ICudaEngine> const older = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    std::unique_ptr<ICudaEngine> const newer = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    if (!isOnHost(*older))
        return;
    int64_t const least = older->getMinimumWeightStreamingBudget();
    EXPECT_EQ(least, HeavyNetwork::kMatrixBytes);
    EXPECT_EQ(older->getWeightStreamingBudget(), 0) << "off";
    EXPECT_FALSE(older->setWeightStreamingBudget(least - 1));
    EXPECT_FALSE(older->setWeightStreamingBudget(-2));
    EXPECT_TRUE(older->setWeightStreamingBudget(least));
    EXPECT_EQ(older->getWeightStreamingBudget(), least);
    EXPECT_EQ(run(*older), run(*newer));
    EXPECT_FALSE(older->setWeightStreamingBudgetV2(least));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the two do not mix"), 1);
    EXPECT_TRUE(older->setWeightStreamingBudget(-1)) << "automatic";
    EXPECT_TRUE(older->setWeightStreamingBudget(0));
    EXPECT_EQ(older->getWeightStreamingBudget(), 0);
    EXPECT_TRUE(newer->setWeightStreamingBudgetV2(0));
    EXPECT_FALSE(newer->setWeightStreamingBudget(least));
}

TEST_F(WeightStreaming, V2_otherEnginesHaveNothingToStream)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {});
    EXPECT_EQ(engine->getStreamableWeightsSize(), 0);
    EXPECT_EQ(engine->getWeightStreamingBudgetV2(), 0);
    EXPECT_EQ(engine->getWeightStreamingAutomaticBudget(), 0);
    EXPECT_EQ(engine->getWeightStreamingScratchMemorySize(), 0);
    EXPECT_EQ(engine->getMinimumWeightStreamingBudget(), 0);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), 0) << "whoever only reads is not told of errors";
    EXPECT_FALSE(engine->setWeightStreamingBudgetV2(0));
    EXPECT_FALSE(engine->setWeightStreamingBudget(-1));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "build it with BuilderFlag::kWEIGHT_STREAMING"), 2);
}

TEST_F(WeightStreaming, V3_theAutomaticBudgetIsNotAboveWhatCanBeStreamed)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    int64_t const automatic = engine->getWeightStreamingAutomaticBudget();
    EXPECT_LE(automatic, engine->getStreamableWeightsSize());
    EXPECT_GE(automatic, 0);
    if (isOnHost(*engine))
    {
        EXPECT_TRUE(engine->setWeightStreamingBudgetV2(automatic));
    }
}

TEST_F(WeightStreaming, V5_memoryOfAContextIsThatOfItsShapes)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    int64_t const before = engine->getDeviceMemorySizeV2();
    if (!isOnHost(*engine))
        return;
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(0));
    EXPECT_EQ(engine->getDeviceMemorySizeV2(), before) << "streamed weights pass through no memory of the context's";
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContextWithoutDeviceMemory()};
    DeviceArray<char> const memory{static_cast<size_t>(before)};
    context->setDeviceMemoryV2(memory.data(), before);
    EXPECT_EQ(run(*context), run(*engineOf(first, {})));
}

TEST_F(WeightStreaming, V4_plansOfPlansAndRefitsStreamToo)
{
    HeavyNetwork const second = HeavyNetwork::like(50);
    std::vector<float> const expected = run(*engineOf(second, {}));
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING, BuilderFlag::kREFIT});
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IRefitter> const refitter{createInferRefitter(*engine, logger)};
    EXPECT_TRUE(refitter->setWeights("conv", WeightsRole::kKERNEL, weights(second.kernel)));
    for (size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(refitter->setWeights(
            ("matrix " + std::to_string(i)).c_str(), WeightsRole::kCONSTANT, weights(second.matrices[i])));
    if (isOnHost(*engine))
    {
        EXPECT_TRUE(engine->setWeightStreamingBudgetV2(0));
    }
    ASSERT_TRUE(refitter->refitCudaEngine()) << logger.errors();
    EXPECT_EQ(run(*engine), expected);
    std::unique_ptr<IHostMemory> const plan{engine->serialize()};
    std::unique_ptr<ICudaEngine> const again{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    ASSERT_NE(again, nullptr) << logger.errors();
    EXPECT_EQ(again->getStreamableWeightsSize(), engine->getStreamableWeightsSize());
    EXPECT_EQ(run(*again), expected);
}

TEST_F(WeightStreaming, Q23_theBudgetStaysWhileThereAreContexts)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    if (!isOnHost(*engine))
        return;
    int64_t const all = engine->getStreamableWeightsSize();
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(all / 2));
    std::unique_ptr<IExecutionContext> one{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> two{engine->createExecutionContext(ExecutionContextAllocationStrategy::kSTATIC)};
    EXPECT_FALSE(engine->setWeightStreamingBudgetV2(0));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "while it has 2 execution contexts"), 1) << logger.errors();
    one.reset();
    EXPECT_FALSE(engine->setWeightStreamingBudgetV2(0));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "while it has 1 execution context:"), 1) << logger.errors();
    EXPECT_EQ(engine->getWeightStreamingBudgetV2(), all / 2);
    EXPECT_EQ(run(*two), run(*engineOf(first, {})));
    two.reset();
    EXPECT_TRUE(engine->setWeightStreamingBudgetV2(0)) << logger.errors();
    EXPECT_EQ(run(*engine), run(*engineOf(first, {})));
}

//! Steps of both contexts drop pages that the other one reads meanwhile.
TEST_F(WeightStreaming, V4_contextsRunSideBySideUnderABudget)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    if (!isOnHost(*engine))
        return;
    std::vector<float> const expected = run(*engine);
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(0)) << logger.errors();
    std::thread other{[&] {
        for (int32_t i = 0; i < 20; ++i)
            EXPECT_EQ(run(*engine), expected);
    }};
    for (int32_t i = 0; i < 20; ++i)
        EXPECT_EQ(run(*engine), expected);
    other.join();
}

TEST_F(WeightStreaming, V1_aFolderWithoutRoomIsNamed)
{
    runtime->setTemporaryDirectory("/no/such/folder");
    std::unique_ptr<ICudaEngine> const engine = engineOf(first, {BuilderFlag::kWEIGHT_STREAMING});
    if (tenon::test::isGuarded())
    {
        EXPECT_NE(engine, nullptr) << "its weights are not streamed";
        return;
    }
    EXPECT_EQ(engine, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "temporary file in '/no/such/folder'"), 1);
}

} // namespace apitest
