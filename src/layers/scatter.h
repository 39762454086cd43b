// Scatter: a copy of the data with updates written at positions that indices name.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: data, indices, updates. kELEMENT: indices and updates have one shape, an index is a position along `axis`.
//! kND: the last axis of indices names a position of data's first axes.
struct Scatter
{
    static constexpr std::string_view kName{"Scatter"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSCATTER, .maxInputs = 3};
    nvinfer1::ScatterMode mode{nvinfer1::ScatterMode::kELEMENT};
    int32_t axis{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Mode", &Scatter::mode), field(2, "Axis", &Scatter::axis)};
    }

    Result<WithBatch> withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Scatter);
