// Stock plugins as C++ programs use them: stored and restored, refused by name, and in plans that lie.
#include "api/fixture.h"

#include "NvInferPlugin.h"

#include <array>
#include <cstring>

namespace plugintest
{
namespace
{

using namespace nvinfer1;

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

//! Passes for a stock plugin while building, and stores what that one would store for other ports.
class Lying final : public IPluginV2IOExt
{
  public:
    Lying(std::string name, std::vector<uint8_t> bytes)
        : mName{std::move(name)},
          mBytes{std::move(bytes)}
    {
    }
    AsciiChar const* getPluginType() const noexcept override
    {
        return mName.c_str();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    Dims getOutputDimensions(int32_t, Dims const* in, int32_t) noexcept override
    {
        return in[0];
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(int32_t, void const* const*, void* const*, void*, cudaStream_t) noexcept override
    {
        return 0;
    }
    size_t getSerializationSize() const noexcept override
    {
        return mBytes.size();
    }
    void serialize(void* buffer) const noexcept override
    {
        std::memcpy(buffer, mBytes.data(), mBytes.size());
    }
    void destroy() noexcept override
    {
        delete this;
    }
    Lying* clone() const noexcept override
    {
        return new Lying{mName, mBytes};
    }
    void setPluginNamespace(AsciiChar const*) noexcept override {}
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    DataType getOutputDataType(int32_t, DataType const*, int32_t) const noexcept override
    {
        return DataType::kFLOAT;
    }
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false;
    }
    void configurePlugin(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override {}
    bool supportsFormatCombination(int32_t at, PluginTensorDesc const* ports, int32_t, int32_t) const noexcept override
    {
        return ports[at].type == DataType::kFLOAT && ports[at].format == TensorFormat::kLINEAR;
    }

  private:
    std::string mName;
    std::vector<uint8_t> mBytes;
};

//! As a leaky ReLU stores that was configured for these extents behind the batch.
std::vector<uint8_t> storedFor(std::vector<int64_t> const& extents)
{
    IPluginCreator* const creator = getPluginRegistry()->getPluginCreator("LReLU_TRT", "1");
    float const slope{0.5F};
    PluginField const field{"negSlope", &slope, PluginFieldType::kFLOAT32, 1};
    PluginFieldCollection const fields{1, &field};
    auto* const plugin = static_cast<IPluginV2IOExt*>(creator->createPlugin("relu", &fields));
    PluginTensorDesc const port{apitest::dims(extents), DataType::kFLOAT, TensorFormat::kLINEAR, 1.0F};
    plugin->configurePlugin(&port, 1, &port, 1);
    std::vector<uint8_t> bytes(plugin->getSerializationSize());
    plugin->serialize(bytes.data());
    plugin->destroy();
    return bytes;
}

//! Whether a plan runs whose leaky ReLU of [1, 4] says that it was configured for these.
class LyingPlan : public apitest::ApiTest
{
  protected:
    bool runs(std::vector<int64_t> const& extents)
    {
        initLibNvInferPlugins(&logger, "");
        ITensor* const x = network->addInput("x", DataType::kFLOAT, apitest::dims({1, 4}));
        Lying object{"LReLU_TRT", storedFor(extents)};
        IPluginV2Layer* const layer = network->addPluginV2(&x, 1, object);
        layer->setName("liar");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        auto const engine = buildEngine();
        if (engine == nullptr)
            return false;
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        tenon::test::DeviceArray<float> const in{std::vector<float>{-2, 4, -6, 8}};
        tenon::test::DeviceArray<float> const out{4};
        return context != nullptr && context->setTensorAddress("x", in.data())
            && context->setTensorAddress("y", out.data()) && context->enqueueV3(stream())
            && out.read() == std::vector<float>{-1, 4, -3, 8};
    }
};

TEST_F(LyingPlan, runsWhereItTellsTheTruth)
{
    EXPECT_TRUE(runs({4})) << logger.errors();
}

TEST_F(LyingPlan, isRefusedByLayerWhereItsPortsAreLarger)
{
    EXPECT_FALSE(runs({1 << 20}));
    EXPECT_NE(logger.errors().find("liar"), std::string::npos) << logger.errors();
    EXPECT_NE(logger.errors().find("that it was configured for"), std::string::npos) << logger.errors();
}

TEST_F(LyingPlan, isRefusedWhereItsPortsHaveAnotherRank)
{
    EXPECT_FALSE(runs({4, 1024}));
    EXPECT_NE(logger.errors().find("that it was configured for"), std::string::npos) << logger.errors();
}

} // namespace
} // namespace plugintest
