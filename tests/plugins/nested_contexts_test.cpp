// Plugins that make contexts of their own engine while they are attached to one.
#include "api/fixture.h"
#include "plugins/one_to_one.h"

#include <cstring>

namespace plugintest
{
namespace
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! A copy of x. Each attachment makes a further context, as long as some are wanted.
class Nesting final : public OneToOne<Nesting>
{
  public:
    static constexpr char const* kType{"Nesting"};
    inline static ICudaEngine* engine{nullptr};
    inline static int32_t wanted{0};
    inline static int32_t refused{0};
    inline static std::vector<std::unique_ptr<IExecutionContext>> made;

    IPluginV3* attachToContext(IPluginResourceContext* resources) noexcept override
    {
        if (wanted > 0)
        {
            --wanted;
            std::unique_ptr<IExecutionContext> inner{engine->createExecutionContext()};
            refused += inner == nullptr ? 1 : 0;
            if (inner != nullptr)
                made.push_back(std::move(inner));
        }
        return OneToOne::attachToContext(resources);
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        std::memcpy(outputs[0], inputs[0], static_cast<size_t>(in[0].dims.d[0]) * sizeof(float));
        return 0;
    }
};

class NestedContexts : public apitest::ApiTest
{
  protected:
    void SetUp() override
    {
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, dims({6}))};
        Nesting plugin;
        ILayer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        layer->setName("nesting");
        layer->getOutput(0)->setName("y");
        network->markOutput(*layer->getOutput(0));
        engine = buildEngine();
        ASSERT_NE(engine, nullptr) << logger.errors();
        Nesting::engine = engine.get();
        Nesting::refused = 0;
    }
    void TearDown() override
    {
        Nesting::wanted = 0;
        Nesting::made.clear();
        engine.reset();
        getPluginRegistry()->deregisterCreator(creator);
    }
    void expectRuns(IExecutionContext& context)
    {
        std::vector<float> const x = randomFloats(6, 5);
        DeviceArray<float> const in{x};
        DeviceArray<float> const out{x.size()};
        EXPECT_TRUE(context.setTensorAddress("x", in.data()) && context.setTensorAddress("y", out.data())
            && context.enqueueV3(stream()))
            << logger.errors();
        EXPECT_EQ(out.read(), x);
    }

    OneToOneCreator<Nesting> creator;
    std::unique_ptr<ICudaEngine> engine;
};

TEST_F(NestedContexts, L7_attachToContextMayMakeAnotherContextOfItsEngine)
{
    Nesting::wanted = 2;
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr) << logger.errors();
    ASSERT_EQ(Nesting::made.size(), 2U) << logger.errors();
    expectRuns(*context);
    for (auto const& inner : Nesting::made)
        expectRuns(*inner);
}

TEST_F(NestedContexts, L7_oneThatAlwaysMakesAnotherIsToldSo)
{
    Nesting::wanted = 1000;
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_NE(context, nullptr) << logger.errors();
    EXPECT_EQ(Nesting::refused, 1);
    EXPECT_EQ(
        logger.count(ILogger::Severity::kERROR, "[layer 'nesting']: 8 contexts are being made within one another"), 1)
        << logger.errors();
    expectRuns(*context);
}

} // namespace
} // namespace plugintest
