// Rule E15: random fills draw other numbers in each run of a context, and the same ones in each new context.
#include "fixture.h"

#include <cmath>
#include <numeric>
#include <set>

namespace apitest
{

using Numbers = std::vector<float>;

//! y = a [rows, 1000] fill with random numbers, plus x, which broadcasts.
class RandomFills : public ApiTest
{
  protected:
    ITensor* fill(FillOperation operation, int64_t rows, double alpha, double beta)
    {
        IFillLayer* layer = network->addFill(dims({rows, kColumns}), operation, DataType::kFLOAT);
        layer->setAlpha(alpha);
        layer->setBeta(beta);
        return layer->getOutput(0);
    }
    void mark(ITensor& tensor, char const* name)
    {
        tensor.setName(name);
        network->markOutput(tensor);
    }
    static Numbers runOnce(IExecutionContext& context, char const* name, int64_t rows)
    {
        DeviceArray<float> const y{static_cast<size_t>(rows * kColumns)};
        EXPECT_TRUE(context.setTensorAddress(name, y.data()));
        EXPECT_TRUE(runToEnd(context));
        return y.read();
    }
    static double meanOf(Numbers const& all)
    {
        return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
    }
    static double deviationOf(Numbers const& all)
    {
        double const mean = meanOf(all);
        double sum{0.0};
        for (float const x : all)
            sum += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
        return std::sqrt(sum / static_cast<double>(all.size()));
    }

    static constexpr int64_t kColumns{1000};
};

TEST_F(RandomFills, E15_eachRunDrawsOthersAndEachContextTheSame)
{
    mark(*fill(FillOperation::kRANDOM_UNIFORM, 20, -1.0, 3.0), "y");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const one{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const other{engine->createExecutionContext()};
    std::vector<Numbers> runs;
    for (int i = 0; i < 3; ++i)
        runs.push_back(runOnce(*one, "y", 20));
    EXPECT_NE(runs[0], runs[1]);
    EXPECT_NE(runs[1], runs[2]);
    EXPECT_NE(runs[0], runs[2]);
    for (Numbers const& run : runs)
    {
        EXPECT_EQ(runOnce(*other, "y", 20), run);
        EXPECT_GT(*std::min_element(run.begin(), run.end()), -1.0F);
        EXPECT_LT(*std::max_element(run.begin(), run.end()), 3.0F);
        EXPECT_NEAR(meanOf(run), 1.0, 0.04); // Four deviations of the mean.
        EXPECT_NEAR(deviationOf(run), 4.0 / std::sqrt(12.0), 0.03);
    }
}

TEST_F(RandomFills, E15_twoFillsOfOneNetworkDrawUnlikeNumbers)
{
    mark(*fill(FillOperation::kRANDOM_NORMAL, 10, 2.0, 0.5), "y");
    mark(*fill(FillOperation::kRANDOM_NORMAL, 10, 2.0, 0.5), "z");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const z{10 * kColumns};
    ASSERT_TRUE(context->setTensorAddress("z", z.data()));
    Numbers const y = runOnce(*context, "y", 10);
    Numbers const drawn = z.read();
    EXPECT_NE(y, drawn);
    for (Numbers const& all : {y, drawn})
    {
        EXPECT_NEAR(meanOf(all), 2.0, 0.02);
        EXPECT_NEAR(deviationOf(all), 0.5, 0.015);
    }
    double product{0.0};
    for (size_t i = 0; i < y.size(); ++i)
        product += (static_cast<double>(y[i]) - 2.0) * (static_cast<double>(drawn[i]) - 2.0) / 0.25;
    EXPECT_LT(std::abs(product) / static_cast<double>(y.size()), 0.04) << "they go together";
}

TEST_F(RandomFills, E15_theStateOutlivesAChangeOfShapes)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({-1, 1}));
    IFillLayer* layer = network->addFill(dims({2, 2}), FillOperation::kRANDOM_UNIFORM, DataType::kFLOAT);
    ITensor* extent = network->addShape(*x)->getOutput(0);
    int64_t const factors[]{1, kColumns};
    ITensor* constant = network->addConstant(dims({2}), {DataType::kINT64, factors, 2})->getOutput(0);
    layer->setInput(0, *network->addElementWise(*extent, *constant, ElementWiseOperation::kPROD)->getOutput(0));
    layer->setAlpha(0.0);
    layer->setBeta(1.0);
    mark(*network->addElementWise(*layer->getOutput(0), *x, ElementWiseOperation::kSUM)->getOutput(0), "y");
    addProfile({1, 1}, {2, 1}, {4, 1});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    DeviceArray<float> const zeros{Numbers(4, 0.0F)};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setTensorAddress("x", zeros.data()));
    std::vector<Numbers> runs;
    for (int64_t const rows : {2, 3, 2, 3})
    {
        ASSERT_TRUE(context->setInputShape("x", dims({rows, 1})));
        runs.push_back(runOnce(*context, "y", rows));
    }
    EXPECT_NE(runs[0], runs[2]) << "going back to a shape does not go back in time";
    EXPECT_NE(runs[1], runs[3]);
}

//! The bounds are carried from round to round, so that the fill stands in the loop.
TEST_F(RandomFills, E15_eachRoundOfALoopDrawsOthers)
{
    constexpr int32_t kRounds{3};
    constexpr float kBounds[]{2.0F, 5.0F};
    ILoop* loop = network->addLoop();
    ITensor* rounds = network->addConstant(Dims{0, {}}, {DataType::kINT32, &kRounds, 1})->getOutput(0);
    loop->addTripLimit(*rounds, TripLimit::kCOUNT);
    ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{0, {}});
    IFillLayer* drawn = network->addFill(dims({kColumns}), FillOperation::kRANDOM_UNIFORM, DataType::kFLOAT);
    for (int32_t i = 0; i < 2; ++i)
    {
        IRecurrenceLayer* bound =
            loop->addRecurrence(*network->addConstant(Dims{0, {}}, {DataType::kFLOAT, &kBounds[i], 1})->getOutput(0));
        bound->setInput(
            1, *network->addElementWise(*bound->getOutput(0), *x, ElementWiseOperation::kSUM)->getOutput(0));
        drawn->setInput(i + 1, *bound->getOutput(0));
    }
    ILoopOutputLayer* all = loop->addLoopOutput(*drawn->getOutput(0), LoopOutput::kCONCATENATE, 0);
    all->setInput(1, *rounds);
    mark(*all->getOutput(0), "y");
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    DeviceArray<float> const zero{Numbers{0.0F}};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setTensorAddress("x", zero.data()));
    Numbers const y = runOnce(*context, "y", kRounds);
    std::set<Numbers> seen;
    for (int64_t round = 0; round < kRounds; ++round)
        seen.insert(Numbers{y.begin() + round * kColumns, y.begin() + (round + 1) * kColumns});
    EXPECT_EQ(seen.size(), size_t{kRounds});
    EXPECT_GE(*std::min_element(y.begin(), y.end()), 2.0F);
    EXPECT_LE(*std::max_element(y.begin(), y.end()), 5.0F);
    EXPECT_NE(runOnce(*context, "y", kRounds), y);
}

} // namespace apitest
