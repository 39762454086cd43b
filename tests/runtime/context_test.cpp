// Context: shapes, addresses, profiles.
#include "runtime/fixture.h"

namespace tenon::test
{

namespace
{
std::shared_ptr<Plan> twoProfiles()
{
    auto plan = pointwiseNetwork();
    plan->profiles.push_back(plan->profiles[0]);
    for (PlanProfileInput& input : plan->profiles[1].inputs)
    {
        input.min.d[0] = input.opt.d[0] = 20;
        input.max.d[0] = 64;
    }
    return plan;
}
} // namespace

TEST(Context, Q1_startsWithProfileZero)
{
    auto const engine = engineOf(twoProfiles());
    EXPECT_EQ(contextOf(engine)->profile(), 0);
    EXPECT_EQ(contextOf(engine)->profile(), 0) << "a second context too";
}

TEST(Context, Q2_profileOutOfRangeIsRefused)
{
    auto const context = contextOf(engineOf(twoProfiles()));
    EXPECT_FALSE(context->setProfile(2));
    EXPECT_FALSE(context->setProfile(-1));
    EXPECT_EQ(context->profile(), 0);
    EXPECT_OK(context->setProfile(1));
    EXPECT_EQ(context->profile(), 1);
}

TEST(Context, Q3_profileSwitchForgetsShapes)
{
    auto const context = contextOf(engineOf(twoProfiles()));
    EXPECT_OK(context->setInputShape("x", dimsOf({5, 4})));
    EXPECT_TRUE(context->inferShapes()->empty());
    EXPECT_OK(context->setProfile(1));
    EXPECT_EQ(context->inferShapes()->size(), 2U);
    EXPECT_TRUE(*context->tensorShape("x") == std::vector<int64_t>({-1, 4}));
}

TEST(Context, Q4_setInputShapeRefusals)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    EXPECT_OK(context->setInputShape("x", dimsOf({3, 4})));
    EXPECT_FALSE(context->setInputShape("nobody", dimsOf({3, 4})));
    EXPECT_FALSE(context->setInputShape("out", dimsOf({12})));
    EXPECT_FALSE(context->setInputShape("x", dimsOf({3})));
    EXPECT_FALSE(context->setInputShape("x", dimsOf({3, 5})));
    EXPECT_FALSE(context->setInputShape("x", dimsOf({-1, 4})));
    EXPECT_FALSE(context->setInputShape("x", dimsOf({0, 4})));
    EXPECT_FALSE(context->setInputShape("x", dimsOf({17, 4})));
    EXPECT_TRUE(*context->tensorShape("x") == std::vector<int64_t>({3, 4})) << "unchanged by refusals";
}

TEST(Context, Q5_staticInputTakesItsOwnShape)
{
    auto const context = contextOf(engineOf(staticNetwork()));
    EXPECT_OK(context->setInputShape("x", dimsOf({3, 2})));
    EXPECT_FALSE(context->setInputShape("x", dimsOf({2, 3})));
}

TEST(Context, Q6_inputShapes)
{
    auto plan = pointwiseNetwork();
    auto const context = contextOf(engineOf(plan));
    EXPECT_TRUE(*context->tensorShape("x") == std::vector<int64_t>({-1, 4}));
    EXPECT_OK(context->setInputShape("x", dimsOf({7, 4})));
    EXPECT_TRUE(*context->tensorShape("x") == std::vector<int64_t>({7, 4}));
    EXPECT_TRUE(*context->tensorShape("y") == std::vector<int64_t>({7, 4})) << "the dimension name forces it";
    for (PlanProfileInput& input : plan->profiles[0].inputs)
        input.min.d[0] = input.opt.d[0] = input.max.d[0] = 6;
    EXPECT_TRUE(*contextOf(engineOf(plan))->tensorShape("x") == std::vector<int64_t>({6, 4})) << "min equals max";
}

TEST(Context, Q6_aDimensionNameCarriesNoExtentOutOfAnotherInputsProfile)
{
    auto plan = pointwiseNetwork();
    for (PlanProfileInput& input : plan->profiles[0].inputs)
        if (plan->io[static_cast<size_t>(input.io)].name == "y")
        {
            input.opt.d[0] = 2;
            input.max.d[0] = 3;
        }
    auto const context = contextOf(engineOf(plan));
    auto const refused = context->setInputShape("x", dimsOf({4, 4}));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("'y'"), std::string::npos) << refused.error().message;
    EXPECT_OK(context->setInputShape("x", dimsOf({3, 4})));
}

TEST(Context, Q7_outputShapes)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    EXPECT_TRUE(*context->tensorShape("doubled") == std::vector<int64_t>({-1}));
    EXPECT_OK(context->setInputShape("x", dimsOf({9})));
    EXPECT_TRUE(*context->tensorShape("doubled") == std::vector<int64_t>({9}));
    EXPECT_TRUE(*context->tensorShape("indices") == std::vector<int64_t>({-1})) << "depends on data";
    EXPECT_FALSE(context->tensorShape("nobody"));
}

TEST(Context, Q7_outputShapesNeedTheShapeTensor)
{
    auto const context = contextOf(engineOf(shapeNetwork()));
    EXPECT_OK(context->setInputShape("x", dimsOf({6})));
    EXPECT_TRUE(*context->tensorShape("out") == std::vector<int64_t>({-1}));
    int64_t const s[]{2, 3};
    EXPECT_OK(context->setInputAddress("s", s));
    EXPECT_TRUE(*context->tensorShape("out") == std::vector<int64_t>({6}));
}

