// Rules P: queries of an engine.
#include "fixture.h"

#include <functional>
#include <tuple>

namespace apitest
{

class EngineRules : public ApiTest
{
  protected:
    std::unique_ptr<ICudaEngine> engine = dynamicEngine();
};

TEST_F(EngineRules, P1_unknownNamesGetTheStandardAnswers)
{
    for (char const* name : {"nobody", static_cast<char const*>(nullptr)})
    {
        EXPECT_EQ(engine->getTensorShape(name).nbDims, -1);
        EXPECT_EQ(engine->getTensorDataType(name), DataType::kFLOAT);
        EXPECT_EQ(engine->getTensorLocation(name), TensorLocation::kDEVICE);
        EXPECT_EQ(engine->getTensorIOMode(name), TensorIOMode::kNONE);
        EXPECT_EQ(engine->getTensorFormat(name), TensorFormat::kLINEAR);
        EXPECT_EQ(engine->getTensorVectorizedDim(name), -1);
        EXPECT_EQ(engine->getTensorComponentsPerElement(name), -1);
        EXPECT_EQ(engine->getTensorBytesPerComponent(name), -1);
        EXPECT_STREQ(engine->getTensorFormatDesc(name), "");
        EXPECT_FALSE(engine->isDebugTensor(name));
        EXPECT_EQ(engine->getAliasedInputTensor(name), nullptr);
    }
}

TEST_F(EngineRules, P1_queriesThatCannotBeAnsweredAreReportedByTheirNames)
{
    using Ask = std::function<void()>;
    auto const kMin = OptProfileSelector::kMIN;
    std::vector<std::tuple<char const*, char const*, Ask>> const wrong{
        {"getTensorShape", "'nobody'", [&] { engine->getTensorShape("nobody"); }},
        {"getTensorDataType", "'nobody'", [&] { engine->getTensorDataType("nobody"); }},
        {"getTensorLocation", "'nobody'", [&] { engine->getTensorLocation("nobody"); }},
        {"isShapeInferenceIO", "'nobody'", [&] { engine->isShapeInferenceIO("nobody"); }},
        {"getTensorIOMode", "(null)", [&] { engine->getTensorIOMode(nullptr); }},
        {"getTensorFormat", "'nobody'", [&] { engine->getTensorFormat("nobody"); }},
        {"getTensorFormat", "profile 7", [&] { engine->getTensorFormat("x", 7); }},
        {"getTensorFormatDesc", "'nobody'", [&] { engine->getTensorFormatDesc("nobody"); }},
        {"getTensorFormatDesc", "profile -1", [&] { engine->getTensorFormatDesc("x", -1); }},
        {"getTensorVectorizedDim", "'nobody'", [&] { engine->getTensorVectorizedDim("nobody"); }},
        {"getTensorBytesPerComponent", "'nobody'", [&] { engine->getTensorBytesPerComponent("nobody"); }},
        {"getTensorComponentsPerElement", "'nobody'", [&] { engine->getTensorComponentsPerElement("nobody"); }},
        {"getAliasedInputTensor", "'nobody'", [&] { static_cast<void>(engine->getAliasedInputTensor("nobody")); }},
        {"getProfileShape", "'nobody'", [&] { engine->getProfileShape("nobody", 0, kMin); }},
        {"getProfileShape", "'y' is an output", [&] { engine->getProfileShape("y", 0, kMin); }},
        {"getProfileShape", "profile 7", [&] { engine->getProfileShape("x", 7, kMin); }},
        {"getProfileShape", "selector 9", [&] { engine->getProfileShape("x", 0, static_cast<OptProfileSelector>(9)); }},
        {"getEngineStat", "statistic 77", [&] { engine->getEngineStat(static_cast<EngineStat>(77)); }},
        {"getProfileTensorValues", "'nobody'", [&] { engine->getProfileTensorValues("nobody", 0, kMin); }},
        {"getProfileTensorValues", "profile 2147483647", [&] { engine->getProfileTensorValues("x", INT32_MAX, kMin); }},
        {"getProfileTensorValuesV2", "profile 7", [&] { engine->getProfileTensorValuesV2("x", 7, kMin); }},
        {"getIOTensorName", "I/O tensor 2", [&] { engine->getIOTensorName(2); }},
        {"getBindingIndex", "'nobody'", [&] { engine->getBindingIndex("nobody"); }},
        {"getBindingIndex", "(null)", [&] { engine->getBindingIndex(nullptr); }},
        {"getBindingName", "binding 99", [&] { engine->getBindingName(99); }},
        {"bindingIsInput", "binding -1", [&] { engine->bindingIsInput(-1); }},
        {"getBindingDimensions", "binding 99", [&] { engine->getBindingDimensions(99); }},
        {"getBindingDataType", "binding 99", [&] { engine->getBindingDataType(99); }},
        {"getLocation", "binding 99", [&] { engine->getLocation(99); }},
        {"getBindingFormat", "binding 99", [&] { engine->getBindingFormat(99); }},
        {"getBindingFormatDesc", "binding 99", [&] { engine->getBindingFormatDesc(99); }},
        {"getBindingVectorizedDim", "binding 99", [&] { engine->getBindingVectorizedDim(99); }},
        {"getBindingBytesPerComponent", "binding 99", [&] { engine->getBindingBytesPerComponent(99); }},
        {"getBindingComponentsPerElement", "binding 99", [&] { engine->getBindingComponentsPerElement(99); }},
        {"getProfileDimensions", "binding 99", [&] { engine->getProfileDimensions(99, 0, kMin); }},
        {"getProfileDimensions", "profile 7", [&] { engine->getProfileDimensions(0, 7, kMin); }},
        {"getProfileShapeValues", "binding 99", [&] { engine->getProfileShapeValues(0, 99, kMin); }},
        {"isShapeBinding", "binding 99", [&] { engine->isShapeBinding(99); }},
        {"isExecutionBinding", "binding 99", [&] { engine->isExecutionBinding(99); }},
    };
    for (auto const& [call, cause, ask] : wrong)
    {
        KeepingRecorder recorder;
        engine->setErrorRecorder(&recorder);
        ask();
        EXPECT_EQ(recorder.getNbErrors(), 1) << call;
        EXPECT_EQ(recorder.last(), ErrorCode::kINVALID_ARGUMENT) << call;
        std::string const said = recorder.getErrorDesc(0);
        EXPECT_TRUE(said.starts_with(std::string{"ICudaEngine::"} + call + ": ")) << call << ", not " << said;
        EXPECT_NE(said.find(cause), std::string::npos) << cause << ", not " << said;
        engine->setErrorRecorder(nullptr);
    }
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR), static_cast<int32_t>(wrong.size()));
}

