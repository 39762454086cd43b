// ProductShape: what a product of matrices looks like in memory, and our own kernel for it, which stands behind those
// of libraries.
#pragma once

#include "backends/cuda/layer_kernel.h"
#include "layers/matrix_multiply.h"

namespace tenon::cuda
{

//! Row-major matrices; strides in elements.
struct ProductShape
{
    int64_t rows{1};
    int64_t columns{1};
    int64_t depth{1};
    bool isTurnedA{false}; //!< Stored as [depth, rows].
    bool isTurnedB{false}; //!< Stored as [columns, depth].
    bool hasBias{false};
    std::vector<int64_t> extents; //!< Of the axes in front of the matrices.
    std::vector<int64_t> aBatch;  //!< 0: the same matrices along this axis.
    std::vector<int64_t> bBatch;
};

//! Of operands that fit the layer; an error where types or layouts are none that the kernels take.
Result<ProductShape> productShape(
    MatrixMultiply const& layer, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs);

//! By tiles in shared memory, without a library and without the epilogue.
Result<std::shared_ptr<Prepared const>> tiledProduct(
    CudaDevice const& device, DType type, ProductShape const& shape, float alpha);

} // namespace tenon::cuda
