// LRN: each element divided by a power of the squares around it across channels (axis 1).
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct LRN
{
    static constexpr std::string_view kName{"LRN"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kLRN};
    static constexpr bool kKeepsFrontAxes{true};
    int64_t windowSize{1}; //!< Odd.
    float alpha{0.0F};
    float beta{0.0F};
    float k{1.0F};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "WindowSize", &LRN::windowSize), field(2, "Alpha", &LRN::alpha),
            field(3, "Beta", &LRN::beta), field(4, "K", &LRN::k)};
    }

    Result<Done> verify() const;
    bool frontIsBatch() const noexcept
    {
        return true;
    }
    bool lacksBatch(Inputs const& in) const;
    Result<TensorType> infer(Inputs const& in) const;
    //! x / (k + alpha / windowSize · Σ x²)^beta, sums over the window centred at the channel.
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(LRN);
