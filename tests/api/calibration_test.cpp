// Calibration: ranges from batches and caches, and what becomes of a network that has them.
#include "fixture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>

namespace apitest
{

namespace
{
//! What calibrators of all algorithms share here: batches of input x, a cache, and what they were asked.
struct Batches
{
    std::vector<std::vector<float>> batches;
    std::string cache;
    std::string written;
    std::vector<std::string> names;
    std::unique_ptr<DeviceArray<float>> now;
    size_t next{0};
    int32_t batchSize{1};

    bool give(void* bindings[], char const* given[], int32_t count)
    {
        names.assign(given, given + count);
        if (next >= batches.size())
            return false;
        now = std::make_unique<DeviceArray<float>>(batches[next++]);
        bindings[0] = now->data();
        return true;
    }
    void const* read(size_t& length) const
    {
        length = cache.size();
        return cache.empty() ? nullptr : cache.data();
    }
    void keep(void const* data, size_t length)
    {
        written.assign(static_cast<char const*>(data), length);
    }
};

template <typename Base>
class Calibrator : public Base, public Batches
{
  public:
    int32_t getBatchSize() const noexcept override
    {
        return batchSize;
    }
    bool getBatch(void* bindings[], char const* given[], int32_t count) noexcept override
    {
        return give(bindings, given, count);
    }
    void const* readCalibrationCache(size_t& length) noexcept override
    {
        return read(length);
    }
    void writeCalibrationCache(void const* data, size_t length) noexcept override
    {
        keep(data, length);
    }
};

class LegacyCalibrator final : public Calibrator<IInt8LegacyCalibrator>
{
  public:
    double getQuantile() const noexcept override
    {
        return quantile;
    }
    double getRegressionCutoff() const noexcept override
    {
        return cutoff;
    }
    void const* readHistogramCache(size_t& length) noexcept override
    {
        length = histograms.size();
        return histograms.empty() ? nullptr : histograms.data();
    }
    void writeHistogramCache(void const* data, size_t length) noexcept override
    {
        histograms.assign(static_cast<char const*>(data), length);
    }

    double quantile{0.5};
    double cutoff{0.0};
    std::string histograms;
};

std::map<std::string, float> scalesOf(std::string const& cache)
{
    std::map<std::string, float> scales;
    std::istringstream lines{cache};
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line))
    {
        size_t const colon = line.rfind(": ");
        auto const bits = static_cast<uint32_t>(std::stoul(line.substr(colon + 2), nullptr, 16));
        scales[line.substr(0, colon)] = std::bit_cast<float>(bits);
    }
    return scales;
}

float largest(std::vector<float> const& values)
{
    float most{0.0F};
    for (float const value : values)
        most = std::max(most, std::abs(value));
    return most;
}

class Calibration : public ApiTest
{
  protected:
    static constexpr int64_t kCount{3 * 8 * 10};
    std::vector<float> const values = randomFloats(kCount, 21);

    void SetUp() override
    {
        convRelu.add(*network, dims({1, 3, 8, 10}));
        config->setFlag(BuilderFlag::kINT8);
    }
    std::vector<float> run(ICudaEngine& engine, std::vector<float> const& given)
    {
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        DeviceArray<float> const x{given};
        DeviceArray<float> const y{4 * 8 * 10};
        context->setTensorAddress("x", x.data());
        context->setTensorAddress("y", y.data());
        EXPECT_TRUE(runToEnd(*context)) << logger.errors();
        return y.read();
    }
    //! What the plan computes when x is rounded to steps, and weights to those of their maps.
    std::vector<float> inSteps(float scale, std::vector<float> x) const
    {
        for (float& value : x)
            value = std::min(std::max(std::nearbyint(value / scale), -128.0F), 127.0F) * scale;
        ConvRelu rounded = convRelu;
        for (size_t map = 0; map < 4; ++map)
        {
            auto const first = rounded.kernel.begin() + static_cast<std::ptrdiff_t>(map * 27);
            float const step = largest({first, first + 27}) / 127.0F;
            std::for_each(first, first + 27, [&](float& value) { value = std::nearbyint(value / step) * step; });
        }
        return rounded.expected(x, 1, 8, 10);
    }
    void expectSteps(float scale)
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        std::vector<float> const got = run(*engine, values);
        std::vector<float> const want = inSteps(scale, values);
        for (size_t i = 0; i < want.size(); ++i)
            ASSERT_NEAR(got[i], want[i], 2e-3F) << "element " << i;
        EXPECT_NE(got, convRelu.expected(values, 1, 8, 10));
    }
};

