// Group L: what IPluginV3 promises, with plugins made for one rule each.
#include "plugins/v3_fixture.h"

namespace plugintest
{
namespace
{

//! A pad that lacks a capability.
class Lacking final : public CircPadV3
{
  public:
    PluginCapabilityType lacks{PluginCapabilityType::kBUILD};
    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        return kind == lacks ? nullptr : CircPadV3::getCapabilityInterface(kind);
    }
};

TEST_F(V3, L1_pluginsWithoutACapabilityAreRefused)
{
    for (auto const lacks : {PluginCapabilityType::kCORE, PluginCapabilityType::kBUILD, PluginCapabilityType::kRUNTIME})
    {
        Lacking plugin;
        plugin.lacks = lacks;
        EXPECT_EQ(addPad(plugin, dims({1, 2, 3, 4})), nullptr);
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "has no capability"), 3) << logger.errors();
}

TEST_F(V3, L3_theUserKeepsTheObjectAndTheLibraryMakesItsOwn)
{
    {
        CircPadV3 plugin;
        plugin.core.before = {2, 0};
        ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr) << logger.errors();
    }
    std::unique_ptr<ICudaEngine> engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    auto const entries = Journal::get().all();
    auto const made =
        std::find_if(entries.begin(), entries.end(), [](Entry const& each) { return each.call == "createPlugin"; });
    ASSERT_NE(made, entries.end());
    EXPECT_EQ(made->what, "pad runtime");
    engine.reset();
    network.reset();
    EXPECT_EQ(Journal::get().alive(), 0);
}

