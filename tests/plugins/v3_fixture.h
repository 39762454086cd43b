// V3: a network of one pad of that generation, and a creator for plugins that have no fields.
#pragma once

#include "api/fixture.h"
#include "plugins/circ_pad.h"

namespace plugintest
{

using apitest::dims;
using apitest::stream;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

class V3 : public apitest::ApiTest
{
  protected:
    CircPadCreatorV3 creator;

    void SetUp() override
    {
        Journal::get().clear();
        ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
    }
    void TearDown() override
    {
        getPluginRegistry()->deregisterCreator(creator);
    }
    IPluginV3Layer* addPad(CircPadV3& plugin, Dims const& shape)
    {
        ITensor* inputs[]{network->addInput("x", DataType::kFLOAT, shape)};
        IPluginV3Layer* layer = network->addPluginV3(inputs, 1, nullptr, 0, plugin);
        if (layer != nullptr)
        {
            layer->setName("pad");
            layer->getOutput(0)->setName("y");
            network->markOutput(*layer->getOutput(0));
        }
        return layer;
    }
    std::string buildFails()
    {
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        return logger.errors();
    }
    //! Sets shapes and addresses and runs.
    bool enqueue(IExecutionContext& context, DeviceArray<float> const& x, DeviceArray<float> const& y, Dims const& in)
    {
        return context.setInputShape("x", in) && context.setTensorAddress("x", x.data())
            && context.setTensorAddress("y", y.data()) && apitest::runToEnd(context);
    }
};

//! Makes plugins of one class, whatever the fields.
template <typename P>
class SimpleCreator final : public IPluginCreatorV3One
{
  public:
    explicit SimpleCreator(std::string name)
        : mName{std::move(name)}
    {
    }
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const*, TensorRTPhase) noexcept override
    {
        return new P;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mName.c_str();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }

  private:
    std::string mName;
    PluginFieldCollection mNone{};
};

} // namespace plugintest
