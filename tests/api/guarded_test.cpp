// What the guarded device itself refuses: the suites that run on it prove as much as it does.
#include "fixture.h"

namespace apitest
{

class Guarded : public ApiTest
{
  protected:
    void SetUp() override
    {
        if (!tenon::test::isGuarded())
            GTEST_SKIP() << "of the guarded device alone";
        engine = dynamicEngine();
        ASSERT_NE(engine, nullptr);
        context.reset(engine->createExecutionContext());
        ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 8, 10})));
    }

    std::unique_ptr<ICudaEngine> engine;
    std::unique_ptr<IExecutionContext> context;
    std::vector<float> values = randomFloats(1 * 3 * 8 * 10, 1);
};

TEST_F(Guarded, kernelsRefuseMemoryOfTheHost)
{
    DeviceArray<float> const x{values};
    DeviceArray<float> const y{1 * 4 * 8 * 10};
    std::vector<float> there(y.size(), 0.5F);
    EXPECT_TRUE(context->setTensorAddress("x", values.data()));
    EXPECT_TRUE(context->setTensorAddress("y", y.data()));
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_TRUE(context->setTensorAddress("x", x.data()));
    EXPECT_TRUE(context->setTensorAddress("y", there.data()));
    EXPECT_FALSE(context->enqueueV3(nullptr));
    EXPECT_EQ(there, std::vector<float>(there.size(), 0.5F));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "is not in memory of the guarded device"), 2);
    runAndCompare(*context, 1, 8, 2);
}

TEST_F(Guarded, aHostThatTouchesMemoryOfTheDeviceDies)
{
    DeviceArray<float> const x{values};
    float const volatile* const first = x.data();
    EXPECT_DEATH(static_cast<void>(*first), "");
    EXPECT_DEATH(*const_cast<float volatile*>(first) = 1.0F, "");
    EXPECT_EQ(x.read(), values);
}

} // namespace apitest
