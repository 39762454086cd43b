// Layers that stand for stock plugins give what the plugins give, on every device; nothing of them is left in the plan.
#include "api/fixture.h"

#include "NvInferPlugin.h"
#include "tenon/plugin.h"

#include <cmath>
#include <cstring>
#include <variant>

namespace plugintest
{
namespace
{

using apitest::dims;
using tenon::test::DeviceArray;
using tenon::test::randomFloats;

using Values = std::variant<std::vector<int32_t>, std::vector<float>>;

struct StockField
{
    char const* name;
    Values values;
};

struct StockInput
{
    std::vector<int64_t> extents;
    DataType type{DataType::kFLOAT};
    int32_t least{0}; //!< Of integers.
    int32_t most{0};
};

struct StockCase
{
    char const* label;
    char const* plugin;
    char const* version;
    std::vector<StockField> fields;
    std::vector<StockInput> inputs;
    int32_t dynamicAxes{0}; //!< Of input 0 and of the others: as many from the front.
    float tolerance{1e-5F}; //!< Of float32; a float16 has three digits.
};

void PrintTo(StockCase const& one, std::ostream* out)
{
    *out << one.label;
}

std::vector<float> floats(size_t count, uint32_t seed, float factor = 1.0F)
{
    std::vector<float> values = randomFloats(count, seed);
    for (float& value : values)
        value *= factor;
    return values;
}

//! What a plugin does by itself, in the host's memory.
int32_t itself(tenon::PluginRun const& run)
{
    if (run.v3 != nullptr)
    {
        auto* const runtime =
            static_cast<IPluginV3OneRuntime*>(run.v3->getCapabilityInterface(PluginCapabilityType::kRUNTIME));
        return runtime->enqueue(run.inputDesc, run.outputDesc, run.inputs, run.outputs, run.workspace, nullptr);
    }
    bool const isDynamic = static_cast<uint32_t>(run.v2->getTensorRTVersion()) >> 24U == 3U;
    if (isDynamic)
        return static_cast<IPluginV2DynamicExt*>(run.v2)->enqueue(
            run.inputDesc, run.outputDesc, run.inputs, run.outputs, run.workspace, nullptr);
    PluginTensorDesc const& first = run.nbInputs > 0 ? run.inputDesc[0] : run.outputDesc[0];
    auto const batch = static_cast<int32_t>(first.dims.d[0]);
    return static_cast<IPluginV2Ext*>(run.v2)->enqueue(batch, run.inputs, run.outputs, run.workspace, nullptr);
}

//! While it lives, the plugin does its work by itself.
class Itself
{
  public:
    explicit Itself(StockCase const& one)
        : mOne{one}
    {
        tenonSetCpuBody(one.plugin, one.version, "", &itself);
    }
    ~Itself()
    {
        tenonSetCpuBody(mOne.plugin, mOne.version, "", nullptr);
    }
    Itself(Itself const&) = delete;
    Itself& operator=(Itself const&) = delete;

  private:
    StockCase const& mOne;
};

size_t bytesOf(DataType type)
{
    return type == DataType::kHALF ? 2 : 4;
}

size_t countOf(std::vector<int64_t> const& extents)
{
    size_t count{1};
    for (int64_t const extent : extents)
        count *= static_cast<size_t>(extent);
    return count;
}

class StockLayersTest : public apitest::ApiTest
{
  protected:
    using Tensors = std::vector<std::vector<uint8_t>>;

    void SetUp() override
    {
        ASSERT_TRUE(initLibNvInferPlugins(&logger, ""));
    }

