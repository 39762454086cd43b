// Quantize: real numbers divided by scales and rounded to a narrow type.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/quantization.h"

namespace tenon
{

//! Inputs: x, scale (above 0), zero point (optional: zeros). Rounds half to even, clamps to the range of the type.
struct Quantize
{
    static constexpr std::string_view kName{"Quantize"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kQUANTIZE, .maxInputs = 3};
    int32_t axis{-1};
    DType toType{DType::kINT8};
    nvinfer1::Dims blockShape{-1, {}};
    int32_t zeroPoint{0}; //!< Of int8 numbers; beside the API's input for it, which knows 0 alone.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Axis", &Quantize::axis), field(2, "ToType", &Quantize::toType),
            field(3, "BlockShape", &Quantize::blockShape), field(4, "zeroPoint", &Quantize::zeroPoint)};
    }
    ScaleUse use() const noexcept
    {
        return {axis, blockShape};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    //! None unless there is one scale, kOneScale.
    std::optional<Expr> body(std::vector<Expr> const& x) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Quantize);
