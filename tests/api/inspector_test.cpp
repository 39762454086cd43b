// Rules T5, T6, P8, C9: what an engine inspector says.
#include "fixture.h"

#include <nlohmann/json.hpp>

#include <thread>

namespace apitest
{
namespace
{
using Json = nlohmann::json;
constexpr auto kJson = LayerInformationFormat::kJSON;
constexpr auto kLine = LayerInformationFormat::kONELINE;

class Inspected : public ApiTest
{
  protected:
    std::unique_ptr<ICudaEngine> engineOf(ProfilingVerbosity verbosity)
    {
        network = std::unique_ptr<INetworkDefinition>{builder->createNetworkV2(0)};
        config->reset();
        config->setProfilingVerbosity(verbosity);
        convRelu.add(*network, dims({-1, 3, -1, 10}));
        network->getLayer(0)->setMetadata("first \"quoted\"");
        network->getLayer(1)->setMetadata("second");
        addProfile({1, 3, 8, 10}, {2, 3, 12, 10}, {4, 3, 16, 10});
        return buildEngine();
    }
    static Json layers(IEngineInspector const& inspector)
    {
        return Json::parse(inspector.getEngineInformation(kJson)).at("Layers");
    }
    //! Dimensions of the tensor of this name, wherever it first stands.
    static Json dimensionsOf(Json const& layers, std::string const& name)
    {
        for (Json const& layer : layers)
            for (char const* list : {"Inputs", "Outputs"})
                for (Json const& tensor : layer.at(list))
                    if (tensor.at("Name") == name)
                        return tensor.at("Dimensions");
        return nullptr;
    }
};

TEST_F(Inspected, T5_anEngineThatWasToldToSayNothingSaysNothing)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kNONE);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    EXPECT_STREQ(inspector->getLayerInformation(0, kLine), "");
    EXPECT_STREQ(inspector->getLayerInformation(0, kJson), "");
    EXPECT_STREQ(inspector->getEngineInformation(kLine), "");
    EXPECT_TRUE(layers(*inspector).empty());
}

TEST_F(Inspected, T5_whatAThreadGotStaysWhateverOthersAsk)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kLAYER_NAMES_ONLY);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    std::string const expected = inspector->getLayerInformation(0, kLine);
    char const* const own = inspector->getLayerInformation(0, kLine);
    std::thread{[&] {
        EXPECT_NE(inspector->getEngineInformation(kJson), own);
        EXPECT_STREQ(inspector->getLayerInformation(0, kLine), expected.c_str());
    }}.join();
    EXPECT_EQ(own, expected);
}

TEST_F(Inspected, T5_namesOnly)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kLAYER_NAMES_ONLY);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    Json const all = layers(*inspector);
    ASSERT_EQ(all.size(), static_cast<size_t>(engine->getNbLayers()));
    std::string lines;
    for (int32_t i = 0; i < engine->getNbLayers(); ++i)
    {
        std::string const name = inspector->getLayerInformation(i, kLine);
        EXPECT_EQ(all.at(static_cast<size_t>(i)), name);
        EXPECT_EQ(Json::parse(inspector->getLayerInformation(i, kJson)), name);
        lines += (i == 0 ? "" : "\n") + name;
    }
    EXPECT_NE(lines.find("conv"), std::string::npos);
    EXPECT_EQ(inspector->getEngineInformation(kLine), lines);
    EXPECT_EQ(Json::parse(inspector->getEngineInformation(kJson)).at("Bindings"), (Json{"x", "y"}));
}

//! 11.x has a list of tensors instead, and format and type apart.
TEST_F(Inspected, T7_tensorsAreListedAs10Does)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    Json const all = Json::parse(inspector->getEngineInformation(kJson));
    EXPECT_EQ(all.size(), 2U);
    EXPECT_EQ(all.at("Bindings"), (Json{"x", "y"}));
    for (Json const& layer : all.at("Layers"))
        for (char const* const list : {"Inputs", "Outputs"})
            for (Json const& tensor : layer.at(list))
            {
                EXPECT_TRUE(tensor.at("Format/Datatype").is_string()) << tensor;
                EXPECT_FALSE(tensor.contains("Format") || tensor.contains("Datatype")) << tensor;
            }
}