TEST(Context, Q8_strides)
{
    auto const context = contextOf(engineOf(pointwiseNetwork()));
    EXPECT_EQ(context->tensorStrides("x")->nbDims, -1);
    EXPECT_OK(context->setInputShape("x", dimsOf({7, 4})));
    EXPECT_TRUE(*context->tensorStrides("x") == std::vector<int64_t>({4, 1}));
}

TEST(Context, Q8_stridesThatNoNumberHoldsAreRefused)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {-1, -1, -1}, 1, int64_t{1} << 33);
    builder.step("scale", {x}, {builder.output("out", builder.extentsOf(x))}).args = ProgramBuilder::args(2.0F);
    auto const context = contextOf(engineOf(builder.finish()));
    EXPECT_OK(context->setInputShape("x", dimsOf({1, 1, int64_t{1} << 33})));
    EXPECT_TRUE(*context->tensorStrides("x") == std::vector<int64_t>({int64_t{1} << 33, int64_t{1} << 33, 1}));
    EXPECT_OK(context->setInputShape("x", dimsOf({1, int64_t{1} << 33, int64_t{1} << 33})));
    auto const refused = context->tensorStrides("x");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("'x'"), std::string::npos) << refused.error().message;
}

TEST(Context, Q9_Q10_inferShapesNamesWhatIsMissing)
{
    auto const context = contextOf(engineOf(shapeNetwork()));
    auto const names = [&] {
        auto const missing = context->inferShapes();
        EXPECT_TRUE(missing);
        return std::vector<std::string>(missing->begin(), missing->end());
    };
    EXPECT_EQ(names(), std::vector<std::string>({"s", "x"}));
    int64_t s[]{2, 3};
    EXPECT_OK(context->setTensorAddress("s", s));
    EXPECT_EQ(names(), std::vector<std::string>({"x"}));
    EXPECT_OK(context->setInputShape("x", dimsOf({6})));
    EXPECT_EQ(names(), std::vector<std::string>{});
    s[0] = 9; // Outside the profile.
    EXPECT_FALSE(context->inferShapes());
    s[0] = 3; // x would have to have 9 elements.
    auto const mismatch = context->inferShapes();
    ASSERT_FALSE(mismatch);
    EXPECT_NE(mismatch.error().message.find("'x'"), std::string::npos);
}

TEST(Context, Q11_inferShapesWritesShapeOutputs)
{
    auto const context = contextOf(engineOf(shapeNetwork()));
    int64_t const s[]{2, 4};
    int64_t sizes[]{-7, -7};
    EXPECT_OK(context->setInputAddress("s", s));
    EXPECT_OK(context->setOutputAddress("sizes", sizes));
    EXPECT_OK(context->setInputShape("x", dimsOf({8})));
    EXPECT_OK(context->inferShapes());
    EXPECT_EQ(sizes[0], 8);
    EXPECT_EQ(sizes[1], 6);
}

TEST(Context, Q13_Q16_addresses)
{
    auto const context = contextOf(engineOf(staticNetwork()));
    DeviceArray<float> const memory{8};
    EXPECT_EQ(context->tensorAddress("x"), nullptr);
    EXPECT_EQ(context->tensorAddress("nobody"), nullptr);
    EXPECT_FALSE(context->setTensorAddress("nobody", memory.data()));
    EXPECT_FALSE(context->setTensorAddress("x", reinterpret_cast<char*>(memory.data()) + 2)) << "floats are aligned";
    EXPECT_OK(context->setTensorAddress("x", memory.data() + 1));
    EXPECT_EQ(context->tensorAddress("x"), memory.data() + 1);
    EXPECT_OK(context->setTensorAddress("x", nullptr));
    EXPECT_EQ(context->tensorAddress("x"), nullptr);
    EXPECT_OK(context->setTensorAddress("out", memory.data()));
    EXPECT_EQ(context->outputAddress("out"), memory.data());
    EXPECT_OK(context->setTensorAddress("x", memory.data()));
    EXPECT_EQ(context->outputAddress("x"), nullptr) << "an input has no output address";
}

TEST(Context, Q14_addressSettersKnowTheDirection)
{
    auto const context = contextOf(engineOf(staticNetwork()));
    DeviceArray<float> const memory{8};
    EXPECT_FALSE(context->setInputAddress("out", memory.data()));
    EXPECT_FALSE(context->setOutputAddress("x", memory.data()));
    EXPECT_OK(context->setInputAddress("x", memory.data()));
    EXPECT_OK(context->setOutputAddress("out", memory.data()));
}

TEST(Context, Q17_maxOutputSize)
{
    auto const context = contextOf(engineOf(nonZeroNetwork()));
    EXPECT_FALSE(context->maxOutputSize("doubled"));
    EXPECT_OK(context->setInputShape("x", dimsOf({9})));
    EXPECT_GE(*context->maxOutputSize("doubled"), 36);
    EXPECT_GE(*context->maxOutputSize("indices"), 36) << "the bound of what depends on data";
    EXPECT_FALSE(context->maxOutputSize("x"));
    EXPECT_FALSE(context->maxOutputSize("nobody"));
}

TEST(Context, streamsOtherThanZeroAreRefusedByName)
{
    auto const context = contextOf(engineOf(staticNetwork()));
    auto const done = context->enqueue(reinterpret_cast<void*>(0x1234));
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("0x1234"), std::string::npos);
}

} // namespace tenon::test
