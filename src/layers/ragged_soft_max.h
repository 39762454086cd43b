// RaggedSoftMax: softmax of sequences of different lengths, padded behind their ends.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: x [z, s] or [n, z, s]; bounds, of integers, [z, 1] or [n, z, 1]: how many elements of each row along the
//! last axis are the sequence. What is behind them becomes 0. A length outside 0 … s is the nearest in it.
struct RaggedSoftMax
{
    static constexpr std::string_view kName{"RaggedSoftMax"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kRAGGED_SOFTMAX, .maxInputs = 2};
    static constexpr bool kKeepsFrontAxes{true};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(RaggedSoftMax);
