// MatrixText: products of small matrices by the tensor cores, and asynchronous copies, as functions of kernels; on the
// fake device the same by plain loops, with fragments where the hardware has them.
#pragma once

#include "backend/target.h"

#include <string_view>

namespace tenon::cuda
{

//! What stands in front of kernels that multiply fragments of Half or Bfloat: a warp's 16 × 16 by 16 × 8.
std::string_view matrixText() noexcept;

//! Whether a GPU multiplies this type so. Half needs compute capability 7.5, Bfloat 8.0.
inline bool hasMatrixUnits(int32_t major, bool isBfloat) noexcept
{
    return major >= (isBfloat ? 8 : 7);
}

//! The first number of the compute capability that plans are made for.
int32_t majorOf(Target const& target) noexcept;

} // namespace tenon::cuda
