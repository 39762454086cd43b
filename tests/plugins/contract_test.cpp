// The same small operator in every generation, under one contract: built, run, stored, loaded, run by two contexts and
// in a process of its own.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/elsewhere.h"

#include <functional>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;

constexpr char const* kNamespace{"five"}; //!< That of the library which the other process loads.

//! One generation: how its plugin is made, added and registered. `more`: null, or values of a shape input.
struct Way
{
    char const* name;
    bool hasDynamicExtents;
    std::function<ILayer*(INetworkDefinition&, ITensor&, ITensor* more)> add;
    std::function<IPluginCreatorInterface&()> creator;
};

template <typename P>
Way wayOfV2(char const* name, bool isDynamic)
{
    return {name, isDynamic,
        [](INetworkDefinition& network, ITensor& x, ITensor*) -> ILayer* {
            ITensor* inputs[]{&x};
            auto* plugin = new P;
            plugin->nameSpace = kNamespace;
            ILayer* layer = network.addPluginV2(inputs, 1, *plugin);
            plugin->destroy(); // The network has a copy of its own (J13).
            return layer;
        },
        []() -> IPluginCreatorInterface& {
            static CircPadCreator<P> creator;
            return creator;
        }};
}

Way wayOfV3()
{
    return {"V3", true,
        [](INetworkDefinition& network, ITensor& x, ITensor* more) -> ILayer* {
            ITensor* inputs[]{&x};
            CircPadV3 plugin;
            plugin.nameSpace = kNamespace;
            return network.addPluginV3(inputs, 1, &more, more == nullptr ? 0 : 1, plugin);
        },
        []() -> IPluginCreatorInterface& {
            static CircPadCreatorV3 creator;
            creator.nameSpace = kNamespace;
            return creator;
        }};
}

std::vector<Way> ways()
{
    return {wayOfV2<CircPadV2>("V2", false), wayOfV2<CircPadV2Ext>("V2Ext", false),
        wayOfV2<CircPadV2IOExt>("V2IOExt", false), wayOfV2<CircPadV2DynamicExt>("V2DynamicExt", true), wayOfV3()};
}

struct ContractCase
{
    size_t way;
    DataType type;
    bool isStronglyTyped;
};

std::vector<ContractCase> contractCases(size_t first = 0)
{
    std::vector<ContractCase> all;
    for (size_t way = first; way < ways().size(); ++way)
    {
        for (DataType const type : {DataType::kFLOAT, DataType::kINT32})
            all.push_back({way, type, false});
        for (DataType const type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT32})
            all.push_back({way, type, true});
    }
    return all;
}

class Contract : public apitest::ApiTest, public ::testing::WithParamInterface<ContractCase>
{
  protected:
    Way const way = ways()[GetParam().way];
    DataType const type = GetParam().type;
    size_t const element = elementSize(type);

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(getPluginRegistry()->registerCreator(way.creator(), kNamespace)) << logger.errors();
        if (GetParam().isStronglyTyped)
            network.reset(
                builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    }
    void TearDown() override
    {
        before.reset();
        engine.reset();
        runtime.reset();
        network.reset();
        config.reset();
        builder.reset();
        EXPECT_TRUE(getPluginRegistry()->deregisterCreator(way.creator()));
        EXPECT_EQ(Journal::get().alive(), 0) << "objects that nobody destroyed";
        EXPECT_EQ(Journal::get().count("initialize"), Journal::get().count("terminate"));
        EXPECT_EQ(Journal::get().count("detachFromContext"),
            way.name == std::string{"V3"} ? 0 : Journal::get().count("attachToContext"));
        EXPECT_EQ(Journal::get().count("sawLaterEntry"), 0) << "J10: later entries are poisoned";
    }

    void build(bool hasMore = false)
    {
        Dims const shape = way.hasDynamicExtents ? dims({-1, 3, -1, 7}) : dims({-1, 3, 5, 7});
        ITensor* x = network->addInput("x", type, shape);
        ITensor* more = hasMore ? network->addInput("more", DataType::kINT32, dims({2})) : nullptr;
        ILayer* layer = way.add(*network, *x, more);
        ASSERT_NE(layer, nullptr) << logger.errors();
        layer->setName("pad");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        EXPECT_EQ(layer->getOutput(0)->getType(), type);
        addProfile({1, 3, 5, 7}, {2, 3, 5, 7}, {4, 3, way.hasDynamicExtents ? 9 : 5, 7}, hasMore);
        before.reset(builder->buildEngineWithConfig(*network, *config));
        ASSERT_NE(before, nullptr) << logger.errors();
        plan.reset(before->serialize());
        ASSERT_NE(plan, nullptr) << logger.errors();
        engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
        ASSERT_NE(engine, nullptr) << logger.errors();
    }
    void addProfile(std::vector<int64_t> const& least, std::vector<int64_t> const& best,
        std::vector<int64_t> const& most, bool hasMore)
    {
        IOptimizationProfile& profile = *builder->createOptimizationProfile();
        ASSERT_TRUE(profile.setDimensions("x", OptProfileSelector::kMIN, dims(least)));
        ASSERT_TRUE(profile.setDimensions("x", OptProfileSelector::kOPT, dims(best)));
        ASSERT_TRUE(profile.setDimensions("x", OptProfileSelector::kMAX, dims(most)));
        std::array<int32_t, 2> const values[]{{0, 0}, {3, 1}, {5, 4}};
        for (size_t i = 0; hasMore && i < 3; ++i)
            ASSERT_TRUE(profile.setShapeValues("more", static_cast<OptProfileSelector>(i), values[i].data(), 2));
        ASSERT_EQ(config->addOptimizationProfile(&profile), 0);
    }

