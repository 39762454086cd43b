// WarpgroupText: products of a warpgroup's 64 rows, in registers, with tiles of rows of 64 elements in shared memory
// (wgmma, compute capability 9.0), as functions of kernels; on the fake device the same by plain loops.
#pragma once

#include <string>

namespace tenon::cuda
{

//! What stands behind matrixText and the typedef of `Stored`, which is Half or Bfloat. Tiles of keys have so many
//! rows, a multiple of 16 up to 256; products with values are 64 columns wide.
std::string warpgroupText(std::string const& stored, int keys);

} // namespace tenon::cuda
