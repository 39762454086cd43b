// Slice: elements from a start with a stride per axis; beyond the input by the rule of the mode.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, start, size, stride (1-D integers), fill value (0-D, kFILL only), axes (1-D constant): all but x
//! optional, each goes before its field. Without axes, start, size and stride have one entry per axis of x.
struct Slice
{
    static constexpr std::string_view kName{"Slice"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSLICE, .maxInputs = 6, .shapeInputs = 0b101110};
    nvinfer1::Dims start{};
    nvinfer1::Dims size{};
    nvinfer1::Dims stride{}; //!< Empty: all 1.
    nvinfer1::SampleMode mode{nvinfer1::SampleMode::kSTRICT_BOUNDS};
    nvinfer1::Dims axes{}; //!< Empty: all axes.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Start", &Slice::start).orInput(1), field(2, "Size", &Slice::size).orInput(2),
            field(3, "Stride", &Slice::stride).orInput(3), field(4, "Mode", &Slice::mode),
            field(5, "Axes", &Slice::axes).orInput(5)};
    }

    //! Start, size and stride with one entry per axis of x, axes applied.
    struct Cut
    {
        Shape start;
        Shape size;
        Shape stride;
    };
    Result<Cut> cut(Inputs const& in) const;
    //! Position that is read for output position `at` on an axis; −1: the fill value.
    int64_t sampled(int64_t start, int64_t stride, int64_t at, int64_t extent) const;

    WithBatch withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Slice);