TEST_F(V3, L11_L10_shapeInputsGiveShapesAndAreNoInputs)
{
    ITensor* x = network->addInput("x", DataType::kFLOAT, dims({2, 5, 7}));
    ITensor* more = network->addInput("more", DataType::kINT32, dims({2}));
    ITensor* inputs[]{x};
    ITensor* values[]{more};
    CircPadV3 plugin;
    IPluginV3Layer* layer = network->addPluginV3(inputs, 1, values, 1, plugin);
    ASSERT_NE(layer, nullptr) << logger.errors();
    EXPECT_EQ(layer->getNbInputs(), 2);
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (auto const& [select, value] : {std::pair{OptProfileSelector::kMIN, 0}, std::pair{OptProfileSelector::kOPT, 2},
             std::pair{OptProfileSelector::kMAX, 6}})
    {
        int32_t const both[]{value, value};
        ASSERT_TRUE(profile->setShapeValues("more", select, both, 2));
    }
    config->addOptimizationProfile(profile);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_GT(Journal::get().count("getOutputShapes"), 0);
    EXPECT_LT(Journal::get().first("getOutputDataTypes"), Journal::get().first("getOutputShapes"));
    for (Entry const& each : Journal::get().all())
    {
        if (each.call == "getOutputShapes")
        {
            EXPECT_EQ(each.what, "1+1");
        }
    }
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    for (int32_t const add : {0, 3, 6})
    {
        std::vector<int32_t> extra{add, add + (add == 3 ? 1 : 0)};
        std::vector<float> const given = randomFloats(70, 3);
        DeviceArray<float> const in{given};
        Dims const shape = dims({2, 5 + 1 + extra[0], 7 + 2 + extra[1]});
        std::vector<float> wanted(static_cast<size_t>(2 * shape.d[1] * shape.d[2]));
        CircPadCore{}.run(dims({2, 5, 7}), shape, 4, given.data(), wanted.data());
        DeviceArray<float> const out{wanted.size()};
        ASSERT_TRUE(context->setTensorAddress("x", in.data()));
        ASSERT_TRUE(context->setTensorAddress("more", extra.data()));
        ASSERT_TRUE(context->setTensorAddress("y", out.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(out.read(), wanted);
    }
}

TEST_F(V3, L12_L13_shapesAreToldBeforeRunsAndNotWithoutNeed)
{
    CircPadV3 plugin;
    ASSERT_NE(addPad(plugin, dims({-1, 2, 5, 7})), nullptr);
    addProfile({1, 2, 5, 7}, {3, 2, 5, 7}, {4, 2, 5, 7});
    addProfile({2, 2, 5, 7}, {6, 2, 5, 7}, {8, 2, 5, 7});
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    std::vector<std::string> told;
    std::vector<std::string> configured;
    for (Entry const& each : Journal::get().all())
        if (each.call == "onShapeChange")
            told.push_back(each.what);
        else if (each.call == "configurePlugin")
            configured.push_back(each.what);
    EXPECT_EQ(told, (std::vector<std::string>{"3x2x5x7->3x2x9x10", "6x2x5x7->6x2x9x10"})) << "once per profile";
    EXPECT_EQ(configured,
        (std::vector<std::string>{"-1x2x5x7 in 1x2x5x7:3x2x5x7:4x2x5x7", "-1x2x5x7 in 2x2x5x7:6x2x5x7:8x2x5x7"}));

    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    Journal::get().clear();
    DeviceArray<float> const x{size_t{8 * 70}};
    DeviceArray<float> const other{size_t{8 * 70}};
    DeviceArray<float> const y{size_t{8 * 2 * 9 * 10}};
    auto const changes = [] { return Journal::get().count("onShapeChange"); };
    ASSERT_TRUE(enqueue(*context, x, y, dims({2, 2, 5, 7}))) << logger.errors();
    EXPECT_EQ(changes(), 1);
    EXPECT_LT(Journal::get().first("onShapeChange"), Journal::get().first("enqueue"));
    ASSERT_TRUE(enqueue(*context, x, y, dims({2, 2, 5, 7})));
    EXPECT_EQ(changes(), 1) << "nothing has changed";
    ASSERT_TRUE(enqueue(*context, x, y, dims({4, 2, 5, 7})));
    EXPECT_EQ(changes(), 2) << "another shape";
    ASSERT_TRUE(enqueue(*context, other, y, dims({4, 2, 5, 7})));
    EXPECT_EQ(changes(), 3) << "another address of an input";
    ASSERT_TRUE(context->setOptimizationProfileAsync(1, stream()));
    ASSERT_TRUE(enqueue(*context, other, y, dims({4, 2, 5, 7})));
    EXPECT_EQ(changes(), 4) << "another profile";
    EXPECT_EQ(Journal::get().count("configurePlugin"), 0) << "only while building";
    EXPECT_EQ(Journal::get().count("enqueue"), 5);
}

TEST_F(V3, L14_L15_L16_theTacticIsKeptAndSetBeforeRuns)
{
    CircPadV3 plugin;
    plugin.tactics = {7, 3};
    ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    EXPECT_LT(Journal::get().first("configurePlugin"), Journal::get().first("getNbTactics"));
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    DeviceArray<float> const x{size_t{70}};
    DeviceArray<float> const y{size_t{2 * 9 * 10}};
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> const another{engine->createExecutionContext()};
    ASSERT_TRUE(enqueue(*another, x, y, dims({1, 2, 5, 7})));
    int32_t const at = Journal::get().first("setTactic");
    ASSERT_GE(at, 0);
    EXPECT_EQ(Journal::get().all()[static_cast<size_t>(at)].what, "7");
    EXPECT_LT(at, Journal::get().first("enqueue"));
}

TEST_F(V3, L15_tacticsAreUniqueAndPositive)
{
    for (std::vector<int32_t> const& tactics : {std::vector<int32_t>{0}, {3, 3}, {-4}})
    {
        network.reset(builder->createNetworkV2(0));
        CircPadV3 plugin;
        plugin.tactics = tactics;
        ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
        EXPECT_NE(buildFails().find("positive and unique"), std::string::npos);
    }
}

//! A pad one of whose callbacks fails.
class FailingPad final : public CircPadV3
{
  public:
    explicit FailingPad(std::string call)
        : mCall{std::move(call)}
    {
    }
    IPluginV3* clone() noexcept override
    {
        return mCall == "clone" && number() != 0 ? nullptr : new FailingPad{*this};
    }
    int32_t getOutputDataTypes(DataType* out, int32_t n, DataType const* in, int32_t m) const noexcept override
    {
        return mCall == "getOutputDataTypes" ? 11 : CircPadV3::getOutputDataTypes(out, n, in, m);
    }
    int32_t getOutputShapes(DimsExprs const* in, int32_t n, DimsExprs const* values, int32_t k, DimsExprs* out,
        int32_t m, IExprBuilder& builder) noexcept override
    {
        return mCall == "getOutputShapes" ? 12 : CircPadV3::getOutputShapes(in, n, values, k, out, m, builder);
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const* in, int32_t n, DynamicPluginTensorDesc const* out, int32_t m) noexcept override
    {
        return mCall == "configurePlugin" ? 13 : CircPadV3::configurePlugin(in, n, out, m);
    }
    int32_t onShapeChange(
        PluginTensorDesc const* in, int32_t n, PluginTensorDesc const* out, int32_t m) noexcept override
    {
        return mCall == "onShapeChange" ? 14 : CircPadV3::onShapeChange(in, n, out, m);
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t n, int32_t m) noexcept override
    {
        return mCall != "supportsFormatCombination" && CircPadV3::supportsFormatCombination(pos, inOut, n, m);
    }

  private:
    FailingPad(FailingPad const& other)
        : CircPadV3{other},
          mCall{other.mCall}
    {
    }
    std::string mCall;
};

TEST_F(V3, L9_L21_codesStopTheBuildAndAreReported)
{
    for (auto const& [call, what] :
        std::vector<std::pair<std::string, std::string>>{{"getOutputDataTypes", "returned 11"},
            {"getOutputShapes", "returned 12"}, {"configurePlugin", "returned 13"}, {"onShapeChange", "returned 14"},
            {"supportsFormatCombination", "input 0 (tensor 'x')"}})
    {
        network.reset(builder->createNetworkV2(0));
        FailingPad plugin{call};
        ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr) << call;
        std::string const message = buildFails();
        EXPECT_NE(message.find(what), std::string::npos) << call << ": " << message;
        EXPECT_NE(message.find("pad"), std::string::npos) << "the layer is named: " << message;
    }
    network.reset(builder->createNetworkV2(0));
    FailingPad plugin{"clone"};
    EXPECT_EQ(addPad(plugin, dims({1, 2, 5, 7})), nullptr) << "L6: clone gave null";
}

TEST_F(V3, L7_L8_eachContextHasItsOwnObjectAndResources)
{
    CircPadV3 plugin;
    ASSERT_NE(addPad(plugin, dims({1, 2, 5, 7})), nullptr);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr);
    Journal::get().clear();
    std::unique_ptr<IExecutionContext> first{engine->createExecutionContext()};
    std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
    EXPECT_EQ(Journal::get().count("attachToContext"), 2);
    first.reset();
    EXPECT_EQ(Journal::get().count("destructor"), 1);
    DeviceArray<float> const x{size_t{70}};
    DeviceArray<float> const y{size_t{2 * 9 * 10}};
    EXPECT_TRUE(enqueue(*second, x, y, dims({1, 2, 5, 7})));
}

} // namespace
} // namespace plugintest
