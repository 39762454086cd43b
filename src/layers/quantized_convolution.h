// QuantizedConvolution: a convolution of int8 or fp8 numbers, with what follows up to the next rounding.
#pragma once

#include "layers/convolution.h"
#include "layers/layer_table.h"
#include "layers/quantized_product.h"

namespace tenon
{

//! Inputs: see QuantizedOperands. The result is round(product(inputScale · (x − inputZero), scale · kernel, bias, …) /
//! outputScale) + outputZero in the type of x; without an output scale it is the product, in `realType`.
struct QuantizedConvolution : QuantizedOperands
{
    static constexpr std::string_view kName{"QuantizedConvolution"};
    Convolution product;
    float inputScale{1.0F};
    float outputScale{0.0F};
    DType realType{DType::kFLOAT};
    int32_t inputZero{0};
    int32_t outputZero{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "product", &QuantizedConvolution::product),
            field(2, "inputScale", &QuantizedConvolution::inputScale),
            field(3, "outputScale", &QuantizedConvolution::outputScale),
            field(4, "realType", &QuantizedConvolution::realType),
            field(5, "inputZero", &QuantizedConvolution::inputZero),
            field(6, "outputZero", &QuantizedConvolution::outputZero)};
    }

    //! Of the elements of a kernel with these extents.
    KernelChannels channels(std::vector<int64_t> const& kernel) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(QuantizedConvolution);