TEST_F(Inspected, T5_inDetailDimsAreOpenUntilAContextHasShapes)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    EXPECT_EQ(inspector->getExecutionContext(), nullptr);
    Json const open = layers(*inspector);
    EXPECT_EQ(dimensionsOf(open, "x"), (Json{-1, 3, -1, 10}));
    EXPECT_EQ(dimensionsOf(open, "y"), (Json{-1, 4, -1, 10}));
    for (Json const& layer : open)
        for (char const* key : {"Name", "LayerType", "Inputs", "Outputs", "TacticName"})
            EXPECT_TRUE(layer.contains(key)) << layer << key;

    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(inspector->setExecutionContext(context.get()));
    EXPECT_EQ(inspector->getExecutionContext(), context.get());
    EXPECT_EQ(dimensionsOf(layers(*inspector), "x"), (Json{-1, 3, -1, 10})); // It has no shapes yet.
    ASSERT_TRUE(context->setInputShape("x", dims({2, 3, 9, 10})));
    Json const known = layers(*inspector);
    EXPECT_EQ(dimensionsOf(known, "x"), (Json{2, 3, 9, 10}));
    EXPECT_EQ(dimensionsOf(known, "y"), (Json{2, 4, 9, 10}));
    EXPECT_NE(std::string{inspector->getLayerInformation(engine->getNbLayers() - 1, kLine)}.find("[2,4,9,10]"),
        std::string::npos)
        << inspector->getLayerInformation(engine->getNbLayers() - 1, kLine);
    EXPECT_TRUE(inspector->setExecutionContext(nullptr));
    EXPECT_EQ(inspector->getExecutionContext(), nullptr);
    EXPECT_EQ(dimensionsOf(layers(*inspector), "y"), (Json{-1, 4, -1, 10}));
}

TEST_F(Inspected, T5_everyAnswerIsValidUntilTheNextCall)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    char const* const whole = inspector->getEngineInformation(kJson);
    std::string const copy = whole;
    std::unique_ptr<IEngineInspector> const other{engine->createEngineInspector()};
    other->getEngineInformation(kLine); // Another inspector's calls do not matter.
    EXPECT_EQ(copy, whole);
    std::string const one = inspector->getLayerInformation(0, kJson);
    EXPECT_NE(copy, one);
    EXPECT_EQ(one, inspector->getLayerInformation(0, kJson));
}

TEST_F(Inspected, T6_whatIsNotThereAnswersNullAndReports)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kNONE);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    KeepingRecorder recorder;
    inspector->setErrorRecorder(&recorder);
    EXPECT_EQ(inspector->getErrorRecorder(), &recorder);
    for (int32_t const index : {-1, engine->getNbLayers(), INT32_MAX})
        EXPECT_EQ(inspector->getLayerInformation(index, kJson), nullptr);
    EXPECT_EQ(inspector->getLayerInformation(0, static_cast<LayerInformationFormat>(9)), nullptr);
    EXPECT_EQ(inspector->getEngineInformation(static_cast<LayerInformationFormat>(-1)), nullptr);
    EXPECT_EQ(recorder.getNbErrors(), 5);
    for (int32_t i = 0; i < 5; ++i)
        EXPECT_EQ(recorder.getErrorCode(i), ErrorCode::kINVALID_ARGUMENT);
    inspector->setErrorRecorder(nullptr);
}

