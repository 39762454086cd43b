// DebugTensor: hands its operand to whoever debugs the run; a tensor that one of these reads is made whatever is fused.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct DebugTensor
{
    static constexpr std::string_view kName{"DebugTensor"};
    static constexpr bool kHasSideEffects{true};
    std::string tensor; //!< The user's name, whatever becomes of the value in the graph.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Tensor", &DebugTensor::tensor)};
    }

    //! No outputs.
    Result<std::vector<TensorType>> infer(Inputs const& in) const
    {
        if (in.size() != 1 || !in.has(0))
            return badConfig("layer '{}' ({}): takes one tensor", in.layerName(), kName);
        return std::vector<TensorType>{};
    }
    Result<std::vector<HostTensor>> reference(HostTensors const&) const
    {
        return std::vector<HostTensor>{};
    }
};

} // namespace tenon

TENON_LAYER(DebugTensor);
