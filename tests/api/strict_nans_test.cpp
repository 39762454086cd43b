// Rule G15: what becomes of NaNs under kSTRICT_NANS, the same on every device.
#include "fixture.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace apitest
{

//! x and y [2, 3, 9, 37]: random numbers, of which some are NaNs and infinities.
class StrictNans : public ApiTest
{
  protected:
    static constexpr int64_t kPlanes{2 * 3};
    static constexpr int64_t kRows{9};
    static constexpr int64_t kColumns{37};
    std::vector<float> const xs = withNans(1);
    std::vector<float> const ys = withNans(2);
    ITensor* x{nullptr};
    ITensor* y{nullptr};
    std::vector<std::vector<float>> wanted; //!< Of the outputs, in their order.

    void SetUp() override
    {
        config->setFlag(BuilderFlag::kSTRICT_NANS);
        x = network->addInput("x", DataType::kFLOAT, dims({2, 3, kRows, kColumns}));
        y = network->addInput("y", DataType::kFLOAT, dims({2, 3, kRows, kColumns}));
    }
    static std::vector<float> withNans(uint32_t seed)
    {
        std::vector<float> values = randomFloats(kPlanes * kRows * kColumns, seed);
        std::mt19937 generator{seed};
        for (float& value : values)
            switch (generator() % 16)
            {
            case 0:
            case 1: value = std::numeric_limits<float>::quiet_NaN(); break;
            case 2: value = std::numeric_limits<float>::infinity(); break;
            case 3: value = -std::numeric_limits<float>::infinity(); break;
            case 4: value = 0.5F; break; // So that some are equal.
            default: break;
            }
        return values;
    }
    //! Marks an output as float32.
    void expect(ITensor& output, std::vector<float> values)
    {
        network->markOutput(*network->addCast(output, DataType::kFLOAT)->getOutput(0));
        wanted.push_back(std::move(values));
    }
    void run()
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr) << logger.errors();
        EXPECT_EQ(logger.count(ILogger::Severity::kWARNING), 0);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        DeviceArray<float> const a{xs};
        DeviceArray<float> const b{ys};
        ASSERT_TRUE(context->setTensorAddress("x", a.data()));
        ASSERT_TRUE(context->setTensorAddress("y", b.data()));
        std::vector<DeviceArray<float>> outs;
        outs.reserve(wanted.size());
        for (size_t k = 0; k < wanted.size(); ++k)
        {
            outs.emplace_back(wanted[k].size());
            ASSERT_TRUE(
                context->setTensorAddress(network->getOutput(static_cast<int32_t>(k))->getName(), outs.back().data()));
        }
        ASSERT_TRUE(runToEnd(*context)) << logger.errors();
        for (size_t k = 0; k < wanted.size(); ++k)
            expectSame(outs[k].read(), wanted[k], k);
    }
    static void expectSame(std::vector<float> const& got, std::vector<float> const& want, size_t output)
    {
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i)
            ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
                << "output " << output << ", element " << i << ": " << got[i] << ", not " << want[i];
    }
};

TEST_F(StrictNans, G15_elementsThatAreNoNumberStayNone)
{
    using Function = std::function<float(float, float)>;
    auto const either = [](Function const& otherwise) {
        return [otherwise](float a, float b) { return std::isnan(a) || std::isnan(b) ? a + b : otherwise(a, b); };
    };
    auto const add = [&](ITensor* output, Function const& function) {
        std::vector<float> values(xs.size());
        std::transform(xs.begin(), xs.end(), ys.begin(), values.begin(), function);
        expect(*output, std::move(values));
    };
    auto const pair = [&](ElementWiseOperation op, Function const& function) {
        add(network->addElementWise(*x, *y, op)->getOutput(0), function);
    };
    pair(ElementWiseOperation::kMAX, either([](float a, float b) { return std::max(a, b); }));
    pair(ElementWiseOperation::kMIN, either([](float a, float b) { return std::min(a, b); }));
    pair(ElementWiseOperation::kGREATER, [](float a, float b) { return a > b ? 1.0F : 0.0F; });
    pair(ElementWiseOperation::kLESS, [](float a, float b) { return a < b ? 1.0F : 0.0F; });
    pair(ElementWiseOperation::kEQUAL, [](float a, float b) { return a == b ? 1.0F : 0.0F; });
    add(network->addActivation(*x, ActivationType::kRELU)->getOutput(0),
        [](float a, float) { return std::isnan(a) ? a : std::max(a, 0.0F); });
    IActivationLayer* const clip = network->addActivation(*x, ActivationType::kCLIP);
    clip->setAlpha(-0.25F);
    clip->setBeta(0.75F);
    add(clip->getOutput(0), [](float a, float) { return std::isnan(a) ? a : std::clamp(a, -0.25F, 0.75F); });
    run();
}

TEST_F(StrictNans, G15_aWindowWithOneHasNoMaximum)
{
    for (int64_t const stride : {1, 2})
    {
        IPoolingLayer* const pooling = network->addPoolingNd(*x, PoolingType::kMAX, dims({3, 2}));
        pooling->setStrideNd(dims({stride, stride}));
        std::vector<float> values;
        for (int64_t plane = 0; plane < kPlanes; ++plane)
            for (int64_t row = 0; row + 3 <= kRows; row += stride)
                for (int64_t column = 0; column + 2 <= kColumns; column += stride)
                {
                    float maximum{-std::numeric_limits<float>::infinity()};
                    for (int64_t i = 0; i < 6; ++i)
                    {
                        int64_t const at = (plane * kRows + row + i / 2) * kColumns + column + i % 2;
                        float const value = xs[static_cast<size_t>(at)];
                        maximum = std::isnan(value) || std::isnan(maximum) ? value + maximum : std::max(maximum, value);
                    }
                    values.push_back(maximum);
                }
        expect(*pooling->getOutput(0), std::move(values));
    }
    run();
}

TEST_F(StrictNans, G15_topKTakesThemForLargerThanEveryNumber)
{
    constexpr int32_t kCount{5};
    for (TopKOperation const operation : {TopKOperation::kMAX, TopKOperation::kMIN})
    {
        std::vector<float> values;
        std::vector<float> indices;
        for (size_t row = 0; row < static_cast<size_t>(kPlanes * kRows); ++row)
        {
            float const* const from = xs.data() + row * kColumns;
            std::vector<int32_t> order(kColumns);
            std::iota(order.begin(), order.end(), 0);
            auto const isLess = [&](int32_t a, int32_t b) {
                return std::isnan(from[b]) ? !std::isnan(from[a]) : from[a] < from[b];
            };
            std::stable_sort(order.begin(), order.end(),
                [&](int32_t a, int32_t b) { return operation == TopKOperation::kMAX ? isLess(b, a) : isLess(a, b); });
            for (int32_t k = 0; k < kCount; ++k)
            {
                values.push_back(from[order[static_cast<size_t>(k)]]);
                indices.push_back(static_cast<float>(order[static_cast<size_t>(k)]));
            }
        }
        ITopKLayer* const top = network->addTopK(*x, operation, kCount, 1U << 3U);
        expect(*top->getOutput(0), std::move(values));
        expect(*top->getOutput(1), std::move(indices));
    }
    run();
}
} // namespace apitest
