// The parser's calls and what it says about models that it cannot read.
#include "models.h"
#include "support/temp_folder.h"
#include "tenon/network.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::test
{
namespace
{

using nvonnxparser::ErrorCode;
using nvonnxparser::IParserError;
using nvonnxparser::OnnxParserFlag;
using testing::HasSubstr;

TinyModel reluModel()
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("Relu", {"x"}, {"y"});
    return model;
}

TEST(OnnxParser, W1_oneParserReadsOneModelOnce)
{
    Reading reading;
    ASSERT_TRUE(reading.parse(reluModel())) << reading.errors();
    EXPECT_FALSE(reading.parse(reluModel()));
    ASSERT_EQ(reading.parser->getNbErrors(), 1);
    EXPECT_THAT(reading.parser->getError(0)->desc(), HasSubstr("once"));
    EXPECT_EQ(reading.network->getNbInputs(), 1);
}

TEST(OnnxParser, W4_supportsOperatorKnowsWhatParses)
{
    Reading reading;
    EXPECT_TRUE(reading.parser->supportsOperator("Conv"));
    EXPECT_TRUE(reading.parser->supportsOperator("Relu"));
    EXPECT_FALSE(reading.parser->supportsOperator("NoSuchOperator"));
    EXPECT_FALSE(reading.parser->supportsOperator(nullptr));
}

TEST(OnnxParser, W5_supportsModelV2PartitionsTheNodes)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("Relu", {"x"}, {"a"});
    model.node("NoSuchOperator", {"a"}, {"b"});
    model.node("Relu", {"b"}, {"y"});
    std::string const bytes = model.bytes();
    Reading reading;
    EXPECT_FALSE(reading.parser->supportsModelV2(bytes.data(), bytes.size()));
    ASSERT_EQ(reading.parser->getNbSubgraphs(), 2);
    bool const expected[]{true, false}; // The second waits for what nobody makes.
    for (int64_t i = 0; i < 2; ++i)
    {
        EXPECT_EQ(reading.parser->isSubgraphSupported(i), expected[i]) << i;
        int64_t length{0};
        int64_t const* const nodes = reading.parser->getSubgraphNodes(i, length);
        ASSERT_EQ(length, 1);
        EXPECT_EQ(nodes[0], i * 2);
    }
}

TEST(OnnxParser, W5_aLoneNodeThatNobodyKnowsIsInNoSubgraph)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("NoSuchOperator", {"x"}, {"y"});
    std::string const bytes = model.bytes();
    Reading reading;
    EXPECT_FALSE(reading.parser->supportsModelV2(bytes.data(), bytes.size()));
    EXPECT_EQ(reading.parser->getNbSubgraphs(), 0);
    EXPECT_EQ(reading.parser->getNbErrors(), 1);
}

TEST(OnnxParser, W5_subgraphQueriesBeforeSupportsModelV2AreErrors)
{
    Reading reading;
    int64_t length{5};
    EXPECT_EQ(reading.parser->getNbSubgraphs(), 0);
    EXPECT_FALSE(reading.parser->isSubgraphSupported(0));
    EXPECT_EQ(reading.parser->getSubgraphNodes(0, length), nullptr);
    EXPECT_EQ(length, 0);
    EXPECT_EQ(reading.parser->getNbErrors(), 2);
}

//! A network of another library, which hands all calls on to one of ours.
class OthersNetwork final : public nvinfer1::INetworkDefinition
{
  public:
    explicit OthersNetwork(nvinfer1::INetworkDefinition& ours)
    {
        mImpl = ours.*(&OthersNetwork::mImpl);
    }
};

//! How many constants of the network lie at addresses that are no multiple of four.
int32_t oddConstants(nvinfer1::INetworkDefinition const& network)
{
    int32_t count{0};
    for (int32_t i = 0; i < network.getNbLayers(); ++i)
        if (network.getLayer(i)->getType() == nvinfer1::LayerType::kCONSTANT)
        {
            auto const& layer = static_cast<nvinfer1::IConstantLayer const&>(*network.getLayer(i));
            count += reinterpret_cast<uintptr_t>(layer.getWeights().values) % 4 != 0 ? 1 : 0;
        }
    return count;
}

