// Padding: zeros around the last two axes; negative amounts crop.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Padding
{
    static constexpr std::string_view kName{"Padding"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kPADDING};
    static constexpr bool kKeepsFrontAxes{true};
    nvinfer1::Dims prePadding{};
    nvinfer1::Dims postPadding{};

    static constexpr auto fields()
    {
        return std::tuple{
            field(1, "PrePaddingNd", &Padding::prePadding), field(2, "PostPaddingNd", &Padding::postPadding)};
    }

    bool lacksBatch(Inputs const& in) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Padding);
