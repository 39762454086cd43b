// QuantizedNormalization: a norm whose result nothing but a Quantize layer reads; made by passes.
#pragma once

#include "layers/normalization.h"

namespace tenon
{

//! Inputs: the norm's. The result is round(norm / scale) in int8 or fp8.
struct QuantizedNormalization
{
    static constexpr std::string_view kName{"QuantizedNormalization"};
    Normalization norm;
    float scale{1.0F};
    DType toType{DType::kINT8};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "norm", &QuantizedNormalization::norm),
            field(2, "scale", &QuantizedNormalization::scale), field(3, "toType", &QuantizedNormalization::toType)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    //! None for groups, which are no reduction over whole axes.
    std::optional<Expr> body(std::vector<Expr> const& x) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(QuantizedNormalization);
