// Formats: every one that a plugin may accept reaches it laid out as its name says, and linear data comes back.
#include "api/fixture.h"
#include "plugins/circ_pad.h"
#include "plugins/formats_asked.h"
#include "plugins/one_to_one.h"

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;

//! Bytes per element and place of element [n, c, s] of `format`, written from the format's definition.
int64_t placeIn(TensorFormat format, int64_t channels, int64_t pixels, int64_t n, int64_t c, int64_t s)
{
    auto const vectors = [&](int64_t size) {
        int64_t const groups = (channels + size - 1) / size;
        return ((n * groups + c / size) * pixels + s) * size + c % size;
    };
    auto const last = [&](int64_t size) { return (n * pixels + s) * ((channels + size - 1) / size * size) + c; };
    switch (format)
    {
    case TensorFormat::kCHW2: return vectors(2);
    case TensorFormat::kCHW4: return vectors(4);
    case TensorFormat::kCHW16: return vectors(16);
    case TensorFormat::kCHW32:
    case TensorFormat::kCDHW32: return vectors(32);
    case TensorFormat::kHWC:
    case TensorFormat::kDHWC: return last(1);
    case TensorFormat::kHWC8:
    case TensorFormat::kDHWC8: return last(8);
    case TensorFormat::kHWC16: return last(16);
    default: return (n * channels + c) * pixels + s;
    }
}

//! Turns the order of the channels around, from one format to another; accepts nothing else.
class TurnAround final : public OneToOne<TurnAround>
{
  public:
    static constexpr char const* kType{"TurnAround"};
    inline static TensorFormat from{TensorFormat::kLINEAR};
    inline static TensorFormat to{TensorFormat::kLINEAR};

    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        note("offered", std::to_string(static_cast<int32_t>(ports[pos].desc.format)));
        return ports[pos].desc.format == (pos == 0 ? from : to) && ports[pos].desc.type == ports[0].desc.type;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const* out, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        if (in[0].format != from || out[0].format != to)
            return 1;
        Dims const& shape = in[0].dims;
        size_t const size = elementSize(in[0].type);
        int64_t pixels{1};
        for (int32_t i = 2; i < shape.nbDims; ++i)
            pixels *= shape.d[i];
        auto const* x = static_cast<char const*>(inputs[0]);
        auto* y = static_cast<char*>(outputs[0]);
        for (int64_t n = 0; n < shape.d[0]; ++n)
            for (int64_t c = 0; c < shape.d[1]; ++c)
                for (int64_t s = 0; s < pixels; ++s)
                    std::memcpy(y + static_cast<size_t>(placeIn(to, shape.d[1], pixels, n, c, s)) * size,
                        x + static_cast<size_t>(placeIn(from, shape.d[1], pixels, n, shape.d[1] - 1 - c, s)) * size,
                        size);
        return 0;
    }
};

struct FormatCase
{
    DataType type;
    TensorFormat from;
    TensorFormat to;
    int64_t rank;
};

class Formats : public apitest::ApiTest, public ::testing::WithParamInterface<FormatCase>
{
  protected:
    OneToOneCreator<TurnAround> creator;

    void SetUp() override
    {
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
        network.reset(
            builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    }
    void TearDown() override
    {
        getPluginRegistry()->deregisterCreator(creator);
    }
};

TEST_P(Formats, L22_dataIsLaidOutAsThePluginAccepted)
{
    FormatCase const& given = GetParam();
    TurnAround::from = given.from;
    TurnAround::to = given.to;
    Dims const shape = given.rank == 4 ? dims({2, 35, 3, 5}) : dims({2, 35, 2, 3, 3});
    ITensor* inputs[]{network->addInput("x", given.type, shape)};
    TurnAround plugin;
    IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
    ASSERT_NE(layer, nullptr) << logger.errors();
    layer->setName("turn");
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    ASSERT_NE(engine, nullptr) << logger.errors();
    if (given.from != TensorFormat::kLINEAR)
    {
        EXPECT_EQ(logger.count(ILogger::Severity::kVERBOSE, "reorder"), given.to == TensorFormat::kLINEAR ? 1 : 2);
    }

    size_t const size = elementSize(given.type);
    int64_t const pixels = given.rank == 4 ? 15 : 18;
    std::vector<uint8_t> x(static_cast<size_t>(2 * 35 * pixels) * size);
    std::mt19937 random{7};
    for (uint8_t& byte : x)
        byte = static_cast<uint8_t>(random());
    std::vector<uint8_t> wanted(x.size());
    size_t const plane = static_cast<size_t>(pixels) * size;
    for (size_t n = 0; n < 2; ++n)
        for (size_t c = 0; c < 35; ++c)
            std::memcpy(wanted.data() + (n * 35 + c) * plane, x.data() + (n * 35 + 34 - c) * plane, plane);
    DeviceArray<uint8_t> const in{x};
    DeviceArray<uint8_t> const out{wanted.size()};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->setTensorAddress("x", in.data()));
    ASSERT_TRUE(context->setTensorAddress("y", out.data()));
    ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
    EXPECT_EQ(out.read(), wanted);
}