TEST_F(EngineRules, P2_P3_P6_P7_P10_shapesNamesAndFormats)
{
    EXPECT_EQ(extents(engine->getTensorShape("x")), (std::vector<int64_t>{-1, 3, -1, 10}));
    EXPECT_EQ(extents(engine->getTensorShape("y")), (std::vector<int64_t>{-1, 4, -1, 10}));
    ASSERT_EQ(engine->getNbIOTensors(), 2);
    EXPECT_STREQ(engine->getIOTensorName(0), "x");
    EXPECT_STREQ(engine->getIOTensorName(1), "y");
    EXPECT_EQ(engine->getIOTensorName(2), nullptr);
    EXPECT_EQ(engine->getTensorIOMode("x"), TensorIOMode::kINPUT);
    EXPECT_EQ(engine->getTensorIOMode("y"), TensorIOMode::kOUTPUT);
    for (char const* name : {"x", "y"})
    {
        EXPECT_EQ(engine->getTensorBytesPerComponent(name), -1);
        EXPECT_EQ(engine->getTensorComponentsPerElement(name), -1);
        EXPECT_EQ(engine->getTensorVectorizedDim(name), -1);
        EXPECT_STRNE(engine->getTensorFormatDesc(name), "");
        EXPECT_FALSE(engine->isShapeInferenceIO(name));
    }
}

