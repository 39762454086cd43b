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
            {{2, 3}, {2, 3}, {2, 3}}, "16"},
        {"CustomEmbLayerNormPluginDynamic",
            {{"output_fp16", Ints{0}}, {"bert_embeddings_layernorm_beta", Floats{1, 2}},
                {"bert_embeddings_layernorm_gamma", Floats{2, 3}},
                {"bert_embeddings_word_embeddings", Floats{1, 2, 3, 4, 5, 6, 7, 8}},
                {"bert_embeddings_token_type_embeddings", Floats{1, -1, 2, -2, 3, -3, 4, -4}},
                {"bert_embeddings_position_embeddings", Floats{1, 2, 3, 4, 5, 6}}},
            {{3}, {3}, {2}, {2}}, "2345"},
        {"CustomFCPluginDynamic", {{"out_dims", Ints{2}}, {"type_id", Ints{0}}, {"W", Floats{1, 2, 3, 4, 5, 6}}},
            {{2, 3, 3, 1, 1}}},
        {"CustomGeluPluginDynamic", {{"type_id", Ints{0}}, {"bias", Floats{1, 2, 3}}}, {{2, 4, 3}}},
        {"CustomQKVToContextPluginDynamic",
            {{"type_id", Ints{0}}, {"hidden_size", Ints{4}}, {"num_heads", Ints{2}}, {"has_mask", Ints{1}},
                {"dq_probs", Floats{0.01F}}},
            {{3, 2, 12, 1, 1}, {2}}, "14"},
        {"CustomQKVToContextPluginDynamic",
            {{"type_id", Ints{0}}, {"hidden_size", Ints{4}}, {"num_heads", Ints{2}}, {"has_mask", Ints{1}},
                {"dq_probs", Floats{0.01F}}, {"var_seqlen", Ints{1}}, {"use_int8_scale_max", Ints{1}}},
            {{3, 12, 1, 1}, {2, 2}, {2}, {2}}, "25"},
        {"CustomQKVToContextPluginDynamic",
            {{"hidden_size", Ints{4}}, {"num_heads", Ints{2}}, {"dq_probs", Floats{0.01F}},
                {"use_int8_scale_max", Ints{0}}},
            {{1, 12, 3, 1}, {2}, {2}}, "36"},
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
            {{3, 2, 4, 1, 1}, {3, 2, 4, 1, 1}}, "15"},
        {"CustomSkipLayerNormPluginDynamic",
            {{"type_id", Ints{0}}, {"beta", Floats{1, 2, 3, 4}}, {"gamma", Floats{2, 3, 4, 5}},
                {"bias", Floats{-1, 0, 1, 2}}},
            {{3, 2, 4}, {3, 2, 4}}, "26"},
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
        {"BatchTilePlugin_TRT", {}, {{2, 3, 1, 2}, {2, 3, 2, 2}}},
        {"DecodeBbox3DPlugin",
            {{"point_cloud_range", Floats{0, -4, -3, 8, 4, 1}}, {"anchors", Floats{4, 2, 1.5F, 0, 4, 2, 1.5F, 1.57F}},
                {"anchor_bottom_height", Floats{-1.75F}}, {"dir_offset", Floats{0.78F}},
                {"dir_limit_offset", Floats{0}}, {"num_dir_bins", Ints{2}}, {"score_thresh", Floats{0.5F}}},
            {{2, 2, 3, 2}, {2, 2, 3, 14}, {2, 2, 3, 4}}},
        {"DetectionLayer_TRT",
            {{"num_classes", Ints{3}}, {"keep_topk", Ints{2}}, {"score_threshold", Floats{0.1F}},
                {"iou_threshold", Floats{0.5F}}},
            {{2, 5, 12, 1, 1}, {2, 5, 3, 1, 1}, {2, 5, 4}}},
        {"EfficientNMS_ONNX_TRT",
            {{"score_threshold", Floats{0.25F}}, {"iou_threshold", Floats{0.5F}},
                {"max_output_boxes_per_class", Ints{2}}, {"center_point_box", Ints{1}}},
            {{2, 7, 4}, {2, 7, 3}}},
        {"EfficientNMS_Explicit_TF_TRT",
            {{"max_output_size_per_class", Ints{2}}, {"max_total_size", Ints{9}}, {"iou_threshold", Floats{0.5F}},
                {"score_threshold", Floats{0.25F}}, {"pad_per_class", Ints{1}}, {"clip_boxes", Ints{1}}},
            {{2, 7, 3, 4}, {2, 7, 3}}},
        {"EfficientNMS_Implicit_TF_TRT",
            {{"max_output_size_per_class", Ints{2}}, {"max_total_size", Ints{9}}, {"iou_threshold", Floats{0.5F}},
                {"score_threshold", Floats{0.25F}}, {"pad_per_class", Ints{0}}, {"clip_boxes", Ints{0}}},
            {{2, 7, 1, 4}, {2, 7, 3}}},
        {"GenerateDetection_TRT",
            {{"num_classes", Ints{3}}, {"keep_topk", Ints{2}}, {"score_threshold", Floats{0.1F}},
                {"iou_threshold", Floats{0.5F}}, {"image_size", Ints{3, 40, 60}}},
            {{2, 5, 12, 1, 1}, {2, 5, 3, 1, 1}, {2, 5, 4}}},
        {"GridAnchor_TRT",
            {{"minSize", Floats{0.2F}}, {"maxSize", Floats{0.9F}}, {"aspectRatios", Floats{1, 2, 0.5F, 3}},
                {"featureMapShapes", Ints{3, 2}}, {"variance", Floats{0.1F, 0.1F, 0.2F, 0.2F}}, {"numLayers", Ints{2}}},
            {}},
        {"GridAnchorRect_TRT",
            {{"minSize", Floats{0.2F}}, {"maxSize", Floats{0.9F}}, {"aspectRatios", Floats{1, 2, 0.5F}},
                {"featureMapShapes", Ints{3, 2, 1, 2}}, {"variance", Floats{0.1F, 0.1F, 0.2F, 0.2F}},
                {"numLayers", Ints{2}}},
            {}},
        {"MultilevelCropAndResize_TRT", {{"pooled_size", Ints{2}}, {"image_size", Ints{3, 40, 60}}},
            {{2, 3, 4}, {2, 2, 8, 6}, {2, 2, 4, 3}, {2, 2, 2, 2}, {2, 2, 1, 1}, {2, 2, 1, 1}}},
        {"MultilevelProposeROI_TRT",
            {{"prenms_topk", Ints{9}}, {"keep_topk", Ints{4}}, {"fg_threshold", Floats{0.1F}},
                {"iou_threshold", Floats{0.5F}}, {"image_size", Ints{3, 40, 40}}},
            {{2, 300, 4, 1}, {2, 300, 1, 1}, {2, 75, 4, 1}, {2, 75, 1, 1}, {2, 12, 4, 1}, {2, 12, 1, 1}, {2, 3, 4, 1},
                {2, 3, 1, 1}, {2, 3, 4, 1}, {2, 3, 1, 1}}},
        {"NMS_TRT",
            {{"shareLocation", Ints{1}}, {"varianceEncodedInTarget", Ints{0}}, {"backgroundLabelId", Ints{0}},
                {"numClasses", Ints{3}}, {"topK", Ints{5}}, {"keepTopK", Ints{4}},
                {"confidenceThreshold", Floats{0.25F}}, {"nmsThreshold", Floats{0.5F}}, {"inputOrder", Ints{0, 2, 1}},
                {"confSigmoid", Ints{1}}, {"isNormalized", Ints{1}}, {"codeType", Ints{3}}, {"scoreBits", Ints{16}},
                {"isBatchAgnostic", Ints{1}}},
            {{2, 16, 1, 1}, {2, 2, 16, 1}, {2, 12, 1, 1}}},
        {"NMSDynamic_TRT",
            {{"shareLocation", Ints{0}}, {"varianceEncodedInTarget", Ints{1}}, {"backgroundLabelId", Ints{-1}},
                {"numClasses", Ints{3}}, {"topK", Ints{5}}, {"keepTopK", Ints{4}},
                {"confidenceThreshold", Floats{0.25F}}, {"nmsThreshold", Floats{0.5F}}, {"inputOrder", Ints{0, 1, 2}},
                {"confSigmoid", Ints{0}}, {"isNormalized", Ints{0}}, {"codeType", Ints{1}}, {"scoreBits", Ints{16}},
                {"isBatchAgnostic", Ints{0}}},
            {{2, 48, 1, 1}, {2, 12, 1, 1}, {2, 2, 16, 1}}},
        {"PriorBox_TRT",
            {{"minSize", Floats{10, 20}}, {"maxSize", Floats{20, 40}}, {"aspectRatios", Floats{2, 3}},
                {"flip", Ints{1}}, {"clip", Ints{1}}, {"variance", Floats{0.1F, 0.1F, 0.2F, 0.2F}}, {"imgH", Ints{0}},
                {"imgW", Ints{0}}, {"stepH", Floats{0}}, {"stepW", Floats{0}}, {"offset", Floats{0.5F}}},
            {{2, 3, 3, 2}, {2, 3, 30, 40}}},
        {"Proposal",
            {{"input_height", Ints{32}}, {"input_width", Ints{48}}, {"rpn_stride", Ints{16}},
                {"roi_min_size", Floats{1}}, {"nms_iou_threshold", Floats{0.5F}}, {"pre_nms_top_n", Ints{9}},
                {"post_nms_top_n", Ints{4}}, {"anchor_sizes", Floats{8, 16}}, {"anchor_ratios", Floats{1, 0.5F}}},
            {{2, 4, 2, 3}, {2, 16, 2, 3}}},
        {"ProposalDynamic",
            {{"input_height", Ints{32}}, {"input_width", Ints{48}}, {"rpn_stride", Ints{16}},
                {"roi_min_size", Floats{1}}, {"nms_iou_threshold", Floats{0.5F}}, {"pre_nms_top_n", Ints{9}},
                {"post_nms_top_n", Ints{4}}, {"anchor_sizes", Floats{8, 16}}, {"anchor_ratios", Floats{1, 0.5F}}},
            {{2, 4, 2, 3}, {2, 16, 2, 3}}},
        {"ProposalLayer_TRT",
            {{"prenms_topk", Ints{9}}, {"keep_topk", Ints{4}}, {"iou_threshold", Floats{0.5F}},
                {"image_size", Ints{3, 16, 16}}},
            {{2, 69, 2, 1}, {2, 69, 4, 1}}},
        {"PyramidROIAlign_TRT",
            {{"fpn_scale", Ints{16}}, {"pooled_size", Ints{2}}, {"image_size", Ints{32, 24}},
                {"roi_coords_absolute", Ints{0}}, {"roi_coords_swap", Ints{1}}, {"roi_coords_plusone", Ints{0}},
                {"roi_coords_transform", Ints{2}}, {"sampling_ratio", Ints{0}}, {"legacy", Ints{0}}},
            {{2, 3, 4}, {2, 2, 8, 6}, {2, 2, 4, 3}, {2, 2, 2, 2}, {2, 2, 1, 1}}},
        {"RPROI_TRT",
            {{"poolingH", Ints{2}}, {"poolingW", Ints{3}}, {"featureStride", Ints{16}}, {"preNmsTop", Ints{9}},
                {"nmsMaxOut", Ints{4}}, {"anchorsRatioCount", Ints{2}}, {"anchorsScaleCount", Ints{1}},
                {"iouThreshold", Floats{0.5F}}, {"minBoxSize", Floats{1}}, {"spatialScale", Floats{0.0625F}},
                {"anchorsRatios", Floats{0.5F, 1}}, {"anchorsScales", Floats{2}}},
            {{2, 4, 3, 4}, {2, 8, 3, 4}, {2, 2, 3, 4}, {2, 1, 1, 3}}},
        {"Region_TRT", {{"num", Ints{2}}, {"coords", Ints{4}}, {"classes", Ints{3}}}, {{2, 16, 3, 2}}},
        {"SpecialSlice_TRT", {}, {{2, 3, 6}}},
        {"Split", {{"axis", Ints{1}}, {"output_lengths", Ints{1, 2}}}, {{2, 3, 4}}},
        {"VoxelGeneratorPlugin",
            {{"max_num_points_per_voxel", Ints{3}}, {"max_voxels", Ints{4}},
                {"point_cloud_range", Floats{-1, -1, -1, 1, 1, 1}}, {"voxel_feature_num", Ints{10}},
                {"voxel_size", Floats{0.5F, 0.5F, 2}}},
            {{2, 7, 4}, {2}}},
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
