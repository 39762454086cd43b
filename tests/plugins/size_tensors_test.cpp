// Group L: outputs whose extents only running tells.
#include "plugins/v3_fixture.h"

#include <algorithm>

namespace plugintest
{
namespace
{

//! The elements above zero, in order, and how many there are.
class Positive final : public CircPadV3
{
  public:
    Positive() = default;
    Positive(Positive const& other) = default;
    IPluginV3* clone() noexcept override
    {
        return new Positive{*this};
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return new Positive{*this};
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Positive";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 2;
    }
    int32_t getOutputDataTypes(DataType* out, int32_t, DataType const* in, int32_t) const noexcept override
    {
        out[0] = in[0];
        out[1] = sizeType;
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* in, int32_t, DimsExprs const*, int32_t, DimsExprs* out, int32_t,
        IExprBuilder& builder) noexcept override
    {
        IDimensionExpr const* half =
            builder.operation(DimensionOperation::kFLOOR_DIV, *in[0].d[0], *builder.constant(2));
        IDimensionExpr const* count = builder.declareSizeTensor(1, *half, *in[0].d[0]);
        isSize = count->isSizeTensor() && !half->isSizeTensor() && !count->isConstant();
        out[0] = {1, {count}};
        out[1] = {0, {}};
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t, int32_t) noexcept override
    {
        return inOut[pos].desc.type == (pos == 2 ? sizeType : DataType::kFLOAT)
            && inOut[pos].desc.format == TensorFormat::kLINEAR;
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const* out, int32_t) noexcept override
    {
        note("configurePlugin",
            text(out[0].desc.dims) + " in " + text(out[0].min) + ":" + text(out[0].opt) + ":" + text(out[0].max));
        return 0;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const* out, int32_t) noexcept override
    {
        note("onShapeChange", text(out[0].dims));
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t stream) noexcept override
    {
        auto const elements = static_cast<size_t>(in[0].dims.d[0]);
        size_t const bytes = elements * sizeof(float);
        Room const size{outputs[1], sizeType == DataType::kINT64 ? sizeof(int64_t) : sizeof(int32_t)};
        onHost(stream, inputs[0], bytes, {outputs[0], bytes}, size, [&](void const* from, void* to, void* told) {
            auto const* x = static_cast<float const*>(from);
            auto const isPositive = [](float value) { return value > 0.0F; };
            auto* const y = static_cast<float*>(to);
            int64_t const count = std::copy_if(x, x + elements, y, isPositive) - y;
            if (sizeType == DataType::kINT64)
                *static_cast<int64_t*>(told) = count;
            else
                *static_cast<int32_t*>(told) = static_cast<int32_t>(count);
        });
        return 0;
    }
    inline static bool isSize{false};
    inline static DataType sizeType{DataType::kINT32};
};

class Grown final : public IOutputAllocator
{
  public:
    std::unique_ptr<DeviceArray<uint8_t>> memory;
    Dims shape{};
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        memory = std::make_unique<DeviceArray<uint8_t>>(size);
        return memory->data();
    }
    void notifyShape(char const*, Dims const& dims) noexcept override
    {
        shape = dims;
    }
};

TEST_F(V3, L10_L12_sizeTensorsTellExtents)
{
    SimpleCreator<Positive> positives{"Positive"};
    ASSERT_TRUE(getPluginRegistry()->registerCreator(positives, ""));
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({-1}))};
    Positive plugin;
    IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
    ASSERT_NE(layer, nullptr) << logger.errors();
    // A layer behind it works on as many elements as there are.
    IUnaryLayer* negated = network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG);
    negated->getOutput(0)->setName("y");
    layer->getOutput(1)->setName("count");
    network->markOutput(*negated->getOutput(0));
    network->markOutput(*layer->getOutput(1));
    addProfile({1}, {8}, {64});
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr);
        EXPECT_TRUE(Positive::isSize);
        int32_t const configured = Journal::get().first("configurePlugin");
        ASSERT_GE(configured, 0);
        EXPECT_EQ(Journal::get().all()[static_cast<size_t>(configured)].what, "-1 in 0:4:64")
            << "the bound of the size at kMAX, and what the plugin expects at kOPT";
        EXPECT_EQ(apitest::extents(engine->getTensorShape("y")), std::vector<int64_t>{-1});
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        Grown y;
        ASSERT_TRUE(context->setOutputAllocator("y", &y));
        for (size_t const n : {1, 8, 33, 64})
        {
            std::vector<float> const values = randomFloats(n, static_cast<uint32_t>(n));
            std::vector<float> wanted;
            for (float const value : values)
                if (value > 0.0F)
                    wanted.push_back(-value);
            DeviceArray<float> const x{values};
            DeviceArray<int32_t> const count{size_t{1}};
            Journal::get().clear();
            ASSERT_TRUE(context->setInputShape("x", dims({static_cast<int64_t>(n)})));
            ASSERT_TRUE(context->setTensorAddress("x", x.data()));
            ASSERT_TRUE(context->setTensorAddress("count", count.data()));
            ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
            EXPECT_EQ(count.read(), std::vector<int32_t>{static_cast<int32_t>(wanted.size())});
            ASSERT_EQ(apitest::extents(y.shape), std::vector<int64_t>{static_cast<int64_t>(wanted.size())});
            std::vector<uint8_t> bytes = y.memory->read();
            std::vector<float> got(wanted.size());
            std::memcpy(got.data(), bytes.data(), got.size() * sizeof(float));
            EXPECT_EQ(got, wanted);
            int32_t const at = Journal::get().first("onShapeChange");
            ASSERT_GE(at, 0);
            EXPECT_EQ(Journal::get().all()[static_cast<size_t>(at)].what, "-1") << "known after the run only";
        }
    }
    getPluginRegistry()->deregisterCreator(positives);
}

TEST_F(V3, L10_sizeTensorsMayBeInt64)
{
    Positive::sizeType = DataType::kINT64;
    ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({-1}))};
    Positive plugin;
    SimpleCreator<Positive> positives{"Positive"};
    ASSERT_TRUE(getPluginRegistry()->registerCreator(positives, ""));
    IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
    ASSERT_NE(layer, nullptr) << logger.errors();
    layer->getOutput(0)->setName("y");
    layer->getOutput(1)->setName("count");
    network->markOutput(*layer->getOutput(0));
    network->markOutput(*layer->getOutput(1));
    addProfile({1}, {8}, {64});
    {
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        ASSERT_NE(engine, nullptr) << logger.errors();
        EXPECT_EQ(engine->getTensorDataType("count"), DataType::kINT64);
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        Grown y;
        ASSERT_TRUE(context->setOutputAllocator("y", &y));
        std::vector<float> const values = randomFloats(33, 5);
        int64_t const wanted = std::ranges::count_if(values, [](float value) { return value > 0.0F; });
        DeviceArray<float> const x{values};
        DeviceArray<int64_t> const count{std::vector<int64_t>{-1}};
        ASSERT_TRUE(context->setInputShape("x", dims({33})));
        ASSERT_TRUE(context->setTensorAddress("x", x.data()));
        ASSERT_TRUE(context->setTensorAddress("count", count.data()));
        ASSERT_TRUE(context->enqueueV3(stream())) << logger.errors();
        EXPECT_EQ(count.read(), std::vector<int64_t>{wanted});
        EXPECT_EQ(apitest::extents(y.shape), std::vector<int64_t>{wanted});
    }
    getPluginRegistry()->deregisterCreator(positives);
    Positive::sizeType = DataType::kINT32;
}

} // namespace
} // namespace plugintest
