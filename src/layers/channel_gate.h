// ChannelGate: a number per image and channel from the means of its channels, by two products ("squeeze and excite");
// made by passes.
#pragma once

#include "ir/layer.h"
#include "layers/epilogue.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: x [n, c, spatial…], kernels [s, c, 1…] and [m, s, 1…], biases [s] and [m] (optional, after both). The result
//! is [n, m, 1…]: second(kernel2 · first(kernel1 · mean(x) + bias1) + bias2). Nothing between is rounded.
struct ChannelGate
{
    static constexpr std::string_view kName{"ChannelGate"};
    static constexpr int32_t kFirstKernel{1};
    static constexpr int32_t kSecondKernel{2};
    static constexpr int32_t kFirstBias{3};
    static constexpr int32_t kSecondBias{4};
    Epilogue first; //!< Without operands, as is the second.
    Epilogue second;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "first", &ChannelGate::first), field(2, "second", &ChannelGate::second)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(ChannelGate);
