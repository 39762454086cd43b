// NormalizedProduct: a layer norm of rows and the product behind it with constant weights; made by passes.
#pragma once

#include "layers/matrix_multiply.h"
#include "layers/normalization.h"

namespace tenon
{

//! Inputs: x, the matrix, the product's bias (optional), and the sums of the matrix's columns in float32: with them
//! kernels multiply rows as they are, and take off what the mean adds. The result is product(n, matrix, bias), where n
//! are x's rows with mean 0 and variance 1.
struct NormalizedProduct
{
    static constexpr std::string_view kName{"NormalizedProduct"};
    static constexpr int32_t kSums{3};
    MatrixMultiply product;
    float epsilon{1e-5F};

    static constexpr auto fields()
    {
        return std::tuple{
            field(1, "product", &NormalizedProduct::product), field(2, "epsilon", &NormalizedProduct::epsilon)};
    }

    //! Of tensors of this rank.
    Normalization norm(int32_t rank) const noexcept
    {
        return {.epsilon = epsilon, .axes = 1U << static_cast<uint32_t>(rank - 1)};
    }
    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(NormalizedProduct);