TEST_F(Calibration, minMaxTakesTheLargestMagnitudeOfAllBatches)
{
    Calibrator<IInt8MinMaxCalibrator> calibrator;
    calibrator.batches = {randomFloats(kCount, 1), values, randomFloats(kCount, 2)};
    config->setInt8Calibrator(&calibrator);
    float most{0.0F};
    for (auto const& batch : calibrator.batches)
        most = std::max(most, largest(batch));
    expectSteps(most / 127.0F);
    EXPECT_EQ(calibrator.names, std::vector<std::string>{"x"});
    EXPECT_EQ(calibrator.next, 3U);
    EXPECT_EQ(calibrator.written.substr(0, 4), "TRT-");
    EXPECT_NE(calibrator.written.find("-MinMaxCalibration\n"), std::string::npos) << calibrator.written;
    EXPECT_EQ(scalesOf(calibrator.written), (std::map<std::string, float>{{"x", most / 127.0F}}));
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
}

TEST_F(Calibration, valuesThatAreNotFiniteCountForNothingAndAreSaid)
{
    Calibrator<IInt8MinMaxCalibrator> calibrator;
    calibrator.batches = {values, values};
    calibrator.batches[1][5] = std::numeric_limits<float>::quiet_NaN();
    calibrator.batches[1][7] = std::numeric_limits<float>::infinity();
    config->setInt8Calibrator(&calibrator);
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(scalesOf(calibrator.written), (std::map<std::string, float>{{"x", largest(values) / 127.0F}}));
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 1);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "[tensor 'x'] it has 2 values that are not finite"), 1);
}

TEST_F(Calibration, anInputInInt8BringsItsRangeAlong)
{
    network->getInput(0)->setType(DataType::kINT8);
    network->getInput(0)->setDynamicRange(-2.54F, 1.0F);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
    std::vector<int8_t> steps;
    std::vector<float> reals;
    for (float const value : values)
    {
        steps.push_back(static_cast<int8_t>(std::min(std::max(std::nearbyint(value / 0.02F), -128.0F), 127.0F)));
        reals.push_back(static_cast<float>(steps.back()) * 0.02F);
    }
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<int8_t> const x{steps};
    DeviceArray<float> const y{4 * 8 * 10};
    context->setTensorAddress("x", x.data());
    context->setTensorAddress("y", y.data());
    ASSERT_TRUE(runToEnd(*context)) << logger.errors();
    std::vector<float> const got = y.read();
    std::vector<float> const want = inSteps(0.02F, reals);
    for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 2e-3F) << "element " << i;
    EXPECT_NE(got, convRelu.expected(reals, 1, 8, 10)) << "the weights are in int8, too";
}

TEST_F(Calibration, aRangeOfANarrowerTensorIsThatOfWhatLayersReadOfIt)
{
    network->getInput(0)->setType(DataType::kHALF);
    network->getInput(0)->setDynamicRange(-2.54F, 1.0F);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0) << "x has a range, and so has its cast";
    std::vector<_Float16> halves(values.size());
    std::ranges::transform(values, halves.begin(), [](float value) { return static_cast<_Float16>(value); });
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<_Float16> const x{halves};
    DeviceArray<float> const y{4 * 8 * 10};
    context->setTensorAddress("x", x.data());
    context->setTensorAddress("y", y.data());
    ASSERT_TRUE(runToEnd(*context)) << logger.errors();
    std::vector<float> const got = y.read();
    std::vector<float> const reals{halves.begin(), halves.end()};
    std::vector<float> const want = inSteps(0.02F, reals);
    for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 2e-3F) << "element " << i;
}

TEST_F(Calibration, aCacheTakesThePlaceOfBatches)
{
    Calibrator<IInt8EntropyCalibrator2> calibrator;
    calibrator.cache = "TRT-8601-EntropyCalibration2\nx: 3c23d70a\nanother: 3f800000\n"; // 0.01
    config->setInt8Calibrator(&calibrator);
    expectSteps(0.01F);
    EXPECT_TRUE(calibrator.names.empty()) << "no batch was asked for";
    EXPECT_TRUE(calibrator.written.empty());
}

TEST_F(Calibration, aCacheOfAnotherAlgorithmIsNotUsed)
{
    Calibrator<IInt8MinMaxCalibrator> calibrator;
    calibrator.cache = "TRT-8601-EntropyCalibration2\nx: 3c23d70a\n";
    calibrator.batches = {values};
    config->setInt8Calibrator(&calibrator);
    expectSteps(largest(values) / 127.0F);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING,
                  "the calibration cache is not used: it is of EntropyCalibration2, and the calibrator's algorithm is "
                  "MinMaxCalibration"),
        1);
}

