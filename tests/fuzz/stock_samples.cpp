// The table of samples: a new stock plugin needs a row.
#include "fuzz/stock_samples.h"

#include <algorithm>
#include <string_view>

namespace tenon::test
{

namespace
{
using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

std::vector<StockSample> const& samples()
{
    static std::vector<StockSample> const all{
        {"BatchedNMS_TRT",
            {{"shareLocation", Ints{1}}, {"backgroundLabelId", Ints{-1}}, {"numClasses", Ints{3}}, {"topK", Ints{5}},
                {"keepTopK", Ints{4}}, {"scoreThreshold", Floats{0.25F}}, {"iouThreshold", Floats{0.5F}},
                {"isNormalized", Ints{0}}, {"clipBoxes", Ints{1}}, {"scoreBits", Ints{16}},
                {"caffeSemantics", Ints{1}}},
            {{2, 7, 1, 4}, {2, 7, 3}}},
        {"Clip_TRT", {{"clipMin", Floats{-0.5F}}, {"clipMax", Floats{0.25F}}}, {{2, 3, 5}}},
        {"CoordConvAC", {}, {{2, 3, 4, 5}}},
        {"CropAndResize", {{"crop_width", Ints{3}}, {"crop_height", Ints{2}}}, {{2, 2, 5, 6}, {2, 3, 4, 1}}},
        {"CustomEmbLayerNormPluginDynamic",
            {{"output_fp16", Ints{0}}, {"full_mask", Ints{0}}, {"mha_type_id", Ints{0}},
                {"bert_embeddings_layernorm_beta", Floats{1, 2}}, {"bert_embeddings_layernorm_gamma", Floats{2, 3}},
                {"bert_embeddings_word_embeddings", Floats{1, 2, 3, 4, 5, 6, 7, 8}},
                {"bert_embeddings_token_type_embeddings", Floats{1, -1, 2, -2, 3, -3, 4, -4}},
                {"bert_embeddings_position_embeddings", Floats{1, 2, 3, 4}}},
            {{2, 3}, {2, 3}, {2, 3}}},
        {"CustomFCPluginDynamic", {{"out_dims", Ints{2}}, {"type_id", Ints{0}}, {"W", Floats{1, 2, 3, 4, 5, 6}}},
            {{2, 3, 3, 1, 1}}},
        {"CustomGeluPluginDynamic", {{"type_id", Ints{0}}, {"bias", Floats{1, 2, 3}}}, {{2, 4, 3}}},
        {"CustomQKVToContextPluginDynamic",
            {{"type_id", Ints{0}}, {"hidden_size", Ints{4}}, {"num_heads", Ints{2}}, {"has_mask", Ints{1}},
                {"dq_probs", Floats{0.01F}}},
            {{3, 2, 12, 1, 1}, {2}}},
        {"FlattenConcat_TRT", {{"axis", Ints{1}}, {"ignoreBatch", Ints{0}}}, {{2, 3, 4, 5}, {2, 1, 2, 3}}},
        {"LReLU_TRT", {{"negSlope", Floats{0.25F}}}, {{2, 3, 5}}},
        {"Normalize_TRT",
            {{"weights", Floats{1, 2, 3}}, {"acrossSpatial", Ints{0}}, {"channelShared", Ints{0}},
                {"nbWeights", Ints{3}}, {"eps", Floats{0.5F}}},
            {{2, 3, 4, 5}}},
        {"Reorg_TRT", {{"stride", Ints{2}}}, {{2, 4, 4, 6}}},
        {"ResizeNearest_TRT", {{"scale", Floats{1.5F}}}, {{2, 3, 4, 5}}},
        {"ScatterND", {}, {{4, 3, 2}, {5, 2}, {5, 2}}},
        {"BatchedNMSDynamic_TRT",
            {{"shareLocation", Ints{0}}, {"backgroundLabelId", Ints{0}}, {"numClasses", Ints{3}}, {"topK", Ints{5}},
                {"keepTopK", Ints{4}}, {"scoreThreshold", Floats{0.25F}}, {"iouThreshold", Floats{0.5F}},
                {"isNormalized", Ints{0}}, {"clipBoxes", Ints{1}}, {"scoreBits", Ints{16}},
                {"caffeSemantics", Ints{1}}},
            {{2, 7, 3, 4}, {2, 7, 3}}},
        {"CropAndResizeDynamic", {{"crop_width", Ints{3}}, {"crop_height", Ints{2}}}, {{2, 2, 5, 6}, {2, 3, 4, 1}}},
        {"CustomSkipLayerNormPluginDynamic",
            {{"type_id", Ints{0}}, {"ld", Ints{4}}, {"beta", Floats{1, 2, 3, 4}}, {"gamma", Floats{2, 3, 4, 5}},
                {"bias", Floats{-1, 0, 1, 2}}},
            {{3, 2, 4, 1, 1}, {3, 2, 4, 1, 1}}, "1256"},
        {"CustomSkipLayerNormPluginDynamic", {{"beta", Floats{1, 2, 3, 4}}, {"gamma", Floats{2, 3, 4, 5}}},
            {{1, 4, 3, 1}, {1, 4, 3, 1}}, "3478"},
        {"DisentangledAttention_TRT", {{"span", Ints{4}}, {"factor", Floats{0.25F}}},
            {{2, 6, 6}, {2, 6, 8}, {2, 6, 8}}},
        {"EfficientNMS_TRT",
            {{"score_threshold", Floats{0.25F}}, {"iou_threshold", Floats{0.5F}}, {"max_output_boxes", Ints{5}},
                {"background_class", Ints{-1}}, {"score_activation", Ints{0}}, {"class_agnostic", Ints{0}},
                {"box_coding", Ints{1}}},
            {{2, 7, 3, 4}, {2, 7, 3}, {1, 7, 4}}},
        {"GroupNormalizationPlugin", {{"eps", Floats{1e-3F}}, {"num_groups", Ints{2}}}, {{2, 4, 3, 2}, {4}, {4}}},
        {"InstanceNormalization_TRT",
            {{"epsilon", Floats{1e-3F}}, {"scales", Floats{1, 2, 3}}, {"bias", Floats{3, 2, 1}}, {"relu", Ints{1}},
                {"alpha", Floats{0.5F}}},
            {{2, 3, 4, 2}}},
        {"ModulatedDeformConv2d",
            {{"stride", Ints{2, 1}}, {"padding", Ints{1, 1}}, {"dilation", Ints{1, 2}}, {"group", Ints{2}},
                {"deformable_group", Ints{2}}},
            {{1, 4, 6, 5}, {1, 24, 4, 3}, {1, 12, 4, 3}, {2, 2, 3, 2}, {2}}},
        {"MultiscaleDeformableAttnPlugin_TRT", {}, {{1, 20, 2, 3}, {2, 2}, {2}, {1, 3, 2, 2, 2, 2}, {1, 3, 2, 2, 2}}},
        {"PillarScatterPlugin", {{"dense_shape", Ints{4, 3}}}, {{2, 5, 3}, {2, 5, 4}, {2}}},
        {"ROIAlign_TRT",
            {{"coordinate_transformation_mode", Ints{1}}, {"mode", Ints{0}}, {"output_height", Ints{2}},
                {"output_width", Ints{3}}, {"sampling_ratio", Ints{2}}, {"spatial_scale", Floats{0.5F}}},
            {{4, 2, 5, 6}, {3, 4}, {3}}},
        {"ScatterElements", {{"reduction", std::string{"mean"}}, {"axis", Ints{1}}}, {{2, 5, 3}, {2, 4, 3}, {2, 4, 3}}},
    };
    return all;
}

nvinfer1::PluginField fieldOf(SampleField const& field)
{
    using Type = nvinfer1::PluginFieldType;
    auto const count = [](auto const& values) { return static_cast<int32_t>(values.size()); };
    if (auto const* const ints = std::get_if<Ints>(&field.values))
        return {field.name, ints->data(), Type::kINT32, count(*ints)};
    if (auto const* const floats = std::get_if<Floats>(&field.values))
        return {field.name, floats->data(), Type::kFLOAT32, count(*floats)};
    auto const& text = std::get<std::string>(field.values);
    return {field.name, text.data(), Type::kCHAR, count(text)};
}
} // namespace

std::vector<nvinfer1::PluginField> StockSample::pluginFields() const
{
    std::vector<nvinfer1::PluginField> all;
    for (SampleField const& field : fields)
        all.push_back(fieldOf(field));
    return all;
}

StockSample const* sampleOf(plugins::builtin::StockPlugin const& plugin)
{
    auto const found = std::ranges::find_if(samples(), [&](StockSample const& sample) {
        return std::string_view{sample.name} == plugin.name
            && (sample.versions.empty() || sample.versions.find(plugin.version) != std::string_view::npos);
    });
    return found == samples().end() ? nullptr : &*found;
}

} // namespace tenon::test