TEST(OnnxParser, largeWeightsStayWhereTheyLieForNetworksOfOursAlone)
{
    constexpr int64_t kRows{256};
    TinyModel model;
    model.input("x", {kRows, kRows}).output("y");
    std::string last{"x"};
    for (std::string const name : {"w", "w2", "w33", "w444", "w5555"}) // Their lengths move what stands behind them.
    {
        std::string const next = name == "w5555" ? "y" : "after " + name;
        model.weights(name, {kRows, kRows}, std::vector<float>(kRows * kRows, 1.0F));
        model.node("Add", {last, name}, {next});
        last = next;
    }
    Reading ours;
    ASSERT_TRUE(ours.parse(model)) << ours.errors();
    EXPECT_GT(oddConstants(*ours.network), 0);
    Reading others;
    OthersNetwork network{*others.network};
    others.parser.reset(nvonnxparser::createParser(network, others.logger));
    ASSERT_TRUE(others.parse(model)) << others.errors();
    EXPECT_EQ(network.getNbLayers(), ours.network->getNbLayers());
    EXPECT_EQ(oddConstants(network), 0);
}

TEST(OnnxParserRefitter, anEngineIsRefittedFromAnotherModel)
{
    using namespace nvinfer1;
    auto const modelOf = [](std::vector<float> const& w) {
        TinyModel model;
        model.input("x", {2, 3}).output("y").weights("w", {3, 2}, w);
        model.node("MatMul", {"x", "w"}, {"y"});
        return model.bytes();
    };
    std::vector<float> const first{1.0F, -2.0F, 0.5F, 3.0F, -1.0F, 0.25F};
    std::vector<float> const second{-0.5F, 4.0F, 2.0F, 1.0F, 0.75F, -3.0F};
    Reading reading;
    ASSERT_TRUE(reading.parse(modelOf(first))) << reading.errors();
    std::unique_ptr<IBuilderConfig> const config{reading.builder->createBuilderConfig()};
    config->setFlag(BuilderFlag::kREFIT);
    std::unique_ptr<IHostMemory> const plan{reading.builder->buildSerializedNetwork(*reading.network, *config)};
    ASSERT_NE(plan, nullptr);
    std::unique_ptr<IRuntime> const runtime{createInferRuntime(reading.logger)};
    std::unique_ptr<ICudaEngine> const engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
    std::unique_ptr<IExecutionContext> const context{engine->createExecutionContext()};
    std::vector<float> x{1.0F, 2.0F, 3.0F, -4.0F, 5.0F, -6.0F};
    std::vector<float> y(4);
    ASSERT_TRUE(context->setTensorAddress("x", x.data()) && context->setTensorAddress("y", y.data()));
    auto const expectProduct = [&](std::vector<float> const& w) {
        EXPECT_TRUE(context->enqueueV3(nullptr));
        for (size_t i = 0; i < 4; ++i)
        {
            float const* const row = x.data() + i / 2 * 3;
            EXPECT_FLOAT_EQ(y[i], row[0] * w[i % 2] + row[1] * w[2 + i % 2] + row[2] * w[4 + i % 2]);
        }
    };
    expectProduct(first);
    std::unique_ptr<IRefitter> const refitter{createInferRefitter(*engine, reading.logger)};
    std::unique_ptr<nvonnxparser::IParserRefitter> const parser{
        nvonnxparser::createParserRefitter(*refitter, reading.logger)};
    std::string const bytes = modelOf(second);
    ASSERT_TRUE(parser->refitFromBytes(bytes.data(), bytes.size()));
    expectProduct(first); // Until refitCudaEngine().
    ASSERT_TRUE(refitter->refitCudaEngine());
    expectProduct(second);
    EXPECT_FALSE(parser->refitFromBytes("no model", 8));
    ASSERT_EQ(parser->getNbErrors(), 1);
    EXPECT_EQ(parser->getError(0)->code(), ErrorCode::kMODEL_DESERIALIZE_FAILED);
    parser->clearErrors();
    EXPECT_EQ(parser->getNbErrors(), 0);
}

