// Matrix products over contiguous doubles, in blocks of rows and columns that stay in registers.
#include "layers/contiguous_math.h"

#include "base/cancellation.h"
#include "base/isa.h"

#include <algorithm>

namespace tenon
{

namespace
{
constexpr int64_t kDepth{512};  // A strip of b stays in the second cache.
constexpr int64_t kColumns{48}; // Whole blocks at every width.

//! Columns of c, and what lies at their left and right.
struct Strip
{
    double* c;
    double const* a;
    double const* b;
    int64_t rows;    //!< Of a and c.
    int64_t depth;   //!< Columns of a, rows of b.
    int64_t k;       //!< Between rows of a.
    int64_t n;       //!< Between rows of b and c.
    int64_t columns; //!< Of b and c.
};

//! As many doubles as a register of the machine holds, at any address. A wider vector would be taken apart, in memory.
template <int64_t width>
struct Doubles
{
    typedef double Vector __attribute__((vector_size(width * sizeof(double)), aligned(8), may_alias));
};

//! `rows` rows by `vectors` vectors: as many sums as registers hold beside what they are made of.
template <int64_t width, int64_t vectors, int64_t rows>
inline __attribute__((always_inline)) void addBlock(Strip const& strip, double* c, double const* a, double const* b)
{
    using Vector = typename Doubles<width>::Vector;
    Vector sums[rows][vectors]{};
    for (int64_t p = 0; p < strip.depth; ++p)
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < vectors; ++j)
                sums[i][j] += a[i * strip.k + p] * *reinterpret_cast<Vector const*>(b + p * strip.n + j * width);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < vectors; ++j)
            *reinterpret_cast<Vector*>(c + i * strip.n + j * width) += sums[i][j];
}

//! All rows of as many columns as the vectors have.
template <int64_t width, int64_t vectors, int64_t rows>
inline __attribute__((always_inline)) void addVectors(Strip const& strip, int64_t column)
{
    int64_t i{0};
    for (; i + rows <= strip.rows; i += rows)
        addBlock<width, vectors, rows>(strip, strip.c + i * strip.n + column, strip.a + i * strip.k, strip.b + column);
    for (; i < strip.rows; ++i)
        addBlock<width, vectors, 1>(strip, strip.c + i * strip.n + column, strip.a + i * strip.k, strip.b + column);
}

template <int64_t width, int64_t vectors, int64_t rows>
inline __attribute__((always_inline)) void add(Strip const& strip)
{
    static_assert(kColumns % (vectors * width) == 0);
    int64_t column{0};
    for (; column + vectors * width <= strip.columns; column += vectors * width)
        addVectors<width, vectors, rows>(strip, column);
    for (; column + width <= strip.columns; column += width)
        addVectors<width, 1, rows>(strip, column);
    for (int64_t i = 0; i < strip.rows && column < strip.columns; ++i)
        for (int64_t p = 0; p < strip.depth; ++p)
            for (int64_t j = column; j < strip.columns; ++j)
                strip.c[i * strip.n + j] += strip.a[i * strip.k + p] * strip.b[p * strip.n + j];
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"), optimize("O3"))) void addBy512Bits(
    Strip const& strip)
{
    add<8, 2, 6>(strip);
}

__attribute__((target("avx2,fma"), optimize("O3"))) void addBy256Bits(Strip const& strip)
{
    add<4, 3, 4>(strip);
}

void addBy128Bits(Strip const& strip)
{
    add<2, 2, 4>(strip);
}

auto addOfThisMachine() noexcept
{
    return activeIsa() >= Isa::kAvx512 ? addBy512Bits : activeIsa() >= Isa::kAvx2 ? addBy256Bits : addBy128Bits;
}
} // namespace

void multiplyAdd(double* c, double const* a, double const* b, int64_t m, int64_t k, int64_t n)
{
    auto const addStrip = addOfThisMachine();
    for (int64_t p = 0; p < k; p += kDepth)
        for (int64_t j = 0; j < n; j += kColumns)
        {
            cancellationPoint();
            addStrip({c + j, a + p, b + p * n + j, m, std::min(kDepth, k - p), k, n, std::min(kColumns, n - j)});
        }
}

void transposeInto(double* to, double const* from, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            to[j * rows + i] = from[i * columns + j];
}

} // namespace tenon
