// RotaryEmbedding: pairs of elements of each head turned by the angle of their position.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: x [batch, heads, positions, columns]; cosines and sines, [batch, positions, pairs], where a batch of 1 is
//! all samples', or, where input 3 gives the position of each element of the sequence ([batch, positions], integers),
//! [count, pairs]. Pairs: half of the columns that are turned.
struct RotaryEmbedding
{
    static constexpr std::string_view kName{"RotaryEmbedding"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kROTARY_EMBEDDING, .maxInputs = 4};
    bool interleaved{false};       //!< Pairs are neighbours; else one of each half.
    int32_t rotaryEmbeddingDim{0}; //!< Columns that are turned; 0: all.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Interleaved", &RotaryEmbedding::interleaved),
            field(2, "RotaryEmbeddingDim", &RotaryEmbedding::rotaryEmbeddingDim)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(RotaryEmbedding);
