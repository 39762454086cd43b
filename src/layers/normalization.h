// Normalization: mean 0 and variance 1 over some axes, then a scale and a bias: layer, instance and group norm.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x, scale, bias (optional), each of x's rank, broadcast. With nbGroups > 1, axis 1 is cut into groups and the
//! mean is over one group and `axes`; scale and bias are [1, groups, 1…], or with v2 [1, channels, 1…].
struct Normalization
{
    static constexpr std::string_view kName{"Normalization"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kNORMALIZATION, .maxInputs = 3};
    float epsilon{1e-5F};
    uint32_t axes{0}; //!< Bit i: axis i is reduced.
    int64_t nbGroups{1};
    DType computePrecision{DType::kFLOAT};
    bool v2{false};
    bool rms{false}; //!< Root mean square norm: no mean is subtracted. Made by passes.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Epsilon", &Normalization::epsilon), field(2, "Axes", &Normalization::axes),
            field(3, "NbGroups", &Normalization::nbGroups),
            field(4, "ComputePrecision", &Normalization::computePrecision), field(5, "V2", &Normalization::v2),
            field(6, "rms", &Normalization::rms)};
    }

    Result<Done> verify() const;
    WithBatch withBatch(SampleInputs const& samples) const;
    //! Groups are of axis 1.
    bool frontIsBatch() const noexcept
    {
        return nbGroups > 1;
    }
    Result<TensorType> infer(Inputs const& in) const;
    //! None for groups, which are no reduction over whole axes.
    std::optional<Expr> body(std::vector<Expr> const& x) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Normalization);