TEST(OnnxParser, W6_errorsCarryNodeNameOperatorAndPlace)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("Relu", {"x"}, {"a"});
    setInt(model.node("Softmax", {"a"}, {"y"}), "axis", 7);
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    ASSERT_EQ(reading.parser->getNbErrors(), 1);
    IParserError const& error = *reading.parser->getError(0);
    EXPECT_EQ(error.code(), ErrorCode::kINVALID_NODE);
    EXPECT_THAT(error.desc(), HasSubstr("axis 7"));
    EXPECT_EQ(error.node(), 1);
    EXPECT_STREQ(error.nodeName(), "the Softmax");
    EXPECT_STREQ(error.nodeOperator(), "Softmax");
    EXPECT_STREQ(error.func(), "axis");
    EXPECT_THAT(error.file(), testing::StartsWith("importers/onnx/"));
    EXPECT_GT(error.line(), 0);
    EXPECT_EQ(error.localFunctionStackSize(), 0);
    EXPECT_TRUE(reading.logger.hasSaid("the Softmax"));
    EXPECT_EQ(reading.parser->getError(1), nullptr);
    EXPECT_EQ(reading.parser->getError(-1), nullptr);
    reading.parser->clearErrors();
    EXPECT_EQ(reading.parser->getNbErrors(), 0);
}

TEST(OnnxParser, W6_allUnsupportedNodesAreListedInOnePass)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("FirstUnknown", {"x"}, {"a"});
    model.node("Relu", {"a"}, {"b"});
    model.node("SecondUnknown", {"b"}, {"c"});
    setInt(model.node("Softmax", {"x"}, {"d"}), "axis", 9);
    model.node("Add", {"c", "d"}, {"y"});
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    ASSERT_EQ(reading.parser->getNbErrors(), 3) << reading.errors();
    EXPECT_STREQ(reading.parser->getError(0)->nodeOperator(), "FirstUnknown");
    EXPECT_EQ(reading.parser->getError(0)->code(), ErrorCode::kUNSUPPORTED_NODE);
    EXPECT_STREQ(reading.parser->getError(1)->nodeOperator(), "SecondUnknown");
    EXPECT_STREQ(reading.parser->getError(2)->nodeOperator(), "Softmax");
}

TEST(OnnxParser, W6_anErrorNamesTheFunctionsThatItsNodeLiesIn)
{
    TinyModel model = reluModel();
    auto const function = [&](char const* name, char const* op, char const* domain) {
        ::onnx::FunctionProto* const made = model.proto.add_functions();
        made->set_name(name);
        made->set_domain("mine");
        made->add_input("a");
        made->add_output("b");
        ::onnx::NodeProto* const inner = made->add_node();
        inner->set_op_type(op);
        inner->set_domain(domain);
        inner->add_input("a");
        inner->add_output("b");
    };
    function("Outer", "Inner", "mine");
    function("Inner", "NoSuchOperator", "");
    model.node("Outer", {"y"}, {"z"}).set_domain("mine");
    model.node("FirstUnknown", {"y"}, {"w"});
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    ASSERT_EQ(reading.parser->getNbErrors(), 2) << reading.errors();
    nvonnxparser::IParserError const& error = *reading.parser->getError(0);
    EXPECT_THAT(reading.errors(), HasSubstr("in the function 'mine.Inner', node 0 '' (NoSuchOperator)"));
    ASSERT_EQ(error.localFunctionStackSize(), 2);
    EXPECT_STREQ(error.localFunctionStack()[0], "mine.Outer");
    EXPECT_STREQ(error.localFunctionStack()[1], "mine.Inner");
    EXPECT_STREQ(error.nodeOperator(), "Outer");
    EXPECT_EQ(reading.parser->getError(1)->localFunctionStackSize(), 0);
}

TEST(OnnxParser, W7_anOutputWithAnInputsNameIsRenamed)
{
    TinyModel model;
    model.input("x", {2, 3}).output("x");
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    ASSERT_EQ(reading.network->getNbOutputs(), 1);
    EXPECT_STREQ(reading.network->getOutput(0)->getName(), "__x");
}

