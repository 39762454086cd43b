// Squeeze: axes of extent 1 taken out.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, axes (1-D or 0-D integers, known at build time; negative ones count from the end).
struct Squeeze
{
    static constexpr std::string_view kName{"Squeeze"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSQUEEZE, .maxInputs = 2, .shapeInputs = 0b10};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<WithBatch> withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Squeeze);
