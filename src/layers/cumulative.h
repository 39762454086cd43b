// Cumulative: running sums along an axis.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: x, axis (a 0-D integer constant).
struct Cumulative
{
    static constexpr std::string_view kName{"Cumulative"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kCUMULATIVE, .maxInputs = 2, .shapeInputs = 0b10};
    nvinfer1::CumulativeOperation operation{nvinfer1::CumulativeOperation::kSUM};
    bool exclusive{false}; //!< Each sum leaves its own element out.
    bool reverse{false};   //!< Sums run from the end.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Operation", &Cumulative::operation), field(2, "Exclusive", &Cumulative::exclusive),
            field(3, "Reverse", &Cumulative::reverse)};
    }

    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Cumulative);
