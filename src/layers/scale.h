// Scale: (x · scale + shift) ^ power, uniform, per channel or per element.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, shift, scale, power: the last three optional, each of x's rank, broadcast to x. Whoever makes the layer
//! from weights shapes them by the mode: all 1; [1…, channels, 1…] at channelAxis; [1, …] with x's other extents.
struct Scale
{
    static constexpr std::string_view kName{"Scale"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSCALE};
    nvinfer1::ScaleMode mode{nvinfer1::ScaleMode::kUNIFORM};
    int32_t channelAxis{1};
    bool hasShift{false}; //!< Input 1 is present; so that the body, which sees no types, knows.
    bool hasScale{false};
    bool hasPower{false};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Mode", &Scale::mode), field(2, "ChannelAxis", &Scale::channelAxis),
            field(3, "hasShift", &Scale::hasShift), field(4, "hasScale", &Scale::hasScale),
            field(5, "hasPower", &Scale::hasPower)};
    }

    bool lacksBatch(Inputs const& in) const;
    WithBatch withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    Expr body(std::vector<Expr> const& x) const;
};

} // namespace tenon

TENON_LAYER(Scale);
