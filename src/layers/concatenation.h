// Concatenation: inputs laid one after the other along an axis.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

struct Concatenation
{
    static constexpr std::string_view kName{"Concatenation"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kCONCATENATION};
    int32_t axis{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Axis", &Concatenation::axis)};
    }

    WithBatch withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Concatenation);