//! A few far outliers are worth less than the steps that they would cost.
TEST_F(Calibration, entropyCutsOffOutliers)
{
    std::vector<float> given = randomFloats(kCount, 4);
    float const usual = largest(given);
    given[7] = 40.0F * usual;
    Calibrator<IInt8EntropyCalibrator2> entropy;
    for (int32_t i = 0; i < 20; ++i)
        entropy.batches.push_back(randomFloats(kCount, 50 + static_cast<uint32_t>(i)));
    entropy.batches.push_back(given);
    config->setInt8Calibrator(&entropy);
    ASSERT_NE(buildEngine(), nullptr);
    float const reach = scalesOf(entropy.written).at("x") * 127.0F;
    EXPECT_GT(reach, 0.5F * usual);
    EXPECT_LT(reach, 4.0F * usual);
}

TEST_F(Calibration, legacyGoesByQuantileAndCutoffAndKeepsHistograms)
{
    LegacyCalibrator legacy;
    std::vector<float> ramp;
    for (int64_t i = 0; i < kCount; ++i)
        ramp.push_back(static_cast<float>(i + 1) / static_cast<float>(kCount));
    legacy.batches = {ramp};
    config->setInt8Calibrator(&legacy);
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_NEAR(scalesOf(legacy.written).at("x") * 127.0F, 0.5F, 1e-2F);
    EXPECT_FALSE(legacy.histograms.empty());
    legacy.cutoff = 0.75; // The histograms are there: no batch is needed for another cut.
    legacy.names.clear();
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_TRUE(legacy.names.empty());
    EXPECT_NEAR(scalesOf(legacy.written).at("x") * 127.0F, 0.75F, 1e-2F);
}

TEST_F(Calibration, dynamicRangesNeedNoCalibratorAndStandAboveIt)
{
    network->getInput(0)->setDynamicRange(-2.54F, 1.0F);
    expectSteps(0.02F);
    Calibrator<IInt8MinMaxCalibrator> calibrator;
    calibrator.batches = {values};
    config->setInt8Calibrator(&calibrator);
    expectSteps(0.02F);
}

TEST_F(Calibration, rangesMeanNothingWhereTheNetworkSaysWhereInt8Is)
{
    float const step{0.5F};
    ITensor* numbers = network->addInput("numbers", DataType::kINT8, dims({4}));
    ASSERT_TRUE(numbers->setDynamicRange(-1.0F, 1.0F));
    EXPECT_EQ(numbers->getDimensions().nbDims, 1); // Inferred while no such layer is there yet.
    ITensor* scale = network->addConstant(dims({}), {DataType::kFLOAT, &step, 1})->getOutput(0);
    ITensor* reals = network->addDequantize(*numbers, *scale, DataType::kFLOAT)->getOutput(0);
    reals->setName("reals");
    network->markOutput(*reals);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_NE(plan, nullptr) << logger.errors();
}

//! Layers of one name make tensors of one name, and each has its own range.
TEST_F(Calibration, tensorsOfOneNameHaveRangesOfTheirOwn)
{
    ITensor* const x = network->getInput(0);
    for (UnaryOperation const operation : {UnaryOperation::kEXP, UnaryOperation::kSIN})
    {
        IUnaryLayer* same = network->addUnary(*x, operation);
        same->setName("same");
        IConvolutionLayer* reader = network->addConvolutionNd(
            *same->getOutput(0), 4, dims({3, 3}), weights(convRelu.kernel), weights(convRelu.bias));
        reader->setName(operation == UnaryOperation::kEXP ? "reads the first" : "reads the second");
        network->markOutput(*reader->getOutput(0));
    }
    Calibrator<IInt8MinMaxCalibrator> calibrator;
    calibrator.batches = {values};
    config->setInt8Calibrator(&calibrator);
    ASSERT_NE(buildEngine(), nullptr);
    std::map<std::string, float> const scales = scalesOf(calibrator.written);
    ASSERT_EQ(scales.size(), 3U) << calibrator.written;
    auto const largestOf = [&](auto&& function) {
        std::vector<float> made;
        for (float const value : values)
            made.push_back(function(value));
        return largest(made);
    };
    EXPECT_NEAR(scales.at("same_output") * 127.0F, largestOf([](float v) { return std::exp(v); }), 1e-5F);
    EXPECT_NEAR(scales.at("same_output (2)") * 127.0F, largestOf([](float v) { return std::sin(v); }), 1e-5F);
}