    ILayer* addPlugin(INetworkDefinition& to, StockCase const& one, std::vector<ITensor*> const& tensors)
    {
        std::vector<PluginField> fields;
        for (StockField const& each : one.fields)
            std::visit(
                [&](auto const& values) {
                    bool const isReal = std::is_same_v<std::decay_t<decltype(values.front())>, float>;
                    fields.emplace_back(each.name, values.data(),
                        isReal ? PluginFieldType::kFLOAT32 : PluginFieldType::kINT32,
                        static_cast<int32_t>(values.size()));
                },
                each.values);
        PluginFieldCollection const collection{static_cast<int32_t>(fields.size()), fields.data()};
        auto const count = static_cast<int32_t>(tensors.size());
        if (IPluginCreator* const older = getPluginRegistry()->getPluginCreator(one.plugin, one.version))
        {
            IPluginV2* const plugin = older->createPlugin("stock", &collection);
            ILayer* const layer = plugin == nullptr ? nullptr : to.addPluginV2(tensors.data(), count, *plugin);
            if (plugin != nullptr)
                plugin->destroy();
            return layer;
        }
        auto* const newer = static_cast<IPluginCreatorV3One*>(getPluginRegistry()->getCreator(one.plugin, one.version));
        std::unique_ptr<IPluginV3> const plugin{newer->createPlugin("stock", &collection, TensorRTPhase::kBUILD)};
        return plugin == nullptr ? nullptr : to.addPluginV3(tensors.data(), count, nullptr, 0, *plugin);
    }

    std::unique_ptr<ICudaEngine> engineOf(StockCase const& one, bool isDynamic)
    {
        auto const strong = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
        auto const batch = 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
        network.reset(builder->createNetworkV2(strong | batch));
        config.reset(builder->createBuilderConfig());
        config->clearFlag(BuilderFlag::kTF32); // Bodies do not round.
        IOptimizationProfile* const profile = builder->createOptimizationProfile();
        std::vector<ITensor*> tensors;
        for (size_t i = 0; i < one.inputs.size(); ++i)
        {
            StockInput const& input = one.inputs[i];
            std::vector<int64_t> shape = input.extents;
            std::vector<int64_t> most = input.extents;
            for (size_t axis = 0; isDynamic && axis < shape.size() && axis < static_cast<size_t>(one.dynamicAxes);
                 ++axis)
            {
                shape[axis] = -1;
                most[axis] += 3;
            }
            std::string const name = "x" + std::to_string(i);
            tensors.push_back(network->addInput(name.c_str(), input.type, dims(shape)));
            profile->setDimensions(name.c_str(), OptProfileSelector::kMIN, dims(input.extents));
            profile->setDimensions(name.c_str(), OptProfileSelector::kOPT, dims(input.extents));
            profile->setDimensions(name.c_str(), OptProfileSelector::kMAX, dims(most));
        }
        if (isDynamic)
            config->addOptimizationProfile(profile);
        ILayer* const layer = addPlugin(*network, one, tensors);
        if (layer == nullptr)
            return nullptr;
        layer->setName("stock");
        for (int32_t i = 0; i < layer->getNbOutputs(); ++i)
        {
            layer->getOutput(i)->setName(("y" + std::to_string(i)).c_str());
            network->markOutput(*layer->getOutput(i));
        }
        return buildEngine();
    }

    static Tensors inputsOf(StockCase const& one)
    {
        Tensors all;
        for (size_t i = 0; i < one.inputs.size(); ++i)
        {
            StockInput const& input = one.inputs[i];
            size_t const count = countOf(input.extents);
            std::vector<float> const values = randomFloats(count, static_cast<uint32_t>(i + 3));
            std::vector<uint8_t> bytes(count * bytesOf(input.type));
            for (size_t k = 0; k < count; ++k)
                if (input.type == DataType::kHALF)
                    reinterpret_cast<_Float16*>(bytes.data())[k] = static_cast<_Float16>(values[k]);
                else if (input.type == DataType::kFLOAT)
                    reinterpret_cast<float*>(bytes.data())[k] = values[k];
                else
                    reinterpret_cast<int32_t*>(bytes.data())[k] = input.least
                        + static_cast<int32_t>((k * 7 + i) % static_cast<size_t>(input.most - input.least + 1));
            all.push_back(std::move(bytes));
        }
        return all;
    }