TEST_F(ApiTest, P6_bindingsStandInTheOrderOfTheNetworksInputsThenOutputs)
{
    // Neither names nor readers are in the order of the inputs, nor outputs in that of their layers.
    std::vector<ITensor*> inputs;
    for (char const* name : {"m", "z", "a"})
        inputs.push_back(network->addInput(name, DataType::kFLOAT, dims({5})));
    ITensor* difference = network->addElementWise(*inputs[2], *inputs[0], ElementWiseOperation::kSUB)->getOutput(0);
    ITensor* product = network->addElementWise(*inputs[1], *inputs[2], ElementWiseOperation::kPROD)->getOutput(0);
    ITensor* negated = network->addUnary(*inputs[1], UnaryOperation::kNEG)->getOutput(0);
    difference->setName("difference");
    product->setName("product");
    negated->setName("negated");
    for (ITensor* output : {negated, difference, product})
        network->markOutput(*output);
    std::unique_ptr<ICudaEngine> const engine = buildEngine();
    std::vector<std::string> const order{"m", "z", "a", "negated", "difference", "product"};
    ASSERT_EQ(engine->getNbIOTensors(), 6);
    for (int32_t i = 0; i < 6; ++i)
    {
        EXPECT_EQ(engine->getIOTensorName(i), order[static_cast<size_t>(i)]);
        EXPECT_EQ(engine->getBindingIndex(order[static_cast<size_t>(i)].c_str()), i);
        EXPECT_EQ(
            engine->getTensorIOMode(engine->getIOTensorName(i)), i < 3 ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT);
    }
    std::vector<float> const m = randomFloats(5, 1);
    std::vector<float> const z = randomFloats(5, 2);
    std::vector<float> const a = randomFloats(5, 3);
    DeviceArray<float> const in[]{DeviceArray<float>{m}, DeviceArray<float>{z}, DeviceArray<float>{a}};
    DeviceArray<float> const out[]{DeviceArray<float>{5}, DeviceArray<float>{5}, DeviceArray<float>{5}};
    void* const bindings[]{in[0].data(), in[1].data(), in[2].data(), out[0].data(), out[1].data(), out[2].data()};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    ASSERT_TRUE(context->executeV2(bindings)) << logger.errors();
    for (size_t i = 0; i < 5; ++i)
    {
        EXPECT_EQ(out[0].read()[i], -z[i]);
        EXPECT_EQ(out[1].read()[i], a[i] - m[i]);
        EXPECT_EQ(out[2].read()[i], z[i] * a[i]);
    }
}

TEST_F(EngineRules, P4_queriesWithoutAProfileWarnWhenThereAreSeveral)
{
    engine->getTensorFormat("x");
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "profile"), 0);
    addProfile({1, 3, 20, 10}, {1, 3, 20, 10}, {1, 3, 24, 10});
    std::unique_ptr<ICudaEngine> const two = buildEngine();
    ASSERT_NE(two, nullptr);
    EXPECT_EQ(two->getNbOptimizationProfiles(), 2);
    EXPECT_EQ(two->getTensorFormat("x"), TensorFormat::kLINEAR);
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "profile 0"), 1);
    EXPECT_EQ(extents(two->getProfileShape("x", 1, OptProfileSelector::kMAX)), (std::vector<int64_t>{1, 3, 24, 10}));
}

