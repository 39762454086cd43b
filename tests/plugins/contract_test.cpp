// The same small operator in every generation, under one contract: built, stored, loaded, run by two contexts.
#include "api/fixture.h"
#include "plugins/circ_pad.h"

#include <functional>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;

//! One generation: how its plugin is made, added and registered.
struct Way
{
    char const* name;
    bool hasDynamicExtents;
    std::function<ILayer*(INetworkDefinition&, ITensor&)> add;
    std::function<IPluginCreatorInterface&()> creator;
};

template <typename P>
Way wayOfV2(char const* name, bool isDynamic)
{
    return {name, isDynamic,
        [](INetworkDefinition& network, ITensor& x) -> ILayer* {
            ITensor* inputs[]{&x};
            auto* plugin = new P;
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
        [](INetworkDefinition& network, ITensor& x) -> ILayer* {
            ITensor* inputs[]{&x};
            CircPadV3 plugin;
            return network.addPluginV3(inputs, 1, nullptr, 0, plugin);
        },
        []() -> IPluginCreatorInterface& {
            static CircPadCreatorV3 creator;
            return creator;
        }};
}

std::vector<Way> ways()
{
    return {wayOfV2<CircPadV2>("V2", false), wayOfV2<CircPadV2Ext>("V2Ext", false),
        wayOfV2<CircPadV2IOExt>("V2IOExt", false), wayOfV2<CircPadV2DynamicExt>("V2DynamicExt", true), wayOfV3()};
}

struct Case
{
    size_t way;
    DataType type;
    bool isStronglyTyped;
};

std::vector<Case> cases()
{
    std::vector<Case> all;
    for (size_t way = 0; way < ways().size(); ++way)
    {
        for (DataType const type : {DataType::kFLOAT, DataType::kINT32})
            all.push_back({way, type, false});
        for (DataType const type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT32})
            all.push_back({way, type, true});
    }
    return all;
}

class Contract : public apitest::ApiTest, public ::testing::WithParamInterface<Case>
{
  protected:
    Way const way = ways()[GetParam().way];
    DataType const type = GetParam().type;
    size_t const element = elementSize(type);

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(getPluginRegistry()->registerCreator(way.creator(), "")) << logger.errors();
        if (GetParam().isStronglyTyped)
            network.reset(
                builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    }
    void TearDown() override
    {
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

    void build()
    {
        Dims const shape = way.hasDynamicExtents ? dims({-1, 3, -1, 7}) : dims({-1, 3, 5, 7});
        ITensor* x = network->addInput("x", type, shape);
        ILayer* layer = way.add(*network, *x);
        ASSERT_NE(layer, nullptr) << logger.errors();
        layer->setName("pad");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        EXPECT_EQ(layer->getOutput(0)->getType(), type);
        addProfile({1, 3, 5, 7}, {2, 3, 5, 7}, {4, 3, way.hasDynamicExtents ? 9 : 5, 7});
        engine = buildEngine();
        ASSERT_NE(engine, nullptr);
    }

    void run(IExecutionContext& context, int64_t n, int64_t h)
    {
        auto const count = static_cast<size_t>(n * 3 * h * 7);
        std::vector<uint8_t> values(count * element);
        std::mt19937 generator{static_cast<uint32_t>(n * 100 + h)};
        for (uint8_t& byte : values)
            byte = static_cast<uint8_t>(generator());
        Dims const in = dims({n, 3, h, 7});
        Dims const out = dims({n, 3, h + 4, 10});
        std::vector<uint8_t> wanted(static_cast<size_t>(n * 3 * (h + 4) * 10) * element);
        CircPadCore{}.run(in, out, element, values.data(), wanted.data());
        DeviceArray<uint8_t> const x{values};
        DeviceArray<uint8_t> const y{wanted.size()};
        ASSERT_TRUE(context.setInputShape("x", in)) << logger.errors();
        EXPECT_EQ(apitest::extents(context.getTensorShape("y")), apitest::extents(out));
        ASSERT_TRUE(context.setTensorAddress("x", x.data()));
        ASSERT_TRUE(context.setTensorAddress("y", y.data()));
        ASSERT_TRUE(context.enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(y.read(), wanted) << "batch " << n << ", rows " << h;
    }

    std::unique_ptr<ICudaEngine> engine;
};

TEST_P(Contract, J7_K10_L7_runsAfterReloadingInTwoContexts)
{
    build();
    {
        std::unique_ptr<IExecutionContext> const first{engine->createExecutionContext()};
        std::unique_ptr<IExecutionContext> const second{engine->createExecutionContext()};
        ASSERT_NE(first, nullptr) << logger.errors();
        ASSERT_NE(second, nullptr) << logger.errors();
        int64_t const rows = way.hasDynamicExtents ? 8 : 5;
        run(*first, 1, 5);
        run(*second, 4, rows);
        run(*first, 3, rows);
        run(*second, 2, 5);
        run(*first, 3, rows);
    }
    engine.reset();
    runtime.reset();
}

std::string nameOf(::testing::TestParamInfo<Case> const& info)
{
    static std::map<DataType, std::string> const types{
        {DataType::kFLOAT, "float"}, {DataType::kHALF, "half"}, {DataType::kINT8, "int8"}, {DataType::kINT32, "int32"}};
    return std::string{ways()[info.param.way].name} + "_" + types.at(info.param.type)
        + (info.param.isStronglyTyped ? "_strong" : "_weak");
}

INSTANTIATE_TEST_SUITE_P(CircPad, Contract, ::testing::ValuesIn(cases()), nameOf);

} // namespace
} // namespace plugintest
