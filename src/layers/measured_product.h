// MeasuredProduct: a product between layer norms of rows, which are made of numbers that products leave behind; made by
// passes.
#pragma once

#include "layers/matrix_multiply.h"
#include "layers/normalization.h"

namespace tenon
{

//! What of a MeasuredProduct gets mean 0 and variance 1 first.
enum class NormalizedOperand : uint8_t
{
    kNone,
    kRows,
    kExtra, //!< What the epilogue reads, such as a residual; has scale and shift, too, and is rounded.
};

//! Inputs as of MatrixMultiply, of whose epilogue at most one reads a tensor; then the moments of the normalized
//! operand, as another MeasuredProduct gives them. Of rows: the sums of the matrix's columns in float32. Of the tensor:
//! scale and shift (optional) of its elements. Outputs: the result and, where it is measured, its moments
//! [columns / 32, ..., 2]: of each 32 columns of a row the mean, and the sum of the squares of what is off it. Rows lie
//! behind each other, so that kernels, which have some rows of few groups each, write whole sectors of memory.
struct MeasuredProduct
{
    static constexpr std::string_view kName{"MeasuredProduct"};
    static constexpr int64_t kGroup{32}; //!< Columns.
    static constexpr int64_t kGrain{
        2 * kGroup}; //!< Of rows that are measured or normalized: two threads read one's groups.
    static constexpr int32_t kExtra{MatrixMultiply::kFirstExtra};
    static constexpr int32_t kMoments{4};
    static constexpr int32_t kSums{5};  //!< Of rows.
    static constexpr int32_t kScale{5}; //!< Of the tensor.
    static constexpr int32_t kShift{6};
    MatrixMultiply product;
    NormalizedOperand normalized{NormalizedOperand::kNone};
    float epsilon{1e-5F};
    bool measures{false};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "product", &MeasuredProduct::product),
            field(2, "normalized", &MeasuredProduct::normalized), field(3, "epsilon", &MeasuredProduct::epsilon),
            field(4, "measures", &MeasuredProduct::measures)};
    }

    //! Of the normalized operand, whose rank this is.
    Normalization norm(int32_t rank) const noexcept
    {
        return {.epsilon = epsilon, .axes = 1U << static_cast<uint32_t>(rank - 1)};
    }
    size_t outputs() const noexcept
    {
        return measures ? 2 : 1;
    }
    Result<Done> verify() const;
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(MeasuredProduct);
