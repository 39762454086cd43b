// SoftMax: exponentials along one axis, scaled so that each lane sums to one.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/with_batch.h"

#include <bit>

namespace tenon
{

struct SoftMax
{
    static constexpr std::string_view kName{"SoftMax"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSOFTMAX};
    uint32_t axes{1}; //!< One bit set, as in the public property of the same name.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Axes", &SoftMax::axes)};
    }
    int32_t axis() const noexcept
    {
        return std::countr_zero(axes);
    }

    WithBatch withBatch(SampleInputs const& samples) const;
    Result<TensorType> infer(Inputs const& in) const;
    Expr body(Expr const& x) const
    {
        Expr const e = exp(x - maxOver(x, axes)); // Subtracting the peak keeps exp() finite.
        return e / sumOver(e, axes);
    }
};

} // namespace tenon

TENON_LAYER(SoftMax);
