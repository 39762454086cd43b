// OneHot: `on` where the position along a new axis equals the index, `off` elsewhere.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: indices (int32 or int64), values [off, on], depth (0-D constant). The output has values' type.
struct OneHot
{
    static constexpr std::string_view kName{"OneHot"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kONE_HOT, .maxInputs = 3, .shapeInputs = 0b100};
    int32_t axis{-1}; //!< Of the output; negative ones count from behind the last axis.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Axis", &OneHot::axis)};
    }

    WithBatch withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(OneHot);
