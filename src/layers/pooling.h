// Pooling: maximum, average, or a blend of both over windows of the spatial axes.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/window.h"

namespace tenon
{

struct Pooling
{
    static constexpr std::string_view kName{"Pooling"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kPOOLING};
    static constexpr bool kKeepsFrontAxes{true};
    nvinfer1::PoolingType poolingType{nvinfer1::PoolingType::kMAX};
    nvinfer1::Dims windowSize{};
    nvinfer1::Dims stride{}; //!< Empty: the window's size.
    nvinfer1::Dims prePadding{};
    nvinfer1::Dims postPadding{};
    nvinfer1::PaddingMode paddingMode{nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN};
    float blendFactor{0.0F}; //!< (1 − blend) · maximum + blend · average.
    bool averageCountExcludesPadding{true};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "PoolingType", &Pooling::poolingType),
            field(2, "WindowSizeNd", &Pooling::windowSize), field(3, "StrideNd", &Pooling::stride),
            field(4, "PrePadding", &Pooling::prePadding), field(5, "PostPadding", &Pooling::postPadding),
            field(6, "PaddingMode", &Pooling::paddingMode), field(7, "BlendFactor", &Pooling::blendFactor),
            field(8, "AverageCountExcludesPadding", &Pooling::averageCountExcludesPadding)};
    }

    Result<Done> verify() const;
    Window window() const;
    bool frontIsBatch() const noexcept
    {
        return true;
    }
    bool lacksBatch(Inputs const& in) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Pooling);
