// The list of calls that are not implemented, held against what the calls do: by slot number, from the table of the
// binary layout.
#include "api_test/slots.h"
#include "fixture.h"

#include "NvInferPlugin.h"
#include "tenon/tenon.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace apitest
{

namespace
{
void* inner(void const* object, int32_t offset)
{
    return *reinterpret_cast<void* const*>(static_cast<char const*>(object) + offset);
}

//! Calls a slot with nulls. What is not implemented looks at none of its arguments.
void callWithNulls(void* object, int32_t slot)
{
    using Function = void* (*)(void*, void*, void*, void*, void*, void*);
    auto* const table = *static_cast<void***>(object);
    reinterpret_cast<Function>(table[slot])(object, nullptr, nullptr, nullptr, nullptr, nullptr);
}
} // namespace

class NotImplemented : public ApiTest
{
  protected:
    void SetUp() override
    {
        std::string const text = tenon::take(tenonNotImplemented());
        for (nlohmann::json const& call : nlohmann::json::parse(text))
            listed.insert(call.get<std::string>());
    }
    std::set<std::string> listed;
};

TEST_F(NotImplemented, whatIsListedSaysSoWhenItIsCalled)
{
    std::unique_ptr<ICudaEngine> const engine = dynamicEngine();
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::map<std::string, void*> const objects{{"IBuilder", inner(builder.get(), slots::kIBuilder_mImpl)},
        {"IBuilderConfig", inner(config.get(), slots::kIBuilderConfig_mImpl)},
        {"INetworkDefinition", inner(network.get(), slots::kINetworkDefinition_mImpl)},
        {"IRuntime", inner(runtime.get(), slots::kIRuntime_mImpl)},
        {"ICudaEngine", inner(engine.get(), slots::kICudaEngine_mImpl)},
        {"IExecutionContext", inner(context.get(), slots::kIExecutionContext_mImpl)},
        {"ITensor", inner(network->getInput(0), slots::kITensor_mImpl)},
        {"ILayer", inner(network->getLayer(0), slots::kILayer_mLayer)}};
    int32_t called{0};
    for (slots::Slot const& slot : slots::kSlots)
    {
        std::string const call{slot.call};
        auto const object = objects.find(call.substr(0, call.find(':')));
        if (object == objects.end() || !listed.contains(call))
            continue;
        callWithNulls(object->second, slot.number);
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, call + " is not implemented"), 1) << call;
        ++called;
    }
    auto const isOfThese = [&](std::string const& call) { return objects.contains(call.substr(0, call.find(':'))); };
    EXPECT_EQ(called, std::ranges::count_if(listed, isOfThese));
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), called) << "one report for each call";
}

TEST_F(NotImplemented, classesThatLeaveNothingOutAreNotListed)
{
    std::set<std::string> const whole{"IHostMemory", "IEngineInspector", "IRuntimeConfig", "ISerializationConfig",
        "IOptimizationProfile", "ITensor", "ILayer", "IConvolutionLayer", "IPoolingLayer", "ISliceLayer", "IFillLayer",
        "IResizeLayer", "IShuffleLayer", "IConstantLayer", "INormalizationLayer", "ITimingCache", "IRefitter",
        "IAttention", "IMoELayer", "IRNNv2Layer"};
    for (std::string const& call : listed)
        EXPECT_FALSE(whole.contains(call.substr(0, call.find(':')))) << call;
    for (char const* call : {"INetworkDefinition::addMoE", "INetworkDefinition::addDistCollective",
             "INetworkDefinition::addRNNv2", "IAttention::setNbRanks", "IMoELayer::setGatedWeights"})
        EXPECT_FALSE(listed.contains(call)) << call;
}

} // namespace apitest
