// ShapeLayer (kind "Shape"): the extents of its input as a 1-D int64 tensor.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct ShapeLayer
{
    static constexpr std::string_view kName{"Shape"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSHAPE, .reads = InputReads::kExtents};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(ShapeLayer);