TEST_F(EngineRules, P5_profileQueriesOfWhatIsNotThere)
{
    EXPECT_EQ(extents(engine->getProfileShape("x", 0, OptProfileSelector::kOPT)), (std::vector<int64_t>{2, 3, 12, 10}));
    EXPECT_EQ(engine->getProfileShape("x", 1, OptProfileSelector::kOPT).nbDims, -1);
    EXPECT_EQ(engine->getProfileShape("x", -1, OptProfileSelector::kOPT).nbDims, -1);
    EXPECT_EQ(engine->getProfileShape("nobody", 0, OptProfileSelector::kOPT).nbDims, -1);
    EXPECT_EQ(engine->getProfileShape("y", 0, OptProfileSelector::kOPT).nbDims, -1);
    EXPECT_EQ(engine->getProfileTensorValuesV2("x", 0, OptProfileSelector::kOPT), nullptr);
    EXPECT_EQ(engine->getProfileTensorValues("x", 0, OptProfileSelector::kOPT), nullptr);
}

TEST_F(EngineRules, P8_layersAreTheOptimizedOnesAndTheInspectorNamesThem)
{
    ASSERT_GE(engine->getNbLayers(), 1);
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    std::string all;
    for (int32_t i = 0; i < engine->getNbLayers(); ++i)
        all += inspector->getLayerInformation(i, LayerInformationFormat::kONELINE);
    EXPECT_NE(all.find("conv"), std::string::npos);
    EXPECT_EQ(inspector->getLayerInformation(engine->getNbLayers(), LayerInformationFormat::kJSON), nullptr);
    std::string const json = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    EXPECT_NE(json.find("\"Layers\""), std::string::npos);
}

TEST_F(EngineRules, P3_P4_queriesOfAProfileAnswerForIt)
{
    addProfile({1, 3, 20, 10}, {1, 3, 20, 10}, {1, 3, 24, 10});
    std::unique_ptr<ICudaEngine> const two = buildEngine();
    ASSERT_NE(two, nullptr);
    for (char const* name : {"x", "y"})
        for (int32_t const profile : {0, 1})
        {
            EXPECT_EQ(two->getTensorFormat(name, profile), TensorFormat::kLINEAR);
            EXPECT_EQ(two->getTensorBytesPerComponent(name, profile), -1);
            EXPECT_EQ(two->getTensorComponentsPerElement(name, profile), -1);
            EXPECT_EQ(two->getTensorVectorizedDim(name, profile), -1);
            EXPECT_STRNE(two->getTensorFormatDesc(name, profile), "");
        }
    EXPECT_EQ(logger.count(ILogger::Severity::kWARNING, "profile"), 0) << "it was named";
    for (auto const& [name, profile] : {std::pair{"x", 2}, {"x", -1}, {"nobody", 0}})
    {
        EXPECT_EQ(two->getTensorFormat(name, profile), TensorFormat::kLINEAR);
        EXPECT_EQ(two->getTensorBytesPerComponent(name, profile), -1);
        EXPECT_EQ(two->getTensorComponentsPerElement(name, profile), -1);
        EXPECT_EQ(two->getTensorVectorizedDim(name, profile), -1);
        EXPECT_STREQ(two->getTensorFormatDesc(name, profile), "");
    }
}

TEST_F(EngineRules, answersOfAnEngineThatNoLibraryAndNoRefitterTakesPartIn)
{
    EXPECT_FALSE(engine->isRefittable());
    EXPECT_EQ(engine->getTacticSources(), 0U);
    EXPECT_EQ(engine->getEngineCapability(), EngineCapability::kSTANDARD);
    EXPECT_EQ(engine->getHardwareCompatibilityLevel(), HardwareCompatibilityLevel::kNONE);
}

TEST_F(EngineRules, P9_strippedWeightsOfAnOrdinaryEngine)
{
    EXPECT_EQ(engine->getEngineStat(EngineStat::kSTRIPPED_WEIGHTS_SIZE), -1);
    EXPECT_GE(engine->getEngineStat(EngineStat::kTOTAL_WEIGHTS_SIZE), static_cast<int64_t>(4 * 27 * sizeof(float)));
}

} // namespace apitest