TEST_F(Inspected, T5_aContextOfAnotherEngineIsRefused)
{
    std::unique_ptr<ICudaEngine> const engine = engineOf(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<ICudaEngine> const other = engineOf(ProfilingVerbosity::kDETAILED);
    std::unique_ptr<IExecutionContext> const context{other->createExecutionContext()};
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    EXPECT_FALSE(inspector->setExecutionContext(context.get()));
    EXPECT_EQ(inspector->getExecutionContext(), nullptr);
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "another engine"), 1);
}

TEST_F(Inspected, P8_severalProfilesAreListedAsTaggedCopies)
{
    for (ProfilingVerbosity const verbosity : {ProfilingVerbosity::kLAYER_NAMES_ONLY, ProfilingVerbosity::kDETAILED})
    {
        std::unique_ptr<ICudaEngine> const one = engineOf(verbosity);
        std::unique_ptr<IEngineInspector> const single{one->createEngineInspector()};
        EXPECT_EQ(std::string{single->getEngineInformation(kJson)}.find("[profile"), std::string::npos);
        addProfile({1, 3, 20, 10}, {1, 3, 20, 10}, {1, 3, 24, 10});
        std::unique_ptr<ICudaEngine> const engine = buildEngine();
        std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
        Json const all = layers(*inspector);
        auto const count = static_cast<size_t>(engine->getNbLayers());
        ASSERT_EQ(all.size(), 2 * count);
        auto const nameOf = [](Json const& layer) -> std::string {
            return layer.is_string() ? layer : layer.at("Name");
        };
        for (size_t i = 0; i < count; ++i)
        {
            std::string const name =
                nameOf(Json::parse(inspector->getLayerInformation(static_cast<int32_t>(i), kJson)));
            EXPECT_EQ(nameOf(all.at(i)), name + " [profile 0]");
            EXPECT_EQ(nameOf(all.at(count + i)), name + " [profile 1]");
        }
        if (verbosity != ProfilingVerbosity::kDETAILED)
            continue;
        std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
        ASSERT_TRUE(context->setOptimizationProfileAsync(1, stream()));
        ASSERT_TRUE(context->setInputShape("x", dims({1, 3, 22, 10})));
        inspector->setExecutionContext(context.get());
        Json const known = layers(*inspector);
        Json const first(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(count));
        Json const second(known.begin() + static_cast<std::ptrdiff_t>(count), known.end());
        EXPECT_EQ(dimensionsOf(first, "y"), (Json{-1, 4, -1, 10}));
        EXPECT_EQ(dimensionsOf(second, "y"), (Json{1, 4, 22, 10})); // The profile that the context uses.
    }
}

TEST_F(Inspected, C9_metadataOfLayersShowsInDetailOnly)
{
    for (ProfilingVerbosity const verbosity : {ProfilingVerbosity::kLAYER_NAMES_ONLY, ProfilingVerbosity::kDETAILED})
    {
        std::unique_ptr<ICudaEngine> const engine = engineOf(verbosity);
        std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
        std::string const text = inspector->getEngineInformation(kLine);
        std::string told;
        for (Json const& layer : layers(*inspector))
            told += layer.is_object() ? layer.value("Metadata", "") : "";
        bool const isDetailed = verbosity == ProfilingVerbosity::kDETAILED;
        EXPECT_EQ(told, isDetailed ? "first \"quoted\"\x1Esecond" : ""); // Both layers became one step.
        EXPECT_EQ(text.find("second") != std::string::npos, isDetailed) << text;
        std::unique_ptr<IHostMemory> const plan{engine->serialize()};
        std::string const stored(static_cast<char const*>(plan->data()), plan->size());
        EXPECT_EQ(stored.find("quoted") != std::string::npos, isDetailed); // A lean plan does not carry it about.
    }
    EXPECT_STREQ(network->getLayer(1)->getMetadata(), "second");
    std::unique_ptr<INetworkDefinition> const fresh{builder->createNetworkV2(0)};
    convRelu.add(*fresh, dims({1, 3, 8, 10}));
    EXPECT_STREQ(fresh->getLayer(0)->getMetadata(), "");
}

} // namespace
} // namespace apitest
