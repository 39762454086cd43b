// FullyConnected: a sample's last three axes, as one vector, times a matrix; a layer of 8.x.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x [N, …, C, H, W], kernel [outputs, C · H · W], bias [outputs] (optional). The output is [N, …, outputs,
//! 1, 1].
struct FullyConnected
{
    static constexpr std::string_view kName{"FullyConnected"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kFULLY_CONNECTED};
    static constexpr int32_t kVectorAxes{3}; //!< Of x: what is multiplied as one vector.
    int64_t nbOutputChannels{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "NbOutputChannels", &FullyConnected::nbOutputChannels)};
    }

    WithBatch withBatch(SampleInputs const& samples) const;
    bool frontIsBatch() const noexcept
    {
        return true;
    }
    bool lacksBatch(Inputs const& in) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(FullyConnected);
