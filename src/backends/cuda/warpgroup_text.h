// WarpgroupText: products of a warpgroup's 64 rows, in registers, with tiles of 64 × 64 in shared memory (wgmma,
// compute capability 9.0), as functions of kernels; on the fake device the same by plain loops.
#pragma once

#include <string>

namespace tenon::cuda
{

//! What stands behind matrixText and the typedef of `Stored`, which is Half or Bfloat.
std::string warpgroupText(std::string const& stored);

} // namespace tenon::cuda