    //! Outputs as floats; none where the run fails.
    std::vector<std::vector<float>> outputsOf(ICudaEngine& engine, StockCase const& one, Tensors const& inputs)
    {
        std::unique_ptr<IExecutionContext> const context{engine.createExecutionContext()};
        std::vector<DeviceArray<uint8_t>> memory;
        memory.reserve(inputs.size() + static_cast<size_t>(engine.getNbIOTensors()));
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            std::string const name = "x" + std::to_string(i);
            memory.emplace_back(inputs[i]);
            EXPECT_TRUE(context->setInputShape(name.c_str(), dims(one.inputs[i].extents))) << logger.errors();
            EXPECT_TRUE(context->setTensorAddress(name.c_str(), memory.back().data()));
        }
        std::vector<std::vector<float>> results;
        for (int32_t i = 0; i < engine.getNbIOTensors() - static_cast<int32_t>(inputs.size()); ++i)
        {
            std::string const name = "y" + std::to_string(i);
            size_t const count = countOf(apitest::extents(context->getTensorShape(name.c_str())));
            memory.emplace_back(count * bytesOf(engine.getTensorDataType(name.c_str())));
            EXPECT_TRUE(context->setTensorAddress(name.c_str(), memory.back().data()));
        }
        if (!apitest::runToEnd(*context))
            return {};
        for (size_t i = inputs.size(); i < memory.size(); ++i)
            results.push_back(asFloats(
                memory[i].read(), engine.getTensorDataType(("y" + std::to_string(i - inputs.size())).c_str())));
        return results;
    }

    static std::vector<float> asFloats(std::vector<uint8_t> const& bytes, DataType type)
    {
        std::vector<float> values(bytes.size() / bytesOf(type));
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = type == DataType::kHALF ? static_cast<float>(reinterpret_cast<_Float16 const*>(bytes.data())[i])
                : type == DataType::kFLOAT      ? reinterpret_cast<float const*>(bytes.data())[i]
                                                : static_cast<float>(reinterpret_cast<int32_t const*>(bytes.data())[i]);
        return values;
    }