TEST(OnnxParser, W8_nativeInstanceNormIsOnAndSetFlagsReplaces)
{
    Reading reading;
    nvonnxparser::IParser& parser = *reading.parser;
    EXPECT_TRUE(parser.getFlag(OnnxParserFlag::kNATIVE_INSTANCENORM));
    EXPECT_FALSE(parser.getFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE));
    parser.setFlags(1U << static_cast<uint32_t>(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE));
    EXPECT_FALSE(parser.getFlag(OnnxParserFlag::kNATIVE_INSTANCENORM));
    EXPECT_TRUE(parser.getFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE));
    parser.clearFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
    EXPECT_EQ(parser.getFlags(), 0U);
}

TEST(OnnxParser, W9_initializersCanBeReplacedBetweenLoadAndParse)
{
    TinyModel model;
    model.input("x", {2}).output("y").weights("w", {2}, {1.5F, -2.0F});
    model.node("Mul", {"x", "w"}, {"y"});
    std::string const bytes = model.bytes();
    float const first[]{9.0F, 9.0F};
    float const second[]{3.25F, 4.5F};
    Reading reading;
    nvonnxparser::IParser& parser = *reading.parser;
    EXPECT_FALSE(parser.loadInitializer("w", first, sizeof(first))) << "before loadModelProto";
    ASSERT_TRUE(parser.loadModelProto(bytes.data(), bytes.size()));
    EXPECT_FALSE(parser.loadModelProto(bytes.data(), bytes.size())) << "twice";
    EXPECT_FALSE(parser.loadInitializer("nobody", first, sizeof(first)));
    EXPECT_FALSE(parser.loadInitializer("w", first, sizeof(first) - 1));
    EXPECT_TRUE(parser.loadInitializer("w", first, sizeof(first)));
    EXPECT_TRUE(parser.loadInitializer("w", second, sizeof(second)));
    ASSERT_TRUE(parser.parseModelProto()) << reading.errors();
    nvinfer1::Weights found{};
    for (int32_t i = 0; i < reading.network->getNbLayers(); ++i)
    {
        nvinfer1::ILayer* const layer = reading.network->getLayer(i);
        if (layer->getType() == nvinfer1::LayerType::kCONSTANT)
        {
            found = static_cast<nvinfer1::IConstantLayer*>(layer)->getWeights();
        }
    }
    ASSERT_EQ(found.count, 2);
    EXPECT_EQ(static_cast<float const*>(found.values)[1], 4.5F);
}

//! A model whose weights lie in the file beside it.
TinyModel externalModel(std::string const& location, int64_t offset, int64_t length)
{
    TinyModel model;
    model.input("x", {4}).output("y");
    ::onnx::TensorProto* const tensor = model.proto.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    tensor->add_dims(4);
    tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
    std::pair<char const*, std::string> const entries[]{
        {"location", location}, {"offset", std::to_string(offset)}, {"length", std::to_string(length)}};
    for (auto const& [key, value] : entries)
    {
        auto* const entry = tensor->add_external_data();
        entry->set_key(key);
        entry->set_value(value);
    }
    model.node("Mul", {"x", "w"}, {"y"});
    return model;
}

TEST(OnnxParser, W10_externalDataIsFoundBesideTheModel)
{
    TempFolder const folder;
    float const numbers[]{0.0F, 1.0F, 2.0F, 3.0F, 4.0F};
    std::ofstream{folder.file("weights.bin"), std::ios::binary}.write(
        reinterpret_cast<char const*>(numbers), sizeof(numbers));
    std::string const bytes = externalModel("weights.bin", 4, 16).bytes();
    std::ofstream{folder.file("model.onnx"), std::ios::binary} << bytes;

    Reading fromFile;
    EXPECT_TRUE(fromFile.parser->parseFromFile(folder.file("model.onnx").c_str(), 0)) << fromFile.errors();
    Reading withPath;
    EXPECT_TRUE(withPath.parser->parse(bytes.data(), bytes.size(), folder.file("model.onnx").c_str()));
    Reading without;
    EXPECT_FALSE(without.parse(bytes));
    EXPECT_THAT(without.errors(), HasSubstr("weights.bin"));
    EXPECT_THAT(without.errors(), HasSubstr("path"));
}

