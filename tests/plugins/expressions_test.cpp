// Rules K12 to K14: what IExprBuilder and IDimensionExpr answer, while a plugin is asked and after.
#include "plugins/hooked.h"

#include <thread>

namespace plugintest
{
namespace
{

using apitest::dims;
using Expressions = apitest::ApiTest;
using DynamicExpressions = HookedTest<HookedDynamic>;

//! Tries every operation on its input's extents 7 and ?, and returns the last one as its output.
class Operations final : public CircPadOfV2<Operations, IPluginV2DynamicExt>
{
  public:
    static constexpr char const* kType{"Operations"};
    inline static std::map<DimensionOperation, int64_t> found;
    inline static bool dynamicIsConstant{true};
    inline static int64_t dynamicValue{0};
    inline static bool unknownIsNull{false};
    Operations* clone() const noexcept override
    {
        return copied();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* in, int32_t, IExprBuilder& builder) noexcept override
    {
        for (int32_t i = 0; i < 9; ++i)
        {
            auto const op = static_cast<DimensionOperation>(i);
            found[op] = builder.operation(op, *in[0].d[1], *builder.constant(2))->getConstantValue();
        }
        dynamicIsConstant = in[0].d[0]->isConstant();
        dynamicValue = in[0].d[0]->getConstantValue();
        unknownIsNull = builder.operation(static_cast<DimensionOperation>(99), *in[0].d[0], *in[0].d[1]) == nullptr;
        return in[0];
    }
    bool supportsFormatCombination(int32_t, PluginTensorDesc const*, int32_t, int32_t) noexcept override
    {
        return true;
    }
    void configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const*, void* const*, void*,
        cudaStream_t) noexcept override
    {
        return 0;
    }
};

TEST_F(Expressions, K13_K14_operationsAndConstants)
{
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({-1, 7}))};
    auto* plugin = new Operations;
    IPluginV2Layer* layer = network->addPluginV2(inputs, 1, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(apitest::extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{-1, 7}));
    std::map<DimensionOperation, int64_t> const wanted{{DimensionOperation::kSUM, 9}, {DimensionOperation::kPROD, 14},
        {DimensionOperation::kMAX, 7}, {DimensionOperation::kMIN, 2}, {DimensionOperation::kSUB, 5},
        {DimensionOperation::kEQUAL, 0}, {DimensionOperation::kLESS, 0}, {DimensionOperation::kFLOOR_DIV, 3},
        {DimensionOperation::kCEIL_DIV, 4}};
    EXPECT_EQ(Operations::found, wanted);
    EXPECT_FALSE(Operations::dynamicIsConstant);
    EXPECT_EQ(Operations::dynamicValue, INT64_MIN);
    EXPECT_TRUE(Operations::unknownIsNull);
}

TEST_F(DynamicExpressions, K12_expressionsEndWithTheCall)
{
    IDimensionExpr const* kept{nullptr};
    bool isConstant{true};
    int64_t value{0};
    hooks().shape = [&](DimsExprs const* in, IExprBuilder& builder) {
        DimsExprs out = in[0];
        if (kept == nullptr)
        {
            kept = builder.constant(5);
            EXPECT_TRUE(kept->isConstant());
            EXPECT_EQ(kept->getConstantValue(), 5);
        }
        else
        {
            isConstant = kept->isConstant();
            value = kept->getConstantValue();
            EXPECT_EQ(builder.operation(DimensionOperation::kSUM, *in[0].d[0], *kept), nullptr);
            out.d[1] = kept;
        }
        return out;
    };
    IPluginV2Layer* const layer = add(dims({2, 4}));
    ASSERT_NE(layer, nullptr);
    layer->getOutput(0)->getDimensions();
    std::string const said = buildFails();
    EXPECT_FALSE(isConstant);
    EXPECT_EQ(value, INT64_MIN);
    EXPECT_NE(said.find("an expression of another call"), std::string::npos) << said;
    EXPECT_NE(said.find("[layer 'hooked']"), std::string::npos) << said;
}

//! The public Python bindings of 10.9 keep the builder of a plugin's shapes, and ask it for the types of another.
TEST_F(DynamicExpressions, K12_buildersOfEarlierCallsAnswerNull)
{
    IExprBuilder* kept{nullptr};
    hooks().shape = [&](DimsExprs const* in, IExprBuilder& builder) {
        kept = &builder;
        return in[0];
    };
    ASSERT_NE(add(dims({2, 4})), nullptr);
    network->getLayer(0)->getOutput(0)->getDimensions();
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->constant(5), nullptr);
}

