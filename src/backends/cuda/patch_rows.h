// PatchRows: windows that lie side by side, as at the entry of vision transformers, as rows of a matrix, and the
// product of these with filters, for the layers that come to that.
#pragma once

#include "backends/cuda/cublas_product.h"

#include <vector>

namespace tenon::cuda
{

//! Elements of a window's row that are copied at a time.
inline constexpr int64_t kPatchPiece{8};

//! Windows of an image, and what stands in front of their rows.
struct PatchWindows
{
    int64_t height; //!< Of a window, as is the width.
    int64_t width;
    int64_t down; //!< How many there are.
    int64_t across;
    int64_t leading{0}; //!< Rows of zeros.
};

//! Row-major images as rows of windows in a type of 16 bits, each as a map's filter lies; null where windows are no
//! whole pieces, or there are more of them than the kernel counts.
Result<std::shared_ptr<Prepared const>> patchRows(
    CudaDevice const& device, PatchWindows const& windows, TensorArg const& x, DType type);

//! How the operands of a product of rows lie, and which of them no kernel of a run writes.
struct PatchTerms
{
    bool isFilterConstant{false};
    bool areOthersConstant{false};
    int64_t repeatedRows{0}; //!< Of the epilogue's tensor, which repeats; 0: it lies as the result does.
    bool isWrapped{false};   //!< Behind its last rows stand its first ones again.
};

//! A product of rows, by our tiles or by the library, as the tactic says; by the library where extents, weights or the
//! GPU are others than the tactic was made for.
Result<std::shared_ptr<Prepared const>> patchProduct(CudaDevice const& device, StepProduct const& product,
    PatchTerms const& terms, std::span<TensorArg const> operands, TensorArg const& out, int32_t tactic);

//! Rows in scratch memory, and the product of them: its operand i is input inputs[i] of the step, 0 the rows; negative:
//! it is not there.
std::shared_ptr<Prepared const> patchStep(std::shared_ptr<Prepared const> rows, std::shared_ptr<Prepared const> product,
    size_t rowBytes, std::vector<int32_t> inputs);

//! An offer for each tactic that is worth a trial, with row-major tensors but for the result. `product`: at the typical
//! shape.
std::vector<Offer> patchOffers(Problem const& problem, ProductShape const& product, Layout result);

} // namespace tenon::cuda
