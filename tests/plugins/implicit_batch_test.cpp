// Plugins of V2, V2Ext and V2IOExt in networks whose dims leave the batch out, for which these generations were made.
#include "plugins/hooked.h"

namespace plugintest
{
namespace
{

using apitest::dims;
using tenon::test::randomFloats;

constexpr int32_t kLimit{4};

template <typename P>
class ImplicitPad : public HookedTest<P>
{
};
using Generations = ::testing::Types<CircPadV2, CircPadV2Ext, CircPadV2IOExt>;
TYPED_TEST_SUITE(ImplicitPad, Generations);

TYPED_TEST(ImplicitPad, J2_getsDimsOfOneSampleAndTheBatchAsANumber)
{
    this->builder->setMaxBatchSize(kLimit);
    IPluginV2Layer* const layer = this->add(dims({2, 5, 7}));
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(apitest::extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 9, 10}));
    std::unique_ptr<ICudaEngine> const engine = this->buildEngine();
    ASSERT_NE(engine, nullptr);
    for (std::string const& each : this->whatOf("getOutputDimensions"))
        EXPECT_EQ(each, "2x5x7");
    bool const isToldTheBatch = std::string{TypeParam::kType} != "CircPadV2IOExt";
    for (std::string const& each : this->whatOf("configure"))
        EXPECT_EQ(each, isToldTheBatch ? "2x5x7 batch 4" : "2x5x7 batch 0");
    for (std::string const& each : this->whatOf("getWorkspaceSize"))
        EXPECT_EQ(each, "4") << "J18: for the largest batch";
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (int32_t const batch : {1, 3, kLimit, 2})
    {
        auto const count = static_cast<size_t>(batch);
        std::vector<float> const values = randomFloats(70 * count, 8);
        std::vector<float> wanted(180 * count);
        CircPadCore{}.run(dims({batch, 2, 5, 7}), dims({batch, 2, 9, 10}), 4, values.data(), wanted.data());
        tenon::test::DeviceArray<float> const x{values};
        tenon::test::DeviceArray<float> const y{wanted.size()};
        void* bindings[]{x.data(), y.data()};
        ASSERT_TRUE(context->execute(batch, bindings)) << this->logger.errors();
        EXPECT_EQ(y.read(), wanted);
    }
    EXPECT_EQ(this->whatOf("enqueue"), (std::vector<std::string>{"1", "3", "4", "2"}));
}

TYPED_TEST(ImplicitPad, aSampleOfThreeAxesFailsByNameWhereTheNetworkTurnsOutExplicit)
{
    IPluginV2Layer* const layer = this->add(dims({2, 5, 7}));
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(apitest::extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 9, 10}));
    std::string const said = this->buildFails();
    EXPECT_NE(said.find("[layer 'hooked']"), std::string::npos) << said;
    EXPECT_NE(said.find("setMaxBatchSize"), std::string::npos) << said;
}

TYPED_TEST(ImplicitPad, J20_theSameThreeAxesHaveTheBatchInFrontWhereTheNetworkSaysSo)
{
    this->network.reset(
        this->builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)));
    IPluginV2Layer* const layer = this->add(dims({2, 5, 7}));
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(apitest::extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 9, 10}));
    ASSERT_NE(this->buildEngine(), nullptr);
    for (std::string const& each : this->whatOf("getOutputDimensions"))
        EXPECT_EQ(each, "5x7");
}

using NewerPad = HookedTest<HookedDynamic>;

TEST_F(NewerPad, aPluginWhoseDimsHaveTheBatchCannotStandInSuchANetwork)
{
    builder->setMaxBatchSize(kLimit);
    ASSERT_NE(add(dims({2, 5, 7})), nullptr);
    std::string const said = buildFails();
    EXPECT_NE(said.find("layer 'hooked'"), std::string::npos) << said;
    EXPECT_NE(said.find("V2DynamicExt"), std::string::npos) << said;
}

} // namespace
} // namespace plugintest