//! A plugin may have its shapes computed by a thread of its own.
TEST_F(DynamicExpressions, K12_aThreadOfThePluginsOwnMayAskTheBuilderOfTheCall)
{
    IExprBuilder* kept{nullptr};
    hooks().shape = [&](DimsExprs const* in, IExprBuilder& builder) {
        DimsExprs out = in[0];
        std::thread{[&] {
            kept = &builder;
            out.d[1] = builder.operation(DimensionOperation::kPROD, *in[0].d[1], *builder.constant(3));
        }}.join();
        return out;
    };
    IPluginV2Layer* const layer = add(dims({2, 4}));
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(apitest::extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, 12})) << logger.errors();
    ASSERT_NE(kept, nullptr);
    IDimensionExpr const* late = kept->constant(5);
    EXPECT_EQ(late, nullptr) << "the call is over";
    std::thread{[&] { late = kept->constant(5); }}.join();
    EXPECT_EQ(late, nullptr) << "also for other threads";
}

//! All nine operations on two extents of run time, evaluated by a run.
TEST_F(DynamicExpressions, K13_operationsAreEvaluatedForTheShapesOfARun)
{
    static constexpr DimensionOperation kOps[]{DimensionOperation::kSUM, DimensionOperation::kPROD,
        DimensionOperation::kMAX, DimensionOperation::kMIN, DimensionOperation::kSUB, DimensionOperation::kEQUAL,
        DimensionOperation::kLESS, DimensionOperation::kFLOOR_DIV, DimensionOperation::kCEIL_DIV};
    auto const value = [](DimensionOperation op, int64_t a, int64_t b) -> int64_t {
        switch (op)
        {
        case DimensionOperation::kSUM: return a + b;
        case DimensionOperation::kPROD: return a * b;
        case DimensionOperation::kMAX: return std::max(a, b);
        case DimensionOperation::kMIN: return std::min(a, b);
        case DimensionOperation::kSUB: return a - b;
        case DimensionOperation::kEQUAL: return a == b ? 1 : 0;
        case DimensionOperation::kLESS: return a < b ? 1 : 0;
        case DimensionOperation::kFLOOR_DIV: return a / b;
        case DimensionOperation::kCEIL_DIV: return (a + b - 1) / b;
        }
        return -1;
    };
    for (DimensionOperation const op : kOps)
    {
        network.reset(builder->createNetworkV2(0));
        config.reset(builder->createBuilderConfig());
        hooks().shape = [op](DimsExprs const* in, IExprBuilder& builder) {
            // Added to 20, so that every operation gives an extent.
            IDimensionExpr const* found = builder.operation(op, *in[0].d[0], *in[0].d[1]);
            return DimsExprs{1, {builder.operation(DimensionOperation::kSUM, *found, *builder.constant(20))}};
        };
        hooks().enqueue = [](auto, auto, auto, auto, void*) { return 0; };
        IPluginV2Layer* const layer = add(dims({-1, -1}));
        ASSERT_NE(layer, nullptr);
        addProfile({1, 1}, {4, 4}, {9, 9});
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        EXPECT_EQ(engine->getTensorShape("y").d[0], -1);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        for (auto const& [a, b] : std::vector<std::pair<int64_t, int64_t>>{{7, 2}, {2, 7}, {5, 5}, {9, 1}, {8, 4}})
        {
            ASSERT_TRUE(context->setInputShape("x", dims({a, b})));
            EXPECT_EQ(context->getTensorShape("y").d[0], 20 + value(op, a, b))
                << "operation " << static_cast<int32_t>(op) << " of " << a << " and " << b;
        }
    }
}

TEST_F(DynamicExpressions, K13_anOperationThatDoesNotExistGivesNull)
{
    std::vector<bool> isNull;
    hooks().shape = [&](DimsExprs const* in, IExprBuilder& builder) {
        for (int32_t const op : {-1, 9, 1000})
            isNull.push_back(
                builder.operation(static_cast<DimensionOperation>(op), *in[0].d[0], *in[0].d[1]) == nullptr);
        return in[0];
    };
    IPluginV2Layer* const layer = add(dims({-1, 4}));
    ASSERT_NE(layer, nullptr);
    layer->getOutput(0)->getDimensions();
    ASSERT_GE(isNull.size(), 3U);
    for (bool const each : isNull)
        EXPECT_TRUE(each);
}

} // namespace
} // namespace plugintest
