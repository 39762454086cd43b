// Determinants: a matrix becomes its triangular factors in place, blocks of columns at a time. What is left of a large
// one is updated by all pivots of a block in one go, tile by tile; all other vectors are the compiler's. Of small
// matrices each lane of a vector has one.
#include "backends/cpu/isa_functions.h"

#include "backends/cpu/determinant.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
constexpr int64_t kPanel{4}; // Pivots whose rows are taken from what is left of a block in one go.

#ifdef __AVX512F__
using Doubles = double __attribute__((vector_size(64)));
constexpr int kTileRows{8};
#else
using Doubles = double __attribute__((vector_size(32)));
constexpr int kTileRows{4};
#endif
constexpr int64_t kDoubles{sizeof(Doubles) / sizeof(double)};
static_assert(kDeterminantGrain % kDoubles == 0);

Doubles loadDoubles(double const* from)
{
    Doubles x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}

template <typename T>
T magnitude(T x)
{
    return x < 0.0 ? -x : x;
}

//! to[j] −= Σ factors[p] · pivots[p][j], one pivot after the other.
template <int64_t pivots>
void subtractRows(double* __restrict to, double const* factors, double const* __restrict rows, int64_t stride,
    int64_t first, int64_t last)
{
    double f[pivots];
    for (int64_t p = 0; p < pivots; ++p)
        f[p] = factors[p];
    for (int64_t column = first; column < last; ++column)
    {
        double x = to[column];
        for (int64_t p = 0; p < pivots; ++p)
            x -= f[p] * rows[p * stride + column];
        to[column] = x;
    }
}

void subtractRows(
    double* to, double const* factors, double const* rows, int64_t stride, int64_t first, int64_t last, int64_t pivots)
{
    switch (pivots)
    {
    case 0: return;
    case 1: return subtractRows<1>(to, factors, rows, stride, first, last);
    case 2: return subtractRows<2>(to, factors, rows, stride, first, last);
    case 3: return subtractRows<3>(to, factors, rows, stride, first, last);
    default: return subtractRows<kPanel>(to, factors, rows, stride, first, last);
    }
}

//! Rows and columns of a matrix in front of `start` are done, and columns from `end` on wait for those in between.
struct Block
{
    double* matrix;
    int64_t size;
    int64_t stride;
    int64_t start;
    int64_t end;

    double* row(int64_t i) const
    {
        return matrix + i * stride;
    }
    //! Column k as it is behind the pivots from `first` on.
    void finishColumn(int64_t first, int64_t k) const
    {
        for (int64_t i = k; first < k && i < size; ++i)
            for (int64_t p = first; p < k; ++p)
                row(i)[k] -= row(i)[p] * row(p)[k];
    }
    //! The row at or below k with the largest element in column k; the first that is no number, where there is one.
    int64_t pivotOf(int64_t k) const
    {
        int64_t pivot{k};
        double largest = magnitude(row(k)[k]);
        for (int64_t i = k + 1; i < size && largest == largest; ++i)
        {
            double const here = magnitude(row(i)[k]);
            if (!(here <= largest))
            {
                pivot = i;
                largest = here;
            }
        }
        return pivot;
    }
    void swapRows(int64_t a, int64_t b) const
    {
        for (int64_t column = start; column < size; ++column)
        {
            double const above = row(a)[column];
            row(a)[column] = row(b)[column];
            row(b)[column] = above;
        }
    }

    //! Makes the columns up to `end` those of the factors; the product of the pivots. Factors of the rows below a pivot
    //! stand in its column. Stops behind a pivot of 0: nothing stands below it either, and what is no number further on
    //! must not be lost. `done`: behind the last column that is made; `pivots`: those of them that are not 0.
    double factor(int64_t& done, int64_t& pivots) const
    {
        double product{1.0};
        bool isZero{false};
        done = start;
        while (done < end && !isZero)
        {
            int64_t const first = done;
            int64_t const last = first + kPanel < end ? first + kPanel : end;
            for (; done < last && !isZero; ++done)
            {
                finishColumn(first, done);
                int64_t const pivot = pivotOf(done);
                if (pivot != done)
                    swapRows(done, pivot);
                double const head = row(done)[done];
                product *= pivot != done ? -head : head;
                subtractRows(row(done), row(done) + first, row(first), stride, done + 1, end, done - first);
                isZero = head == 0.0;
                for (int64_t i = done + 1; !isZero && i < size; ++i)
                    row(i)[done] /= head;
            }
            pivots = done - (isZero ? 1 : 0) - start;
            for (int64_t i = done; i < size; ++i)
                subtractRows(row(i), row(i) + first, row(first), stride, done, end, start + pivots - first);
        }
        return product;
    }

