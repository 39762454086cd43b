// A network of one flexible plugin, built and run.
#pragma once

#include "api/fixture.h"
#include "plugins/flexible.h"

namespace plugintest
{

using apitest::dims;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

//! P: Flexible or FlexibleV2. x -> plugin -> y, all float32 unless the test has other inputs.
template <typename P>
class FlexibleTest : public apitest::ApiTest
{
  protected:
    std::shared_ptr<Behaviour> behaviour = std::make_shared<Behaviour>();
    std::unique_ptr<FlexibleCreator<P>> creator;

    void SetUp() override
    {
        Journal::get().clear();
    }
    void TearDown() override
    {
        network.reset();
        if (creator != nullptr)
            getPluginRegistry()->deregisterCreator(*creator);
    }
    //! Registers the creator under the names of the behaviour, which stand from here on.
    void registerCreator()
    {
        creator = std::make_unique<FlexibleCreator<P>>(behaviour);
        ASSERT_TRUE(getPluginRegistry()->registerCreator(*creator, behaviour->nameSpace.c_str())) << logger.errors();
    }
    IPluginV3Layer* add(std::vector<ITensor*> inputs, std::vector<ITensor*> const& values = {})
    {
        P plugin{behaviour};
        IPluginV3Layer* layer = network->addPluginV3(inputs.data(), static_cast<int32_t>(inputs.size()), values.data(),
            static_cast<int32_t>(values.size()), plugin);
        if (layer == nullptr)
            return nullptr;
        layer->setName("flexible");
        for (int32_t i = 0; i < layer->getNbOutputs(); ++i)
        {
            layer->getOutput(i)->setName(i == 0 ? "y" : ("y" + std::to_string(i)).c_str());
            network->markOutput(*layer->getOutput(i));
        }
        return layer;
    }
    IPluginV3Layer* addTo(Dims const& shape)
    {
        return add({network->addInput("x", DataType::kFLOAT, shape)});
    }
    //! The errors of a build that must fail.
    std::string buildFails()
    {
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        EXPECT_EQ(plan, nullptr);
        return logger.errors();
    }
    bool enqueue(IExecutionContext& context, DeviceArray<float> const& x, DeviceArray<float> const& y, Dims const& in)
    {
        return context.setInputShape("x", in) && context.setTensorAddress("x", x.data())
            && context.setTensorAddress("y", y.data()) && apitest::runToEnd(context);
    }
    //! Runs once and compares y with x.
    void runCopies(IExecutionContext& context, Dims const& shape)
    {
        std::vector<float> const values = randomFloats(static_cast<size_t>(volumeOf(shape)), 9);
        DeviceArray<float> const x{values};
        DeviceArray<float> const y{values.size()};
        ASSERT_TRUE(enqueue(context, x, y, shape)) << logger.errors();
        EXPECT_EQ(y.read(), values);
    }
    std::vector<std::string> whatOf(std::string const& call)
    {
        std::vector<std::string> all;
        for (Entry const& each : Journal::get().all())
            if (each.call == call)
                all.push_back(each.what);
        return all;
    }
};

} // namespace plugintest
