// Matrix products over contiguous doubles: the speed of the references, with which whole models are verified.
#pragma once

#include <cstdint>

namespace tenon
{

//! c[m, n] += a[m, k] · b[k, n]; all row-major and dense.
void multiplyAdd(double* c, double const* a, double const* b, int64_t m, int64_t k, int64_t n);

//! to[columns, rows] = from[rows, columns] transposed.
void transposeInto(double* to, double const* from, int64_t rows, int64_t columns);

} // namespace tenon