TEST(OnnxParser, W10_externalDataOutsideTheFileOrFolderIsRefused)
{
    TempFolder const folder;
    std::string const path = folder.file("model.onnx");
    std::ofstream{folder.file("weights.bin"), std::ios::binary} << "0123456789abcdef";
    for (TinyModel const& model : {externalModel("weights.bin", 8, 16), externalModel("weights.bin", -1, 16),
             externalModel("../secret.bin", 0, 16), externalModel("/etc/passwd", 0, 16),
             externalModel("missing.bin", 0, 16), externalModel("weights.bin", 0, 12)})
    {
        std::string const bytes = model.bytes();
        Reading reading;
        EXPECT_FALSE(reading.parser->parse(bytes.data(), bytes.size(), path.c_str()));
        EXPECT_EQ(reading.parser->getNbErrors(), 1);
    }
}

TEST(OnnxParser, W11_noModelNeedsAPluginLibrary)
{
    Reading reading;
    ASSERT_TRUE(reading.parse(reluModel())) << reading.errors();
    int64_t count{5};
    EXPECT_EQ(reading.parser->getUsedVCPluginLibraries(count), nullptr);
    EXPECT_EQ(count, 0);
}

TEST(OnnxParser, W14_seedsAndUnsortedResultsHaveNoEffectAndSayWhatIs)
{
    TinyModel model;
    model.output("y");
    ::onnx::NodeProto& fill = model.node("RandomUniform", {}, {"x"});
    ::onnx::AttributeProto* const shape = fill.add_attribute();
    shape->set_name("shape");
    shape->set_type(::onnx::AttributeProto::INTS);
    shape->add_ints(8);
    ::onnx::AttributeProto* const seed = fill.add_attribute();
    seed->set_name("seed");
    seed->set_type(::onnx::AttributeProto::FLOAT);
    seed->set_f(7.0F);
    ::onnx::TensorProto* const k = model.proto.mutable_graph()->add_initializer();
    k->set_name("k");
    k->set_data_type(::onnx::TensorProto::INT64);
    k->add_dims(1);
    k->add_int64_data(3);
    setInt(model.node("TopK", {"x", "k"}, {"y", "at"}), "sorted", 0);
    std::vector<std::string> plans;
    for (float const given : {7.0F, 8.0F})
    {
        seed->set_f(given);
        Reading reading;
        ASSERT_TRUE(reading.parse(model)) << reading.errors();
        EXPECT_TRUE(reading.logger.hasSaid("gives its elements in order"));
        EXPECT_EQ(reading.network->getOutput(0)->getDimensions().d[0], 3);
        std::unique_ptr<nvinfer1::IBuilderConfig> const config{reading.builder->createBuilderConfig()};
        std::unique_ptr<nvinfer1::IHostMemory> const plan{
            reading.builder->buildSerializedNetwork(*reading.network, *config)};
        ASSERT_NE(plan, nullptr) << testing::PrintToString(reading.logger.messages);
        plans.emplace_back(static_cast<char const*>(plan->data()), plan->size());
    }
    EXPECT_EQ(plans[0], plans[1]) << "whatever the seed is";
}

TEST(OnnxParser, W12_getLayerOutputTensorFindsTheFirstNodeOfAName)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y");
    model.node("Relu", {"x"}, {"a"}).set_name("same");
    model.node("Tanh", {"a"}, {"y"}).set_name("same");
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    nvinfer1::ITensor const* const tensor = reading.parser->getLayerOutputTensor("same", 0);
    ASSERT_NE(tensor, nullptr);
    EXPECT_STREQ(tensor->getName(), "a");
    EXPECT_EQ(reading.parser->getLayerOutputTensor("same", 1), nullptr);
    EXPECT_EQ(reading.parser->getLayerOutputTensor("same", -1), nullptr);
    EXPECT_EQ(reading.parser->getLayerOutputTensor("other", 0), nullptr);
    EXPECT_EQ(reading.parser->getLayerOutputTensor(nullptr, 0), nullptr);
}