std::vector<FormatCase> formatCases()
{
    using D = DataType;
    using F = TensorFormat;
    std::vector<FormatCase> all;
    for (D const type : {D::kFLOAT, D::kHALF, D::kBF16, D::kINT8, D::kINT32, D::kINT64})
        all.push_back({type, F::kLINEAR, F::kLINEAR, 4});
    for (auto const& [type, format] : {std::pair{D::kFLOAT, F::kHWC}, {D::kHALF, F::kCHW2}, {D::kBF16, F::kCHW2},
             {D::kHALF, F::kHWC8}, {D::kBF16, F::kHWC8}, {D::kHALF, F::kCHW4}, {D::kINT8, F::kCHW4},
             {D::kHALF, F::kCHW16}, {D::kHALF, F::kHWC16}, {D::kINT8, F::kHWC16}, {D::kFLOAT, F::kCHW32},
             {D::kHALF, F::kCHW32}, {D::kINT8, F::kCHW32}})
    {
        all.push_back({type, format, format, 4});
        all.push_back({type, format, F::kLINEAR, 4});
    }
    for (auto const& [type, format] : {std::pair{D::kFLOAT, F::kDHWC}, {D::kHALF, F::kDHWC8}, {D::kBF16, F::kDHWC8},
             {D::kHALF, F::kCDHW32}, {D::kINT8, F::kCDHW32}})
        all.push_back({type, format, format, 5});
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, Formats, ::testing::ValuesIn(formatCases()), [](auto const& info) {
    return "type" + std::to_string(static_cast<int32_t>(info.param.type)) + "_from"
        + std::to_string(static_cast<int32_t>(info.param.from)) + "_to"
        + std::to_string(static_cast<int32_t>(info.param.to));
});

//! The oldest interface, with a note of what it is asked.
class AskedV2 final : public CircPadOfV2<AskedV2, IPluginV2>
{
  public:
    static constexpr char const* kType{"AskedV2"};
    inline static std::vector<std::pair<DataType, TensorFormat>> asked;

    AskedV2* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType type, PluginFormat format) const noexcept override
    {
        asked.emplace_back(type, format);
        return false;
    }
    void configureWithFormat(
        Dims const*, int32_t, Dims const*, int32_t, DataType, PluginFormat, int32_t) noexcept override
    {
    }
    Dims getOutputDimensions(int32_t, Dims const* inputs, int32_t) noexcept override
    {
        return inputs[0];
    }
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(int32_t, void const* const*, void* const*, void*, cudaStream_t) noexcept override
    {
        return 1;
    }
};

using FormatsOfOld = apitest::ApiTest;

TEST_F(FormatsOfOld, J3_vectorsOfFourAndMoreAreNeverOffered)
{
    AskedV2::asked.clear();
    network.reset(
        builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    ITensor* inputs[]{network->addInput("x", DataType::kHALF, dims({2, 5, 3, 3}))};
    AskedV2 plugin;
    ILayer* layer = network->addPluginV2(inputs, 1, plugin);
    ASSERT_NE(layer, nullptr);
    layer->setName("old");
    network->markOutput(*layer->getOutput(0));
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "refused were float16 LINEAR, float16 CHW2, float16 HWC8"), 1)
        << logger.errors();
    ASSERT_FALSE(AskedV2::asked.empty());
    for (auto const& [type, format] : AskedV2::asked)
    {
        EXPECT_NE(format, TensorFormat::kCHW4);
        EXPECT_NE(format, TensorFormat::kCHW16);
        EXPECT_NE(format, TensorFormat::kCHW32);
        EXPECT_NE(type, DataType::kBOOL);
        EXPECT_NE(type, DataType::kUINT8);
    }
}

TEST_F(FormatsOfOld, J3_L22_boolAndBytesAreNeverOffered)
{
    for (DataType const type : {DataType::kBOOL, DataType::kUINT8})
    {
        TurnAround::from = TurnAround::to = TensorFormat::kLINEAR;
        Journal::get().clear();
        network.reset(
            builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
        ITensor* inputs[]{network->addInput("x", type, dims({2, 5, 3, 3}))};
        TurnAround plugin;
        IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        ASSERT_NE(layer, nullptr) << logger.errors();
        layer->setName("narrow");
        network->markOutput(*layer->getOutput(0));
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        EXPECT_EQ(Journal::get().count("offered"), 0);
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "[layer 'narrow']"), 2) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "no type can be offered there"), 2) << logger.errors();
}

//! Takes no format, and notes which ones it was asked about.
class Refusing final : public CircPadBatchless<Refusing, IPluginV2>
{
  public:
    static constexpr char const* kType{"Refusing"};
    Refusing* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType, PluginFormat format) const noexcept override
    {
        note("supportsFormat", std::to_string(static_cast<int32_t>(format)));
        return false;
    }
    void configureWithFormat(
        Dims const*, int32_t, Dims const*, int32_t, DataType, PluginFormat, int32_t) noexcept override
    {
    }
};

using OldestFormats = apitest::ApiTest;

TEST_F(OldestFormats, J3_theOldestGenerationsHearOfTheOldestFormatsOnly)
{
    Journal::get().clear();
    network.reset(
        builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    ITensor* inputs[]{network->addInput("x", DataType::kHALF, dims({2, 8, 3, 5}))};
    auto* plugin = new Refusing;
    ILayer* layer = network->addPluginV2(inputs, 1, *plugin);
    plugin->destroy();
    ASSERT_NE(layer, nullptr) << logger.errors();
    network->markOutput(*layer->getOutput(0));
    std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(formatsAskedAbout(), kOldestFormats);
}

} // namespace
} // namespace plugintest
