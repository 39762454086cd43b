// QuantizedMatrixMultiply: matrix products of int8 or fp8 numbers, with what follows up to the next rounding.
#pragma once

#include "layers/layer_table.h"
#include "layers/matrix_multiply.h"
#include "layers/quantized_product.h"

namespace tenon
{

//! Inputs: see QuantizedOperands. The result is round(product(inputScale · (x − inputZero), scale · kernel, bias, …) /
//! outputScale) + outputZero in the type of x; without an output scale it is the product, in `realType`.
struct QuantizedMatrixMultiply : QuantizedOperands
{
    static constexpr std::string_view kName{"QuantizedMatrixMultiply"};
    MatrixMultiply product;
    float inputScale{1.0F};
    float outputScale{0.0F};
    DType realType{DType::kFLOAT};
    int32_t inputZero{0};
    int32_t outputZero{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "product", &QuantizedMatrixMultiply::product),
            field(2, "inputScale", &QuantizedMatrixMultiply::inputScale),
            field(3, "outputScale", &QuantizedMatrixMultiply::outputScale),
            field(4, "realType", &QuantizedMatrixMultiply::realType),
            field(5, "inputZero", &QuantizedMatrixMultiply::inputZero),
            field(6, "outputZero", &QuantizedMatrixMultiply::outputZero)};
    }

    //! Of the elements of a kernel with these extents.
    KernelChannels channels(std::vector<int64_t> const& kernel) const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(QuantizedMatrixMultiply);