TEST(OnnxParser, doubleStaysDoubleWithOneWarning)
{
    TinyModel model;
    model.input("x", {2}, ::onnx::TensorProto::DOUBLE).output("y");
    for (char const* const name : {"v", "w"})
    {
        ::onnx::TensorProto* const tensor = model.proto.mutable_graph()->add_initializer();
        tensor->set_name(name);
        tensor->set_data_type(::onnx::TensorProto::DOUBLE);
        tensor->add_dims(2);
        tensor->add_double_data(0.25);
        tensor->add_double_data(-7.0);
    }
    model.node("Mul", {"x", "v"}, {"a"});
    model.node("Mul", {"a", "w"}, {"y"});
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    EXPECT_EQ(static_cast<int32_t>(reading.network->getInput(0)->getType()), TENON_FLOAT64);
    EXPECT_EQ(static_cast<int32_t>(reading.network->getOutput(0)->getType()), TENON_FLOAT64);
    auto const ofElements = std::count_if(reading.logger.messages.begin(), reading.logger.messages.end(),
        [](std::string const& text) { return text.find("elements of type double") != std::string::npos; });
    EXPECT_EQ(ofElements, 1);
}

TEST(OnnxParser, W15_opsets9To28AreAccepted)
{
    for (int64_t const opset : {9, 13, 18, 24, 28}) // Upstream ends at 24.
    {
        TinyModel model = reluModel();
        model.proto.mutable_opset_import(0)->set_version(opset);
        Reading reading;
        EXPECT_TRUE(reading.parse(model)) << opset << reading.errors();
        EXPECT_TRUE(reading.logger.messages.empty()) << reading.logger.messages[0];
    }
    TinyModel model = reluModel();
    model.proto.mutable_opset_import(0)->set_version(29);
    Reading reading;
    EXPECT_FALSE(reading.parse(model));
    EXPECT_THAT(reading.errors(), HasSubstr("opset 29"));
}

TEST(OnnxParser, namesAndOriginsOfLayersComeFromNodes)
{
    TinyModel model;
    model.input("x", {2, 3}).output("y").weights("w", {3}, {1.0F, 2.0F, 3.0F});
    model.node("Mul", {"x", "w"}, {"a"}).set_name("scale");
    model.node("Relu", {"a"}, {"y"}).set_name("");
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    std::vector<std::string> names;
    for (int32_t i = 0; i < reading.network->getNbLayers(); ++i)
    {
        names.emplace_back(reading.network->getLayer(i)->getName());
        if (names.back() == "scale")
        {
            EXPECT_STREQ(reading.network->getLayer(i)->getMetadata(), "[ONNX Layer: scale]");
            EXPECT_STREQ(reading.network->getLayer(i)->getOutput(0)->getName(), "a");
        }
    }
    EXPECT_THAT(names, testing::UnorderedElementsAre("w", "scale", "Relu_1"));
}

TEST(OnnxParser, onlyIdentifiersNameDimensions)
{
    TinyModel model = reluModel();
    auto* const shape =
        model.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->Clear();
    for (char const* const name : {"batch_1", "?", "", "a.b"})
    {
        shape->add_dim()->set_dim_param(name);
    }
    shape->add_dim()->set_dim_value(-1);
    shape->add_dim();
    Reading reading;
    ASSERT_TRUE(reading.parse(model)) << reading.errors();
    nvinfer1::ITensor const& input = *reading.network->getInput(0);
    ASSERT_EQ(input.getDimensions().nbDims, 6);
    EXPECT_STREQ(input.getDimensionName(0), "batch_1");
    for (int32_t i = 0; i < 6; ++i)
    {
        EXPECT_EQ(input.getDimensions().d[i], -1);
        EXPECT_TRUE(i == 0 || input.getDimensionName(i) == nullptr) << i;
    }
}

TEST(OnnxParser, nullArgumentsAreErrors)
{
    EXPECT_EQ(createNvOnnxParser_INTERNAL(nullptr, nullptr, NV_ONNX_PARSER_VERSION), nullptr);
    Reading reading;
    EXPECT_FALSE(reading.parser->parse(nullptr, 10));
    EXPECT_FALSE(reading.parser->parseFromFile(nullptr, 0));
    EXPECT_EQ(reading.parser->getNbErrors(), 2);
    EXPECT_FALSE(reading.parser->setBuilderConfig(nullptr));
}

} // namespace
} // namespace tenon::test