    int32_t told(std::string const& text)
    {
        return logger.count(ILogger::Severity::kVERBOSE, text);
    }
};

class StockLayers : public StockLayersTest, public testing::WithParamInterface<StockCase>
{
};

TEST_P(StockLayers, giveWhatThePluginGives)
{
    StockCase const& one = GetParam();
    Tensors const inputs = inputsOf(one);
    std::vector<std::vector<float>> wanted;
    {
        Itself const alone{one};
        auto const engine = engineOf(one, false);
        ASSERT_NE(engine, nullptr) << logger.errors();
        EXPECT_EQ(told("layers do its work"), 0) << "the plugin is not on its own";
        wanted = outputsOf(*engine, one, inputs);
        ASSERT_FALSE(wanted.empty()) << logger.errors();
    }
    for (bool const isDynamic : {false, true})
    {
        if (isDynamic && one.dynamicAxes == 0)
            continue;
        logger.messages.clear();
        auto const engine = engineOf(one, isDynamic);
        ASSERT_NE(engine, nullptr) << logger.errors();
        EXPECT_EQ(told("layers do its work"), 1);
        EXPECT_EQ(told("to the host, where a step that reads it runs"), 0) << "a step stands on the host";
        std::vector<std::vector<float>> const got = outputsOf(*engine, one, inputs);
        ASSERT_EQ(got.size(), wanted.size()) << logger.errors();
        for (size_t i = 0; i < got.size(); ++i)
        {
            ASSERT_EQ(got[i].size(), wanted[i].size()) << "output " << i;
            for (size_t k = 0; k < got[i].size(); ++k)
                ASSERT_NEAR(got[i][k], wanted[i][k], one.tolerance * (1.0F + std::abs(wanted[i][k])))
                    << "output " << i << ", element " << k << (isDynamic ? ", dynamic" : "");
        }
    }
}

constexpr float kHalves{4e-3F};

std::vector<StockCase> const& cases()
{
    using Ints = std::vector<int32_t>;
    auto const embedding = [](int32_t half) {
        return std::vector<StockField>{{"output_fp16", Ints{half}}, {"full_mask", Ints{0}}, {"mha_type_id", Ints{0}},
            {"bert_embeddings_layernorm_beta", floats(8, 1)}, {"bert_embeddings_layernorm_gamma", floats(8, 2)},
            {"bert_embeddings_word_embeddings", floats(72, 3)},
            {"bert_embeddings_token_type_embeddings", floats(16, 4)},
            {"bert_embeddings_position_embeddings", floats(80, 5)}};
    };
    auto const skip = [](int32_t type, bool hasLd, bool hasBias) {
        std::vector<StockField> fields{{"type_id", Ints{type}}, {"beta", floats(8, 1)}, {"gamma", floats(8, 2)}};
        if (hasLd)
            fields.push_back({"ld", Ints{8}});
        if (hasBias)
            fields.push_back({"bias", floats(8, 3)});
        return fields;
    };
    auto const attention = [](int32_t type, int32_t mask) {
        return std::vector<StockField>{
            {"type_id", Ints{type}}, {"hidden_size", Ints{16}}, {"num_heads", Ints{2}}, {"has_mask", Ints{mask}}};
    };
    auto const norm = std::vector<StockField>{{"epsilon", std::vector<float>{1e-3F}}, {"scales", floats(3, 1)},
        {"bias", floats(3, 2)}, {"relu", Ints{1}}, {"alpha", std::vector<float>{0.25F}}};
    auto const efficient = [](int32_t isLogit, int32_t isAgnostic, int32_t coding) {
        return std::vector<StockField>{{"score_threshold", std::vector<float>{0.25F}},
            {"iou_threshold", std::vector<float>{0.5F}}, {"max_output_boxes", Ints{50}}, {"background_class", Ints{1}},
            {"score_activation", Ints{isLogit}}, {"class_agnostic", Ints{isAgnostic}}, {"box_coding", Ints{coding}}};
    };
    auto const batched = [](int32_t share, int32_t isNormalized, int32_t isCaffe) {
        return std::vector<StockField>{{"shareLocation", Ints{share}}, {"backgroundLabelId", Ints{0}},
            {"numClasses", Ints{3}}, {"topK", Ints{20}}, {"keepTopK", Ints{15}},
            {"scoreThreshold", std::vector<float>{-0.25F}}, {"iouThreshold", std::vector<float>{0.3F}},
            {"isNormalized", Ints{isNormalized}}, {"clipBoxes", Ints{1}}, {"caffeSemantics", Ints{isCaffe}}};
    };
    StockInput const ids{{5, 3}, DataType::kINT32, 0, 8};
    StockInput const segments{{5, 3}, DataType::kINT32, 0, 1};
    StockInput const mask{{5, 3}, DataType::kINT32, 0, 1};
    StockInput const rows{{5, 3, 8, 1, 1}};
    StockInput const halfRows{{5, 3, 8, 1, 1}, DataType::kHALF};
    static std::vector<StockCase> const all{
        {"SkipLayerNorm", "CustomSkipLayerNormPluginDynamic", "1", skip(0, true, true), {rows, rows}, 2},
        {"SkipLayerNormHalf", "CustomSkipLayerNormPluginDynamic", "5", skip(1, true, false), {halfRows, halfRows}, 2,
            kHalves},
        {"SkipLayerNormRows", "CustomSkipLayerNormPluginDynamic", "6", skip(0, false, true), {{{4, 2, 8}}, {{4, 2, 8}}},
            2},
        {"SkipLayerNormRowsOfSeveralAxes", "CustomSkipLayerNormPluginDynamic", "2", skip(0, false, false),
            {{{6, 2, 4}}, {{6, 2, 4}}}, 1},
        {"EmbLayerNorm", "CustomEmbLayerNormPluginDynamic", "1", embedding(0), {ids, segments, mask}, 2},
        {"EmbLayerNormHalf", "CustomEmbLayerNormPluginDynamic", "6", embedding(1), {ids, segments, mask}, 2, kHalves},
        {"Attention", "CustomQKVToContextPluginDynamic", "1", attention(0, 0), {{{7, 3, 48, 1, 1}}}, 2},
        {"AttentionOfSomeTokens", "CustomQKVToContextPluginDynamic", "4", attention(0, 1),
            {{{7, 5, 48, 1, 1}}, {{5}, DataType::kINT32, 0, 7}}},
        {"AttentionHalf", "CustomQKVToContextPluginDynamic", "2", attention(1, 1),
            {{{7, 5, 48, 1, 1}, DataType::kHALF}, {{5}, DataType::kINT32, 0, 7}}, 0, kHalves},
        {"FullyConnected", "CustomFCPluginDynamic", "1",
            {{"out_dims", Ints{6}}, {"type_id", Ints{0}}, {"W", floats(48, 1)}}, {rows}, 2},
        {"FullyConnectedHalf", "CustomFCPluginDynamic", "1",
            {{"out_dims", Ints{6}}, {"type_id", Ints{1}}, {"W", floats(48, 1)}}, {halfRows}, 2, kHalves},
        {"InstanceNorm", "InstanceNormalization_TRT", "1", norm, {{{2, 3, 5, 4}}}, 4},
        {"InstanceNormOfVolumes", "InstanceNormalization_TRT", "3", norm, {{{2, 3, 5, 4, 3}}}, 1},
        {"GroupNorm", "GroupNormalizationPlugin", "1", {{"eps", std::vector<float>{1e-3F}}, {"num_groups", Ints{3}}},
            {{{2, 6, 5, 4}}, {{6}}, {{6}}}},
        {"GroupNormOfOne", "GroupNormalizationPlugin", "1",
            {{"eps", std::vector<float>{1e-3F}}, {"num_groups", Ints{1}}}, {{{2, 6, 5}}, {{6}}, {{6}}}},
        {"ScatterND", "ScatterND", "1", {}, {{{6, 5, 4}}, {{7, 2}, DataType::kINT32, -5, 4}, {{7, 4}}}, 1},
        {"ScatterNDHalf", "ScatterND", "1", {},
            {{{6, 5}, DataType::kHALF}, {{3, 1}, DataType::kINT32, 0, 5}, {{3, 5}, DataType::kHALF}}, 1, kHalves},
        {"LeakyRelu", "LReLU_TRT", "1", {{"negSlope", std::vector<float>{0.25F}}}, {{{2, 3, 5}}}, 1},
        {"Clip", "Clip_TRT", "1", {{"clipMin", std::vector<float>{-0.5F}}, {"clipMax", std::vector<float>{0.25F}}},
            {{{2, 3, 5}, DataType::kHALF}}, 1, kHalves},
        {"Gelu", "CustomGeluPluginDynamic", "1", {{"type_id", Ints{0}}, {"bias", floats(8, 1)}}, {rows}, 2},
        {"GeluHalf", "CustomGeluPluginDynamic", "1", {{"type_id", Ints{1}}, {"bias", floats(8, 1)}},
            {{{4, 8}, DataType::kHALF}}, 1, kHalves},
        {"Normalize", "Normalize_TRT", "1",
            {{"weights", floats(3, 1)}, {"acrossSpatial", Ints{0}}, {"channelShared", Ints{0}},
                {"eps", std::vector<float>{0.5F}}},
            {{{2, 3, 4, 5}}}, 1},
        {"NormalizeAcross", "Normalize_TRT", "1",
            {{"weights", floats(1, 1)}, {"acrossSpatial", Ints{1}}, {"channelShared", Ints{1}},
                {"eps", std::vector<float>{0.5F}}},
            {{{2, 3, 4, 5}}}, 1},
        {"Reorg", "Reorg_TRT", "2", {{"stride", Ints{2}}}, {{{2, 8, 4, 6}}}, 1},
        {"ResizeNearest", "ResizeNearest_TRT", "1", {{"scale", std::vector<float>{1.7F}}}, {{{2, 3, 4, 5}}}, 1},
        {"FlattenConcat", "FlattenConcat_TRT", "1", {{"axis", Ints{1}}, {"ignoreBatch", Ints{0}}},
            {{{2, 3, 4, 5}}, {{2, 1, 2, 3}}}},
        {"SpecialSlice", "SpecialSlice_TRT", "1", {}, {{{2, 7, 6}}}, 1},
        {"Split", "Split", "1", {{"axis", Ints{1}}, {"output_lengths", Ints{2, 3}}}, {{{4, 5, 3}}}, 1},
        {"EfficientNms", "EfficientNMS_TRT", "1", efficient(0, 0, 1), {{{2, 40, 4}}, {{2, 40, 5}}, {{1, 40, 4}}}, 1},
        {"EfficientNmsAgnostic", "EfficientNMS_TRT", "1", efficient(1, 1, 0), {{{2, 40, 5, 4}}, {{2, 40, 5}}}, 1},
        {"EfficientNmsHalf", "EfficientNMS_TRT", "1", efficient(0, 0, 0),
            {{{2, 40, 1, 4}, DataType::kHALF}, {{2, 40, 5, 1}, DataType::kHALF}}, 1, kHalves},
        {"EfficientNmsOfMany", "EfficientNMS_TRT", "1", efficient(0, 0, 0), {{{1, 700, 1, 4}}, {{1, 700, 20}}}},
        {"EfficientNmsTensorFlow", "EfficientNMS_Explicit_TF_TRT", "1",
            {{"max_output_size_per_class", Ints{2}}, {"max_total_size", Ints{90}},
                {"iou_threshold", std::vector<float>{0.5F}}, {"score_threshold", std::vector<float>{0.25F}},
                {"pad_per_class", Ints{1}}, {"clip_boxes", Ints{1}}},
            {{{2, 17, 3, 4}}, {{2, 17, 3}}}, 1},
        {"BatchedNmsDynamic", "BatchedNMSDynamic_TRT", "1", batched(0, 0, 1), {{{2, 33, 3, 4}}, {{2, 33, 3}}}, 1},
        {"BatchedNms", "BatchedNMS_TRT", "1", batched(1, 1, 0), {{{2, 33, 1, 4}}, {{2, 33, 3}}}},
        {"DeformableAttention", "MultiscaleDeformableAttnPlugin_TRT", "1", {},
            {{{2, 40, 3, 8}}, {{2, 2}, DataType::kINT32, 4, 5}, {{2}, DataType::kINT32, 3, 9}, {{2, 7, 3, 2, 4, 2}},
                {{2, 7, 3, 2, 4}}},
            0},
        {"DeformableAttentionOfOddColumns", "MultiscaleDeformableAttnPlugin_TRT", "2", {},
            {{{1, 40, 2, 5}, DataType::kHALF}, {{2, 2}, DataType::kINT32, 2, 5}, {{2}, DataType::kINT32, 0, 9},
                {{1, 3, 2, 2, 3, 2}, DataType::kHALF}, {{1, 3, 2, 2, 3}, DataType::kHALF}},
            0, kHalves},
        {"PriorBox", "PriorBox_TRT", "1",
            {{"minSize", std::vector<float>{2, 3}}, {"maxSize", std::vector<float>{4, 5}},
                {"aspectRatios", std::vector<float>{2}}, {"variance", std::vector<float>{0.1F, 0.1F, 0.2F, 0.2F}}},
            {{{2, 3, 4, 5}}, {{2, 3, 40, 50}}}},
        {"GridAnchor", "GridAnchor_TRT", "1",
            {{"aspectRatios", std::vector<float>{1, 2, 0.5F}}, {"featureMapShapes", Ints{3, 2}},
                {"variance", std::vector<float>{0.1F, 0.1F, 0.2F, 0.2F}}, {"numLayers", Ints{2}}},
            {}},
        {"DisentangledAttention", "DisentangledAttention_TRT", "1",
            {{"span", Ints{4}}, {"factor", std::vector<float>{0.25F}}}, {{{2, 9, 9}}, {{2, 9, 8}}, {{2, 9, 8}}}, 1},
        {"DisentangledAttentionHalf", "DisentangledAttention_TRT", "2",
            {{"span", Ints{6}}, {"factor", std::vector<float>{0.25F}}},
            {{{2, 21, 21}, DataType::kHALF}, {{2, 21, 12}, DataType::kHALF}, {{2, 21, 12}, DataType::kHALF}}, 1,
            kHalves},
        {"BatchTile", "BatchTilePlugin_TRT", "1", {}, {{{2, 3, 1, 2}}, {{1, 3, 2, 2}}}},
    };
    return all;
}

INSTANTIATE_TEST_SUITE_P(Every, StockLayers, testing::ValuesIn(cases()),
    [](testing::TestParamInfo<StockCase> const& info) { return std::string{info.param.label}; });

//! The case of this label.
StockCase caseOf(std::string const& label)
{
    for (StockCase const& one : cases())
        if (one.label == label)
            return one;
    ADD_FAILURE() << "no case " << label;
    return {};
}

TEST_F(StockLayersTest, extentsThatDifferInARunAreRefusedByLayer)
{
    for (char const* const label : {"SkipLayerNorm", "EmbLayerNorm", "ScatterND"})
    {
        StockCase one = caseOf(label);
        auto const engine = engineOf(one, true);
        ASSERT_NE(engine, nullptr) << logger.errors();
        one.inputs.back().extents[0] += 1; // Rows of 1 would be broadcast.
        logger.messages.clear();
        EXPECT_TRUE(outputsOf(*engine, one, inputsOf(one)).empty()) << label;
        EXPECT_NE(logger.errors().find("[layer 'stock"), std::string::npos) << logger.errors();
        EXPECT_NE(logger.errors().find("which do not fit; it takes"), std::string::npos) << logger.errors();
    }
}

TEST_F(StockLayersTest, valuesThatThereAreNoneForAreRefusedOnTheHost)
{
    if (tenon::test::isUnderTest("cuda"))
        GTEST_SKIP() << "kernels of GPUs look at no values";
    for (auto const& [label, input, words] : {std::tuple{"EmbLayerNorm", 0, "a token lies outside the word embeddings"},
             std::tuple{"EmbLayerNorm", 1, "a segment lies outside the token type embeddings"},
             std::tuple{"AttentionOfSomeTokens", 1, "a number of tokens is beyond the sequence"},
             std::tuple{"ScatterND", 1, "scatter index"}})
    {
        StockCase one = caseOf(label);
        auto const engine = engineOf(one, false);
        ASSERT_NE(engine, nullptr) << logger.errors();
        one.inputs[static_cast<size_t>(input)].least = 100;
        one.inputs[static_cast<size_t>(input)].most = 200;
        logger.messages.clear();
        EXPECT_TRUE(outputsOf(*engine, one, inputsOf(one)).empty()) << label;
        EXPECT_NE(logger.errors().find("[layer 'stock"), std::string::npos) << logger.errors();
        EXPECT_NE(logger.errors().find(words), std::string::npos) << logger.errors();
    }
}

TEST_F(StockLayersTest, thePlanNeedsNoPlugin)
{
    StockCase const one = caseOf("SkipLayerNorm");
    auto const engine = engineOf(one, false);
    ASSERT_NE(engine, nullptr) << logger.errors();
    std::unique_ptr<IEngineInspector> const inspector{engine->createEngineInspector()};
    std::string const text = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    EXPECT_NE(text.find("stock"), std::string::npos) << text;
    EXPECT_EQ(text.find("Plugin"), std::string::npos) << text;
    EXPECT_EQ(network->getLayer(0)->getType(), LayerType::kPLUGIN_V2);
}

} // namespace
} // namespace plugintest