    struct Data
    {
        Dims in;
        Dims out;
        std::vector<uint8_t> x;
        std::vector<uint8_t> y; //!< As it must be.
    };
    Data data(int64_t n, int64_t h, std::array<int32_t, 2> after = CircPadCore{}.after) const
    {
        Data made{dims({n, 3, h, 7}), dims({n, 3, h + 1 + after[0], 9 + after[1]}), {}, {}};
        made.x.resize(static_cast<size_t>(n * 3 * h * 7) * element);
        std::mt19937 generator{static_cast<uint32_t>(n * 100 + h)};
        for (uint8_t& byte : made.x)
            byte = static_cast<uint8_t>(generator());
        made.y.resize(static_cast<size_t>(n * 3 * made.out.d[2] * made.out.d[3]) * element);
        CircPadCore{}.run(made.in, made.out, element, made.x.data(), made.y.data());
        return made;
    }

    void run(IExecutionContext& context, Data const& data, std::array<int32_t, 2> const* more = nullptr)
    {
        DeviceArray<uint8_t> const x{data.x};
        DeviceArray<uint8_t> const y{data.y.size()};
        ASSERT_TRUE(context.setInputShape("x", data.in)) << logger.errors();
        ASSERT_TRUE(more == nullptr || context.setInputTensorAddress("more", more->data()));
        EXPECT_EQ(apitest::extents(context.getTensorShape("y")), apitest::extents(data.out));
        ASSERT_TRUE(context.setTensorAddress("x", x.data()));
        ASSERT_TRUE(context.setTensorAddress("y", y.data()));
        ASSERT_TRUE(context.enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(y.read(), data.y) << "batch " << data.in.d[0] << ", rows " << data.in.d[2];
    }
    void runInTwoContexts(ICudaEngine& from)
    {
        std::unique_ptr<IExecutionContext> const first{from.createExecutionContext()};
        std::unique_ptr<IExecutionContext> const second{from.createExecutionContext()};
        ASSERT_NE(first, nullptr) << logger.errors();
        ASSERT_NE(second, nullptr) << logger.errors();
        int64_t const rows = way.hasDynamicExtents ? 8 : 5;
        run(*first, data(1, 5));
        run(*second, data(4, rows));
        run(*first, data(3, rows));
        run(*second, data(2, 5));
        run(*first, data(3, rows));
    }

    std::unique_ptr<ICudaEngine> before; //!< As built, not saved yet.
    std::unique_ptr<IHostMemory> plan;
    std::unique_ptr<ICudaEngine> engine; //!< Loaded from the plan.
};

TEST_P(Contract, J7_K10_L7_runsBeforeSavingAndAfterReloadingInTwoContexts)
{
    build();
    runInTwoContexts(*before);
    runInTwoContexts(*engine);
    runInTwoContexts(*before);
}

TEST_P(Contract, J15_L3_runsInAnotherProcess)
{
    build();
    Data const given = data(3, way.hasDynamicExtents ? 8 : 5);
    auto outputs =
        runElsewhere(TENON_FIVE_LIBRARY, *plan, {{"x", Elements::of(apitest::extents(given.in), given.x)}}, {"y"});
    EXPECT_EQ(outputs["y"].as<uint8_t>(), given.y);
}

//! The one generation that knows shape inputs.
class ContractWithShapeInput : public Contract
{
};

TEST_P(ContractWithShapeInput, L11_aShapeTensorSaysHowMuchIsAdded)
{
    build(true);
    for (ICudaEngine* from : {before.get(), engine.get()})
    {
        std::unique_ptr<IExecutionContext> const context{from->createExecutionContext()};
        ASSERT_NE(context, nullptr) << logger.errors();
        for (std::array<int32_t, 2> const& after : {std::array{0, 0}, std::array{5, 4}, std::array{2, 3}})
            run(*context, data(2, 6, after), &after);
    }
    std::array<int32_t, 2> const after{4, 1};
    Data const given = data(4, 9, after);
    auto outputs = runElsewhere(TENON_FIVE_LIBRARY, *plan,
        {{"x", Elements::of(apitest::extents(given.in), given.x)},
            {"more", Elements::of<int32_t>({2}, {after.begin(), after.end()})}},
        {"y"});
    EXPECT_EQ(outputs["y"].as<uint8_t>(), given.y);
}

std::string nameOf(::testing::TestParamInfo<ContractCase> const& info)
{
    static std::map<DataType, std::string> const types{
        {DataType::kFLOAT, "float"}, {DataType::kHALF, "half"}, {DataType::kINT8, "int8"}, {DataType::kINT32, "int32"}};
    return std::string{ways()[info.param.way].name} + "_" + types.at(info.param.type)
        + (info.param.isStronglyTyped ? "_strong" : "_weak");
}

INSTANTIATE_TEST_SUITE_P(CircPad, Contract, ::testing::ValuesIn(contractCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(
    CircPad, ContractWithShapeInput, ::testing::ValuesIn(contractCases(ways().size() - 1)), nameOf);

} // namespace
} // namespace plugintest