//! No kernel has weights on the left of a product in int8: rounding them would cost and gain nothing.
TEST_F(Calibration, productsWithWeightsOnTheLeftAreNotRounded)
{
    network->unmarkOutput(*network->getLayer(1)->getOutput(0));
    network->getLayer(1)->getOutput(0)->setName("unused");
    std::vector<float> const matrix = randomFloats(8 * 8, 5);
    ITensor* left = network->addConstant(dims({1, 1, 8, 8}), weights(matrix))->getOutput(0);
    ITensor* const x = network->getInput(0);
    ITensor* product =
        network->addMatrixMultiply(*left, MatrixOperation::kNONE, *x, MatrixOperation::kNONE)->getOutput(0);
    product->setName("y");
    network->markOutput(*product);
    ASSERT_TRUE(x->setDynamicRange(-2.54F, 2.54F));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<float> want(kCount, 0.0F);
    for (size_t i = 0; i < want.size(); ++i)
        for (size_t k = 0; k < 8; ++k)
            want[i] += matrix[i / 10 % 8 * 8 + k] * values[i / 80 * 80 + k * 10 + i % 10];
    std::vector<float> got = run(*engine, values);
    got.resize(want.size()); // Room is for four maps.
    expectNear(got, want);
}

TEST_F(Calibration, withoutTheFlagNothingIsRounded)
{
    network->getInput(0)->setDynamicRange(-2.54F, 2.54F);
    config->clearFlag(BuilderFlag::kINT8);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    expectNear(run(*engine, values), convRelu.expected(values, 1, 8, 10));
}

//! Rule C17: a layer that asks for float32 under one of the flags keeps it.
TEST_F(Calibration, C17_layersThatAskForAnotherPrecisionStay)
{
    network->getInput(0)->setDynamicRange(-2.54F, 2.54F);
    network->getLayer(0)->setPrecision(DataType::kFLOAT);
    config->setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    expectNear(run(*engine, values), convRelu.expected(values, 1, 8, 10));
}

//! Rule C17: int8 for a layer whose operands have no range is what cannot be had.
TEST_F(Calibration, C17_int8WithoutARangeFailsUnderObey)
{
    network->getLayer(1)->setName("gate");
    network->getLayer(1)->setPrecision(DataType::kINT8);
    config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
    std::unique_ptr<IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "layer 'gate' asks for precision int8"), 1) << logger.errors();
    network->getLayer(0)->getOutput(0)->setDynamicRange(-1.27F, 1.27F);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    for (float const value : run(*engine, values))
        EXPECT_NEAR(value, std::min(std::nearbyint(value * 100.0F), 127.0F) / 100.0F, 1e-6F);
}

TEST_F(Calibration, aCalibratorWithoutAnythingFailsTheBuild)
{
    Calibrator<IInt8EntropyCalibrator2> calibrator;
    config->setInt8Calibrator(&calibrator);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "the calibrator has neither a cache nor a batch"), 1)
        << logger.errors();
}

TEST_F(Calibration, refittingIsRefused)
{
    network->getInput(0)->setDynamicRange(-1.0F, 1.0F);
    config->setFlag(BuilderFlag::kREFIT);
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "cannot be refitted"), 1) << logger.errors();
}

TEST_F(Calibration, dynamicShapesAreThoseOfTheCalibrationProfile)
{
    network.reset(builder->createNetworkV2(0));
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    addProfile({1, 3, 8, 10}, {4, 3, 8, 10}, {8, 3, 8, 10});
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (auto const select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
        profile->setDimensions("x", select, dims({2, 3, 8, 10}));
    ASSERT_TRUE(config->setCalibrationProfile(profile));
    Calibrator<IInt8MinMaxCalibrator> calibrator;
    calibrator.batches = {randomFloats(2 * kCount, 9)};
    config->setInt8Calibrator(&calibrator);
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(scalesOf(calibrator.written).at("x"), largest(calibrator.batches[0]) / 127.0F);
}

TEST_F(Calibration, anImplicitBatchIsTheCalibrators)
{
    builder->setMaxBatchSize(4);
    network.reset(builder->createNetworkV2(0));
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({3, 8, 10}));
    IConvolutionLayer* conv =
        network->addConvolutionNd(*x, 4, dims({3, 3}), weights(convRelu.kernel), weights(convRelu.bias));
    network->markOutput(*conv->getOutput(0));
    Calibrator<IInt8MinMaxCalibrator> calibrator;
    calibrator.batches = {randomFloats(2 * kCount, 9)};
    calibrator.batchSize = 2;
    config->setInt8Calibrator(&calibrator);
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(scalesOf(calibrator.written).at("x"), largest(calibrator.batches[0]) / 127.0F);
    calibrator.batchSize = 5;
    calibrator.next = 0;
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "batches have 5 samples"), 1) << logger.errors();
}
} // namespace

} // namespace apitest
