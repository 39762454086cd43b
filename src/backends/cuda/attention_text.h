// AttentionText: the kernels of Attention as text, and the parameters that they share.
#pragma once

#include "backends/cuda/kernel_text.h"

namespace tenon::cuda
{

//! Strides in elements by batch, head, row and column; of the mask by batch, head, row of q and row of k. The mask is
//! even where pairs of keys lie side by side, at addresses of pairs.
TENON_DEVICE_STRUCT(AttentionParams, unsigned const* stop; void const* q; void const* k; void const* v;
                    void const* mask; void* out; long long batches; long long heads; long long share; long long rows;
                    long long keys; int depth; int width; int tiles; int rowTiles; int keyTiles; int isWide;
                    int isMaskEven; int maskedRowsAreZero; long long reach; float scale; float unit;
                    long long qStrides[4]; long long kStrides[4]; long long vStrides[4]; long long outStrides[4];
                    long long maskStrides[4];);

//! Columns that a warp of the plain kernel has of each row, 32 apart.
inline constexpr int kPlainColumns{8};

//! By the tensor cores: `rows64` gives each warp 16 rows of q and all keys, `rows16` shares the keys of 16 rows out
//! among four warps, `rows32` those of 32 among two. Depth and width are multiples of 16 up to 128. `mask` is the type
//! of the mask's elements; empty: there is none.
std::string matrixAttentionText(std::string const& stored, std::string const& mask, int depth, int width);
//! What a mask's element adds to a score, in units of UNIT: addMask.
std::string_view attentionMaskText() noexcept;
//! For every type, stride and depth: a warp per row of q.
std::string plainAttentionText(std::string const& stored, std::string const& mask);
//! Names of the kernels that matrixAttentionText prints for these sizes; the first for many rows, the second for few.
struct AttentionKernels
{
    char const* manyRows;
    char const* fewRows;
    int rowsOfFew;
};
AttentionKernels matrixAttentionKernels(int depth, int width) noexcept;

} // namespace tenon::cuda