    //! Rows [i, i + R) and so many vectors of columns less what the pivots, from `start` on, have there.
    template <int R, int V>
    void subtractTile(int64_t i, int64_t column, int64_t pivots) const
    {
        Doubles sum[R][V];
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v)
                sum[r][v] = loadDoubles(row(i + r) + column + v * kDoubles);
        for (int64_t p = 0; p < pivots; ++p)
        {
            Doubles pivot[V];
            for (int v = 0; v < V; ++v)
                pivot[v] = loadDoubles(row(start + p) + column + v * kDoubles);
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v)
                    sum[r][v] -= row(i + r)[start + p] * pivot[v];
        }
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v)
                __builtin_memcpy(row(i + r) + column + v * kDoubles, &sum[r][v], sizeof(Doubles));
    }

    //! The columns behind the block, of which vectors are: pivot rows first, each less those above it, then all others.
    template <int V>
    void subtractStrip(int64_t column, int64_t pivots, int64_t first) const
    {
        int64_t p{0};
        for (; p + kTileRows <= pivots; p += kTileRows)
        {
            subtractTile<kTileRows, V>(start + p, column, p);
            for (int64_t r = 1; r < kTileRows; ++r)
                Block{matrix, size, stride, start + p, end}.template subtractTile<1, V>(start + p + r, column, r);
        }
        for (; p < pivots; ++p)
            subtractTile<1, V>(start + p, column, p);
        int64_t i{first};
        for (; i + kTileRows <= size; i += kTileRows)
            subtractTile<kTileRows, V>(i, column, pivots);
        for (; i < size; ++i)
            subtractTile<1, V>(i, column, pivots);
    }
};

//! Matrices of n rows, one per lane, whose elements lie `kDeterminantGrain` from each other; pivots as in a block. Rows
//! change places one after the other until the pivot is there, each lane's as it needs: the order of others is nobody's
//! concern.
template <int n>
Doubles determinantsOf(double const* elements)
{
    Doubles a[n][n];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            a[i][j] = loadDoubles(elements + (i * n + j) * kDeterminantGrain);
    Doubles product{};
    product += 1.0;
    for (int k = 0; k < n; ++k)
    {
        Doubles sign{};
        sign += 1.0;
        for (int i = k + 1; i < n; ++i)
        {
            Doubles const largest = magnitude(a[k][k]);
            auto const isOther = ~(magnitude(a[i][k]) <= largest) & (largest == largest);
            for (int j = k; j < n; ++j)
            {
                Doubles const above = a[k][j];
                a[k][j] = isOther ? a[i][j] : above;
                a[i][j] = isOther ? above : a[i][j];
            }
            sign = isOther ? -sign : sign;
        }
        Doubles const head = a[k][k];
        product *= sign * head;
        for (int j = k + 1; j < n; ++j) // Below a pivot of 0 there are only zeros, from which nothing is taken off.
            a[k][j] = head == 0.0 ? head : a[k][j];
        for (int i = k + 1; i < n; ++i)
        {
            Doubles const factor = head == 0.0 ? head : a[i][k] / head;
            for (int j = k + 1; j < n; ++j)
                a[i][j] -= factor * a[k][j];
        }
    }
    return product;
}

template <int n>
void determinantsOf(double const* elements, double* to)
{
    for (int64_t at = 0; at < kDeterminantGrain; at += kDoubles)
    {
        Doubles const found = determinantsOf<n>(elements + at);
        __builtin_memcpy(to + at, &found, sizeof found);
    }
}
} // namespace

void determinantsOf(double const* elements, int64_t size, double* to)
{
    switch (size)
    {
    case 1: return determinantsOf<1>(elements, to);
    case 2: return determinantsOf<2>(elements, to);
    case 3: return determinantsOf<3>(elements, to);
    case 4: return determinantsOf<4>(elements, to);
    case 5: return determinantsOf<5>(elements, to);
    case 6: return determinantsOf<6>(elements, to);
    case 7: return determinantsOf<7>(elements, to);
    default: return determinantsOf<8>(elements, to);
    }
}

double determinantOf(double* matrix, int64_t size)
{
    constexpr int kVectors{2};
    int64_t const stride = determinantStride(size);
    double product{1.0};
    for (int64_t start = 0; start < size;)
    {
        int64_t const end = start + kDeterminantBlock < size ? start + kDeterminantBlock : size;
        Block const block{matrix, size, stride, start, end};
        int64_t pivots{0};
        product *= block.factor(start, pivots);
        int64_t column{end};
        for (; column + kVectors * kDoubles <= size; column += kVectors * kDoubles)
            block.subtractStrip<kVectors>(column, pivots, start);
        for (; column < size; column += kDoubles) // A vector may end behind the row's elements.
            block.subtractStrip<1>(column, pivots, start);
    }
    return product;
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
