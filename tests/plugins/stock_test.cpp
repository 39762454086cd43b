// Stock plugins as C++ programs find them: by the call of their generation.
#include "api/fixture.h"

#include "NvInferPlugin.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace plugintest
{
namespace
{

using namespace nvinfer1;

struct Expected
{
    char const* name;
    char const* version;
    bool isV3;
};

class StockPlugin : public apitest::ApiTest, public testing::WithParamInterface<Expected>
{
};

TEST_P(StockPlugin, isFoundByTheCallOfItsGeneration)
{
    ASSERT_TRUE(initLibNvInferPlugins(&logger, ""));
    auto const [name, version, isV3] = GetParam();
    IPluginCreator* const older = getPluginRegistry()->getPluginCreator(name, version);
    IPluginCreatorInterface* const creator = getPluginRegistry()->getCreator(name, version);
    ASSERT_NE(creator, nullptr);
    EXPECT_STREQ(creator->getInterfaceInfo().kind, isV3 ? "PLUGIN CREATOR_V3ONE" : "PLUGIN CREATOR_V1");
    EXPECT_EQ(older, isV3 ? nullptr : creator);
}

constexpr std::array kExpected{Expected{"EfficientNMS_TRT", "1", false}, Expected{"BatchedNMSDynamic_TRT", "1", false},
    Expected{"ROIAlign_TRT", "1", false}, Expected{"ROIAlign_TRT", "2", true},
    Expected{"CropAndResizeDynamic", "1", false}, Expected{"CropAndResizeDynamic", "2", true},
    Expected{"PillarScatterPlugin", "1", false}, Expected{"InstanceNormalization_TRT", "1", false},
    Expected{"InstanceNormalization_TRT", "2", false}, Expected{"InstanceNormalization_TRT", "3", true},
    Expected{"CustomSkipLayerNormPluginDynamic", "1", false}, Expected{"CustomSkipLayerNormPluginDynamic", "2", false},
    Expected{"CustomSkipLayerNormPluginDynamic", "3", false}, Expected{"CustomSkipLayerNormPluginDynamic", "4", false},
    Expected{"CustomSkipLayerNormPluginDynamic", "5", true}, Expected{"CustomSkipLayerNormPluginDynamic", "6", true},
    Expected{"CustomSkipLayerNormPluginDynamic", "7", true}, Expected{"CustomSkipLayerNormPluginDynamic", "8", true},
    Expected{"BatchedNMS_TRT", "1", false}, Expected{"Clip_TRT", "1", false}, Expected{"CoordConvAC", "1", false},
    Expected{"CropAndResize", "1", false}, Expected{"CustomEmbLayerNormPluginDynamic", "1", false},
    Expected{"CustomFCPluginDynamic", "1", false}, Expected{"CustomGeluPluginDynamic", "1", false},
    Expected{"CustomQKVToContextPluginDynamic", "1", false}, Expected{"FlattenConcat_TRT", "1", false},
    Expected{"LReLU_TRT", "1", false}, Expected{"Normalize_TRT", "1", false}, Expected{"Reorg_TRT", "1", false},
    Expected{"Reorg_TRT", "2", false}, Expected{"ResizeNearest_TRT", "1", false}, Expected{"ScatterND", "1", false}};

INSTANTIATE_TEST_SUITE_P(All, StockPlugin, testing::ValuesIn(kExpected),
    [](auto const& info) { return std::string{info.param.name} + "_" + info.param.version; });

using StockPlugins = apitest::ApiTest;

TEST_F(StockPlugins, anObjectOfTheOlderGenerationIsStoredAndRestored)
{
    ASSERT_TRUE(initLibNvInferPlugins(&logger, ""));
    IPluginCreator* const creator = getPluginRegistry()->getPluginCreator("CropAndResizeDynamic", "1");
    ASSERT_NE(creator, nullptr);
    int32_t const width{7};
    int32_t const height{3};
    std::array const fields{PluginField{"crop_width", &width, PluginFieldType::kINT32, 1},
        PluginField{"crop_height", &height, PluginFieldType::kINT32, 1}};
    PluginFieldCollection const collection{static_cast<int32_t>(fields.size()), fields.data()};
    IPluginV2* const plugin = creator->createPlugin("crop", &collection);
    ASSERT_NE(plugin, nullptr);
    std::vector<uint8_t> bytes(plugin->getSerializationSize());
    plugin->serialize(bytes.data());
    IPluginV2* const again = creator->deserializePlugin("crop", bytes.data(), bytes.size());
    ASSERT_NE(again, nullptr);
    std::vector<uint8_t> twice(again->getSerializationSize());
    again->serialize(twice.data());
    EXPECT_EQ(bytes, twice);
    EXPECT_STREQ(again->getPluginType(), "CropAndResizeDynamic");
    EXPECT_EQ(creator->deserializePlugin("crop", bytes.data(), bytes.size() - 1), nullptr);
    plugin->destroy();
    again->destroy();
}

TEST_F(StockPlugins, theLoggerIsToldWhichFieldIsRefused)
{
    ASSERT_TRUE(initLibNvInferPlugins(&logger, ""));
    int32_t const width{7};
    int32_t const height{-3};
    std::array const fields{PluginField{"crop_width", &width, PluginFieldType::kINT32, 1},
        PluginField{"crop_height", &height, PluginFieldType::kINT32, 1}};
    PluginFieldCollection const collection{static_cast<int32_t>(fields.size()), fields.data()};
    IPluginCreator* const older = getPluginRegistry()->getPluginCreator("CropAndResizeDynamic", "1");
    ASSERT_NE(older, nullptr);
    EXPECT_EQ(older->createPlugin("crop", &collection), nullptr);
    auto* const newer = static_cast<IPluginCreatorV3One*>(getPluginRegistry()->getCreator("CropAndResizeDynamic", "2"));
    ASSERT_NE(newer, nullptr);
    EXPECT_EQ(newer->createPlugin("crop", &collection, TensorRTPhase::kBUILD), nullptr);
    for (char const* const version : {"1", "2"})
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR,
                      std::string{"field 'crop_height' of plugin 'CropAndResizeDynamic' version '"} + version
                          + "' is -3: it must be 1 or more"),
            1)
            << logger.errors();
}

} // namespace
} // namespace plugintest
