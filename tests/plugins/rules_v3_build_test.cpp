// Group L, what a build asks: outputs, size tensors, shape inputs, formats, aliases, metadata.
#include "plugins/flexible_test.h"

namespace plugintest
{
namespace
{

using V3Build = FlexibleTest<Flexible>;
using V3Aliases = FlexibleTest<FlexibleV2>;

TEST_F(V3Build, L9_oneCallAnswersForAllOutputs)
{
    behaviour->outputs = 3;
    std::vector<int32_t> asked;
    behaviour->shapes = [&](DimsExprs const* in, DimsExprs const*, DimsExprs* out, IExprBuilder& make) {
        for (int32_t i = 0; i < 3; ++i)
        {
            out[i] = {1, {make.operation(DimensionOperation::kPROD, *in[0].d[0], *make.constant(i + 1))}};
            asked.push_back(i);
        }
        return 0;
    };
    behaviour->types = [](DataType* out, DataType const*) {
        out[0] = DataType::kFLOAT;
        out[1] = DataType::kINT32;
        out[2] = DataType::kFLOAT;
        return 0;
    };
    IPluginV3Layer* const layer = addTo(dims({4}));
    ASSERT_NE(layer, nullptr);
    for (int32_t i = 0; i < 3; ++i)
        EXPECT_EQ(apitest::extents(layer->getOutput(i)->getDimensions()), std::vector<int64_t>{4 * (i + 1)});
    EXPECT_EQ(layer->getOutput(1)->getType(), DataType::kINT32);
    EXPECT_EQ(layer->getOutput(2)->getType(), DataType::kFLOAT);
    EXPECT_EQ(asked.size() % 3, 0U);
}

//! What the plugin does wrong with its size tensor, and what is said about it.
struct SizeCase
{
    char const* name;
    DataType type;
    int32_t rank;
    int32_t index;
    bool nested;
    char const* said;
};

class SizeTensors : public FlexibleTest<Flexible>, public ::testing::WithParamInterface<SizeCase>
{
};

TEST_P(SizeTensors, L10_mustBeIntegersOfRankZeroAndMayNotDependOnOthers)
{
    SizeCase const& given = GetParam();
    behaviour->outputs = 3;
    behaviour->types = [&](DataType* out, DataType const* in) {
        out[0] = in[0];
        out[1] = given.type;
        out[2] = DataType::kINT32;
        return 0;
    };
    bool refused{false};
    behaviour->shapes = [&](DimsExprs const* in, DimsExprs const*, DimsExprs* out, IExprBuilder& make) {
        IDimensionExpr const* count = make.declareSizeTensor(given.index, *make.constant(1), *in[0].d[0]);
        refused = count == nullptr;
        if (given.nested && count != nullptr)
        {
            count = make.declareSizeTensor(2, *count, *in[0].d[0]);
            refused = count == nullptr;
        }
        out[0] = {1, {count}};
        out[1] = {given.rank, {in[0].d[0]}};
        out[2] = {0, {}};
        return count == nullptr ? 9 : 0;
    };
    ASSERT_NE(addTo(dims({-1})), nullptr);
    addProfile({1}, {4}, {8});
    EXPECT_NE(buildFails().find(given.said), std::string::npos) << logger.errors();
    EXPECT_EQ(refused, given.index != 1 || given.nested) << "the builder answers null where it can tell";
}

INSTANTIATE_TEST_SUITE_P(All, SizeTensors,
    ::testing::Values(SizeCase{"type", DataType::kFLOAT, 0, 1, false, "must be a 0-D int32"},
        SizeCase{"rank", DataType::kINT32, 1, 1, false, "must be a 0-D int32"},
        SizeCase{"index", DataType::kINT32, 0, 7, false, "output 7 does not exist"},
        SizeCase{"nested", DataType::kINT32, 0, 1, true, "may not depend on another size tensor"}),
    [](auto const& info) { return std::string{info.param.name}; });

TEST_F(V3Build, L10_boundsOfSizeTensorsAreSizes)
{
    behaviour->outputs = 2;
    behaviour->types = [&](DataType* out, DataType const* in) {
        out[0] = in[0];
        out[1] = DataType::kINT32;
        return 0;
    };
    for (auto const& [opt, upper, said] : {std::tuple{int64_t{1}, int64_t{-5}, "opt 1 and upper -5: sizes are from 0"},
             std::tuple{int64_t{-1}, int64_t{5}, "opt -1 and upper 5: sizes are from 0"},
             std::tuple{int64_t{1}, int64_t{1} << 62, "sizes are from 0"},
             std::tuple{int64_t{50}, int64_t{10}, "opt 50 is above upper 10"}})
    {
        behaviour->shapes = [&](DimsExprs const*, DimsExprs const*, DimsExprs* out, IExprBuilder& make) {
            IDimensionExpr const* const count = make.declareSizeTensor(1, *make.constant(opt), *make.constant(upper));
            out[0] = {1, {count}};
            out[1] = {0, {}};
            return count == nullptr ? 9 : 0;
        };
        network.reset(builder->createNetworkV2(0));
        ASSERT_NE(addTo(dims({8})), nullptr);
        EXPECT_NE(buildFails().find(said), std::string::npos) << logger.errors();
    }
}

TEST_F(V3Build, L9_whatIsTooLargeInEveryRunIsRefused)
{
    behaviour->shapes = [&](DimsExprs const* in, DimsExprs const*, DimsExprs* out, IExprBuilder& make) {
        out[0] = {1, {make.operation(DimensionOperation::kPROD, *in[0].d[0], *make.constant(int64_t{1} << 61))}};
        return 0;
    };
    ASSERT_NE(addTo(dims({-1})), nullptr);
    addProfile({1}, {4}, {20});
    std::string const said = buildFails();
    EXPECT_NE(said.find("output 0 of plugin"), std::string::npos) << said;
    EXPECT_NE(said.find("2305843009213693952 or more on axis 0 in profile 0: no tensor is so large"), std::string::npos)
        << said;
}

TEST_F(V3Build, L11_valuesOfShapeInputsAreFlattenedInRowMajorOrder)
{
    std::vector<int32_t> const table{1, 2, 3, 4, 5, 6};
    int32_t const single{7};
    ITensor* const x = network->addInput("x", DataType::kFLOAT, dims({2}));
    ITensor* const matrix =
        network->addConstant(dims({2, 3}), Weights{DataType::kINT32, table.data(), 6})->getOutput(0);
    ITensor* const scalar = network->addConstant(dims({}), Weights{DataType::kINT32, &single, 1})->getOutput(0);
    std::vector<std::vector<int64_t>> seen;
    behaviour->shapes = [&](DimsExprs const* in, DimsExprs const* values, DimsExprs* out, IExprBuilder&) {
        seen.clear();
        for (int32_t i = 0; i < 2; ++i)
        {
            seen.emplace_back();
            for (int32_t k = 0; k < values[i].nbDims; ++k)
                seen.back().push_back(values[i].d[k]->getConstantValue());
        }
        out[0] = in[0];
        return 0;
    };
    registerCreator();
    IPluginV3Layer* const layer = add({x}, {matrix, scalar});
    ASSERT_NE(layer, nullptr) << logger.errors();
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_EQ(seen, (std::vector<std::vector<int64_t>>{{1, 2, 3, 4, 5, 6}, {7}}));
    for (std::string const& inputs : whatOf("getOutputShapes"))
        EXPECT_EQ(inputs, "1") << "shape inputs are not counted";
    for (std::string const& position : whatOf("supportsFormatCombination"))
        EXPECT_LT(std::stoi(position), 2) << "and have no format";
}

TEST_F(V3Build, L17_formatsAreAskedWithTheBoundsOfDynamicExtents)
{
    std::vector<std::string> seen;
    behaviour->supports = [&](int32_t position, DynamicDescs descs) {
        for (int32_t i = 0; i < position; ++i)
            EXPECT_EQ(descs[i].desc.type, DataType::kFLOAT) << "those before hold what was accepted";
        DynamicPluginTensorDesc const& at = descs[position];
        seen.push_back(text(at.desc.dims) + " in " + text(at.min) + ":" + text(at.opt) + ":" + text(at.max));
        return at.desc.type == DataType::kFLOAT && at.desc.format == TensorFormat::kLINEAR;
    };
    ASSERT_NE(addTo(dims({-1, 3})), nullptr);
    addProfile({1, 3}, {2, 3}, {6, 3});
    registerCreator();
    ASSERT_NE(buildEngine(), nullptr);
    ASSERT_FALSE(seen.empty());
    for (std::string const& each : seen)
        EXPECT_EQ(each, "-1x3 in 1x3:2x3:6x3");
}

TEST_F(V3Build, L17_J10_positionsBeforeAreOnesThatWereAccepted)
{
    std::vector<bool> accepted(3, false);
    behaviour->outputs = 2;
    behaviour->supports = [&](int32_t position, DynamicDescs descs) {
        for (int32_t i = 0; i < position; ++i)
            EXPECT_TRUE(accepted[static_cast<size_t>(i)]);
        for (int32_t later = position + 1; later < 3; ++later)
        {
            EXPECT_LT(static_cast<int32_t>(descs[later].desc.type), 0) << "later entries are poisoned";
            EXPECT_LT(static_cast<int32_t>(descs[later].desc.format), 0);
        }
        bool const fits =
            descs[position].desc.type == DataType::kFLOAT && descs[position].desc.format == TensorFormat::kLINEAR;
        accepted[static_cast<size_t>(position)] = fits;
        return fits;
    };
    ASSERT_NE(addTo(dims({2, 3, 4, 5})), nullptr);
    registerCreator();
    EXPECT_NE(buildEngine(), nullptr);
}

// ---- aliases

TEST_F(V3Aliases, L18_aliasesAreAskedOnlyWithThePreviewFeature)
{
    behaviour->aliased = [](int32_t) { return 0; };
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    ASSERT_NE(buildEngine(), nullptr);
    EXPECT_EQ(Journal::get().count("getAliasedInput"), 0);
    config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_GT(Journal::get().count("getAliasedInput"), 0);
}

TEST_F(V3Build, L18_theFirstBuildInterfaceIsNeverAsked)
{
    config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine(); // Its objects have no slot for that call.
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    runCopies(*context, dims({2, 3}));
}

TEST_F(V3Aliases, L18_minusOneIsNoneAndAnInputGoesToOneOutputOnly)
{
    config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
    behaviour->outputs = 2;
    behaviour->aliased = [](int32_t) { return -1; };
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        std::vector<float> const values = randomFloats(6, 2);
        DeviceArray<float> const x{values};
        DeviceArray<float> const y{size_t{6}};
        DeviceArray<float> const y1{size_t{6}};
        ASSERT_TRUE(context->setTensorAddress("y1", y1.data()));
        ASSERT_TRUE(enqueue(*context, x, y, dims({2, 3})));
        EXPECT_EQ(y.read(), values);
        EXPECT_EQ(y1.read(), values);
    }
    behaviour->aliased = [](int32_t) { return 0; };
    EXPECT_NE(buildFails().find("gives input 0 to two outputs"), std::string::npos) << logger.errors();
}

TEST_F(V3Aliases, L18_aliasedInputAndOutputHaveOneShapeAndType)
{
    config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
    behaviour->aliased = [](int32_t) { return 0; };
    behaviour->shapes = [](DimsExprs const* in, DimsExprs const*, DimsExprs* out, IExprBuilder& make) {
        out[0] = {1, {make.operation(DimensionOperation::kSUM, *in[0].d[0], *make.constant(1))}};
        return 0;
    };
    ASSERT_NE(addTo(dims({4})), nullptr);
    EXPECT_NE(buildFails().find("whose type, format or shape is another"), std::string::npos) << logger.errors();
}

TEST_F(V3Build, L20_metadataShowsInTheInspector)
{
    behaviour->metadata = "kernel \"fast\"";
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    std::string const all = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    EXPECT_NE(all.find("kernel \\\"fast\\\""), std::string::npos) << all;
}

TEST_F(V3Build, L20_noMetadataIsFine)
{
    registerCreator();
    ASSERT_NE(addTo(dims({2, 3})), nullptr);
    config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    EXPECT_NE(std::string{inspector->getEngineInformation(LayerInformationFormat::kJSON)}.find("flexible"),
        std::string::npos);
}

} // namespace
} // namespace plugintest
