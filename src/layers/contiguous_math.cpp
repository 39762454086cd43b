// Matrix products over contiguous doubles, in blocks of rows and columns that stay in registers.
#include "layers/contiguous_math.h"

#include "base/cancellation.h"

#include <algorithm>

namespace tenon
{

namespace
{
constexpr int64_t kRows{6};
constexpr int64_t kColumns{16};
constexpr int64_t kDepth{512}; // A block of b stays in the first cache.

//! Eight doubles, at any address: the compiler cuts it into what the machine has.
typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));

template <int64_t Rows>
inline __attribute__((always_inline)) void block(
    double* c, double const* a, double const* b, int64_t depth, int64_t k, int64_t n)
{
    Eight sums[Rows][2]{};
    for (int64_t p = 0; p < depth; ++p)
    {
        Eight const left = *reinterpret_cast<Eight const*>(b + p * n);
        Eight const right = *reinterpret_cast<Eight const*>(b + p * n + 8);
        for (int64_t i = 0; i < Rows; ++i)
        {
            sums[i][0] += a[i * k + p] * left;
            sums[i][1] += a[i * k + p] * right;
        }
    }
    for (int64_t i = 0; i < Rows; ++i)
        for (int64_t half = 0; half < 2; ++half)
            *reinterpret_cast<Eight*>(c + i * n + half * 8) += sums[i][half];
}

inline __attribute__((always_inline)) void edge(
    double* c, double const* a, double const* b, int64_t depth, int64_t n, int64_t columns)
{
    for (int64_t p = 0; p < depth; ++p)
        for (int64_t j = 0; j < columns; ++j)
            c[j] += a[p] * b[p * n + j];
}
} // namespace

// The loader picks the widest clone that the machine runs. Nothing is thrown through one: the compiler gives clones
// with options of their own no way for exceptions.
#if !defined(__SANITIZE_THREAD__) // Choosing a clone would run before the sanitizer is ready.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#endif
static void
addColumns(
    double* c, double const* a, double const* right, int64_t m, int64_t depth, int64_t k, int64_t n, int64_t columns)
{
    int64_t i{0};
    for (; columns == kColumns && i + kRows <= m; i += kRows)
        block<kRows>(c + i * n, a + i * k, right, depth, k, n);
    for (; columns == kColumns && i < m; ++i)
        block<1>(c + i * n, a + i * k, right, depth, k, n);
    for (; i < m; ++i)
        edge(c + i * n, a + i * k, right, depth, n, columns);
}

void multiplyAdd(double* c, double const* a, double const* b, int64_t m, int64_t k, int64_t n)
{
    for (int64_t p = 0; p < k; p += kDepth)
        for (int64_t j = 0; j < n; j += kColumns)
        {
            cancellationPoint();
            addColumns(c + j, a + p, b + p * n + j, m, std::min(kDepth, k - p), k, n, std::min(kColumns, n - j));
        }
}

void transposeInto(double* to, double const* from, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            to[j * rows + i] = from[i * columns + j];
}

} // namespace tenon
