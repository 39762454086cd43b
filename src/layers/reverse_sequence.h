// ReverseSequence: the first lengths[b] elements along the sequence axis reversed, per batch.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, lengths (1-D integers, one per batch).
struct ReverseSequence
{
    static constexpr std::string_view kName{"ReverseSequence"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kREVERSE_SEQUENCE, .maxInputs = 2};
    int32_t batchAxis{1};
    int32_t sequenceAxis{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "BatchAxis", &ReverseSequence::batchAxis),
            field(2, "SequenceAxis", &ReverseSequence::sequenceAxis)};
    }

    WithBatch withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(ReverseSequence);
