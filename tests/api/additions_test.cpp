// A program for 11.1: each of its additions by the types that 11.1 gives them, compiled with our headers and run.
#define TRT_COMPAT_MAJOR 11
#include "as_in_11.h"
#include "fixture.h"

#include <type_traits>

namespace apitest
{

namespace
{
template <typename Function>
constexpr bool is(Function, Function) noexcept
{
    return true;
}
} // namespace

//! As a source for 11.1 names them.
TEST(Additions, theirTypesAreThoseOf11)
{
    using A = IAttention;
    using C = IBuilderConfig;
    using K = IKVCacheUpdateLayer;
    EXPECT_TRUE(is<bool (A::*)(CausalMaskKind) noexcept>(&A::setCausalKind, nullptr));
    EXPECT_TRUE(is<CausalMaskKind (A::*)() const noexcept>(&A::getCausalKind, nullptr));
    EXPECT_TRUE(is<bool (A::*)(AttentionIOForm) noexcept>(&A::setQueryForm, nullptr));
    EXPECT_TRUE(is<AttentionIOForm (A::*)() const noexcept>(&A::getQueryForm, nullptr));
    EXPECT_TRUE(is<bool (A::*)(AttentionIOForm) noexcept>(&A::setKeyValueForm, nullptr));
    EXPECT_TRUE(is<AttentionIOForm (A::*)() const noexcept>(&A::getKeyValueForm, nullptr));
    EXPECT_TRUE(is<bool (A::*)(ITensor*) noexcept>(&A::setQueryLengths, nullptr));
    EXPECT_TRUE(is<ITensor* (A::*)() const noexcept>(&A::getQueryLengths, nullptr));
    EXPECT_TRUE(is<bool (A::*)(ITensor*) noexcept>(&A::setKeyValueLengths, nullptr));
    EXPECT_TRUE(is<ITensor* (A::*)() const noexcept>(&A::getKeyValueLengths, nullptr));
    EXPECT_TRUE(is<bool (K::*)(AttentionIOForm) noexcept>(&K::setUpdateForm, nullptr));
    EXPECT_TRUE(is<AttentionIOForm (K::*)() const noexcept>(&K::getUpdateForm, nullptr));
    EXPECT_TRUE(is<bool (K::*)(ITensor*) noexcept>(&K::setUpdateLengths, nullptr));
    EXPECT_TRUE(is<ITensor* (K::*)() const noexcept>(&K::getUpdateLengths, nullptr));
    EXPECT_TRUE(is<bool (C::*)(char const*) noexcept>(&C::setBuildRoute, nullptr));
    EXPECT_TRUE(is<char const* (C::*)() const noexcept>(&C::getBuildRoute, nullptr));
    EXPECT_TRUE(is<char const* (C::*)() const noexcept>(&C::getAllBuildRoutes, nullptr));
    EXPECT_TRUE(is<bool (C::*)(int32_t) noexcept>(&C::setMaxAuxStreams, nullptr));
    using V2 = IAttention* (
        INetworkDefinition::*)(ITensor&, ITensor&, ITensor&, AttentionNormalizationOp, CausalMaskKind) noexcept;
    EXPECT_TRUE(is<V2>(&INetworkDefinition::addAttentionV2, nullptr));
    EXPECT_EQ(static_cast<int32_t>(CollectiveOperation::kALL_TO_ALL), 5);
    EXPECT_EQ(static_cast<int32_t>(CollectiveOperation::kGATHER), 6);
    EXPECT_EQ(static_cast<int32_t>(CollectiveOperation::kSCATTER), 7);
    EXPECT_TRUE((std::is_same_v<v_1_0::ILogger, ILogger>));
    EXPECT_TRUE((std::is_same_v<v_1_0::ILoggerFinder, ILoggerFinder>));
}

//! Of their own, of their base classes, and of the library.
TEST(Additions, loggersAndProfilersSayWhatTheyAre)
{
    SeenIn11 const seen = runAsIn11();
    EXPECT_EQ(seen.logger, "LoggerOf11");
    EXPECT_EQ(seen.profiler, "IProfiler");
    EXPECT_EQ(seen.global, "ILogger");
    ASSERT_EQ(seen.errors.size(), 1U);
    EXPECT_NE(seen.errors[0].find("output"), std::string::npos) << seen.errors[0];
    EXPECT_GE(seen.layers, 1);
}

class AdditionsOf11 : public ApiTest
{
};

TEST_F(AdditionsOf11, setMaxAuxStreamsTellsWhetherTheNumberWasTaken)
{
    EXPECT_TRUE(config->setMaxAuxStreams(3));
    EXPECT_FALSE(config->setMaxAuxStreams(-2));
    EXPECT_EQ(config->getMaxAuxStreams(), 3);
}

TEST_F(AdditionsOf11, thereIsOneRouteOfABuild)
{
    EXPECT_STREQ(config->getAllBuildRoutes(), "standard");
    EXPECT_STREQ(config->getBuildRoute(), "standard");
    EXPECT_TRUE(config->setBuildRoute("standard") && config->setBuildRoute(nullptr));
    EXPECT_FALSE(config->setBuildRoute("scenic"));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "there is no route 'scenic'; there is 'standard'"), 1);
    EXPECT_STREQ(config->getBuildRoute(), "standard");
}

//! Two sequences, of 2 and 1 tokens, side by side in one packed tensor: each sees its own keys.
TEST_F(AdditionsOf11, packedAttentionRuns)
{
    ITensor* q = network->addInput("q", DataType::kFLOAT, dims({3, 1, 1}));
    ITensor* begins = network->addInput("begins", DataType::kINT32, dims({3}));
    IAttention* made =
        network->addAttentionV2(*q, *q, *q, AttentionNormalizationOp::kSOFTMAX, CausalMaskKind::kLOWER_RIGHT);
    ASSERT_NE(made, nullptr) << logger.errors();
    EXPECT_TRUE(
        made->setQueryForm(AttentionIOForm::kPACKED_NHD) && made->setKeyValueForm(AttentionIOForm::kPACKED_NHD));
    EXPECT_FALSE(made->setQueryLengths(nullptr));
    EXPECT_TRUE(made->setQueryLengths(begins) && made->setKeyValueLengths(begins));
    EXPECT_EQ(made->getQueryLengths(), begins);
    ITensor* y = made->getOutput(0);
    y->setName("y");
    network->markOutput(*y);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> const values{0.5F, 2.0F, -3.0F};
    DeviceArray<float> const in{values};
    DeviceArray<int32_t> const lengths{std::vector<int32_t>{0, 2, 3}};
    DeviceArray<float> const out{size_t{3}};
    ASSERT_TRUE(context->setTensorAddress("q", in.data()) && context->setTensorAddress("begins", lengths.data()));
    ASSERT_TRUE(context->setTensorAddress("y", out.data()) && runToEnd(*context)) << logger.errors();
    std::vector<float> const found = out.read();
    double const a = std::exp(2.0 * 0.5);
    double const b = std::exp(2.0 * 2.0);
    EXPECT_NEAR(found[0], 0.5, 1e-5);
    EXPECT_NEAR(found[1], (0.5 * a + 2.0 * b) / (a + b), 1e-5);
    EXPECT_NEAR(found[2], -3.0, 1e-5);
}

} // namespace apitest
