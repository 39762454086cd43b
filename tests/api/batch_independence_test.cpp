// Rule G16: under kDISTRIBUTIVE_INDEPENDENCE an entry of a batch has the bits that it has alone.
#include "fixture.h"

#include <cstring>

namespace apitest
{

namespace
{
using BatchIndependence = ApiTest;

std::vector<float> run(IExecutionContext& context, std::vector<float> const& values, int64_t batch)
{
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{static_cast<size_t>(batch * 4 * 8 * 10)};
    EXPECT_TRUE(context.setInputShape("x", dims({batch, 3, 8, 10})));
    EXPECT_TRUE(context.setTensorAddress("x", x.data()));
    EXPECT_TRUE(context.setTensorAddress("y", y.data()));
    EXPECT_TRUE(runToEnd(context));
    return y.read();
}

TEST_F(BatchIndependence, G16_entriesHaveTheBitsThatTheyHaveAlone)
{
    constexpr std::ptrdiff_t kBatch{5};
    constexpr std::ptrdiff_t kIn{3 * 8 * 10};
    constexpr std::ptrdiff_t kOut{4 * 8 * 10};
    config->setFlag(BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE);
    convRelu.add(*network, dims({-1, 3, 8, 10}));
    addProfile({1, 3, 8, 10}, {3, 3, 8, 10}, {kBatch, 3, 8, 10});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const values = randomFloats(kBatch * kIn, 31);
    std::vector<float> const together = run(*context, values, kBatch);
    expectNear(together, convRelu.expected(values, kBatch, 8, 10));
    for (std::ptrdiff_t i = 0; i < kBatch; ++i)
    {
        std::vector<float> const alone = run(*context, {values.begin() + kIn * i, values.begin() + kIn * (i + 1)}, 1);
        EXPECT_EQ(std::memcmp(alone.data(), together.data() + kOut * i, kOut * sizeof(float)), 0) << "entry " << i;
    }
}
} // namespace

} // namespace apitest
