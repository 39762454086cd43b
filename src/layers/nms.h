// NMS: of boxes that overlap much, those with the best scores.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

#include <array>
#include <span>

namespace tenon
{

//! Inputs: boxes [n, b, 4] or [n, b, c, 4] (per class), scores [n, b, c], most boxes per class (0-D kINT32), largest
//! overlap (0-D, optional: 0), score that a box must exceed (0-D, optional: 0). Outputs: the selected boxes [k, 3] as
//! (image, class, box), by image and then by falling score; and k (0-D kINT32). Boxes of equal score keep their order.
struct NMS
{
    static constexpr std::string_view kName{"NMS"};
    static constexpr PublicFacts kPublic{
        .type = nvinfer1::LayerType::kNMS, .maxInputs = 5, .outputs = 2, .reads = InputReads::kData};
    static constexpr int32_t kDefaultLimit{5000};
    static constexpr size_t kCorners{4};
    nvinfer1::BoundingBoxFormat boundingBoxFormat{nvinfer1::BoundingBoxFormat::kCORNER_PAIRS};
    int32_t topKBoxLimit{kDefaultLimit}; //!< So many of an image's best pairs of box and class are looked at.
    DType indicesType{DType::kINT32};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "BoundingBoxFormat", &NMS::boundingBoxFormat),
            field(2, "TopKBoxLimit", &NMS::topKBoxLimit), field(3, "IndicesType", &NMS::indicesType)};
    }

    //! A box as its lower and its upper corner.
    struct Box
    {
        double low[2];
        double high[2];

        double area() const noexcept
        {
            return (high[0] - low[0]) * (high[1] - low[1]);
        }
    };
    Box boxOf(std::array<double, kCorners> const& numbers) const noexcept;
    //! Whether intersection over union is above the threshold.
    static bool overlap(Box const& a, Box const& b, double threshold) noexcept;

    //! One pair of box and class whose score is high enough.
    struct Scored
    {
        double score;
        int32_t classIndex;
        int32_t box;
    };
    //! Puts those that are looked at in front, in order; how many they are.
    int64_t sortBest(std::span<Scored> candidates) const;

    Result<Done> verify() const;
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(NMS);
