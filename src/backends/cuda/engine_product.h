// EngineProduct: what products have in common whose operands the copy engine (TMA) fetches: matrices described for it,
// the epilogue that their kernels take.
#pragma once

#include "backends/cuda/cublas_product.h"

namespace tenon::cuda
{

inline constexpr int32_t kEngineMajor{9};        //!< Of the compute capability, Hopper's.
inline constexpr int64_t kEngineGrain{8};        //!< Elements of the 16 bytes that rows in memory are multiples of.
inline constexpr uintptr_t kEngineAlignment{16}; //!< Of addresses.

//! What is copied of a row at a time: pieces of 16 bytes that are exchanged within as many bytes.
struct EngineRow
{
    int elementBytes{2};
    int bytes{128}; //!< Or 64.

    constexpr int elements() const noexcept
    {
        return bytes / elementBytes;
    }
    //! Elements of the 16 bytes that rows in memory are multiples of.
    constexpr int64_t grain() const noexcept
    {
        return static_cast<int64_t>(kEngineAlignment) / elementBytes;
    }
    TensorMapSwizzle swizzle() const noexcept
    {
        return bytes == 64 ? kTensorMapSwizzle64 : kTensorMapSwizzle128;
    }
};

//! A row-major matrix, of which so many rows by a row's bytes are copied at a time.
struct EngineMatrix
{
    int64_t rows;
    int64_t columns;
    int boxRows;
    EngineRow row{};
};

//! Describes a matrix for the engine: a parameter of the kernel.
Result<Done> describeMatrix(CudaCall const& at, unsigned long long (&to)[16], void const* address, TensorMapType type,
    EngineMatrix const& matrix);

inline bool isOnGrain(void const* address, uintptr_t grain) noexcept
{
    return reinterpret_cast<uintptr_t>(address) % grain == 0;
}
inline int64_t blocksOf(int64_t count, int64_t block) noexcept
{
    return (count + block - 1) / block;
}

//! The first steps of an epilogue with at most one tensor, which lies as the result does.
Epilogue stepsOfKernel(Epilogue const& whole, std::span<TensorArg const> inputs, TensorArg const& out);

//! Whether matrices are such as the engine fetches and wgmma multiplies.
bool isForEngine(CudaModel const& model, LtShape const& shape, DType type);
} // namespace tenon::cuda
