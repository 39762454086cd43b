// Determinants: a matrix becomes its triangular factors in place. Vectors are the compiler's.
#include "backends/cpu/isa_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
constexpr int64_t kPanel{4}; // Pivots whose rows are taken from what is left in one go: it is read and written less.

double magnitude(double x)
{
    return x < 0.0 ? -x : x;
}

//! to[j] −= Σ factors[p] · pivots[p][j], one pivot after the other.
template <int64_t pivots>
void subtractRows(
    double* __restrict to, double const* factors, double const* __restrict rows, int64_t size, int64_t first)
{
    double f[pivots];
    for (int64_t p = 0; p < pivots; ++p)
        f[p] = factors[p];
    for (int64_t column = first; column < size; ++column)
    {
        double x = to[column];
        for (int64_t p = 0; p < pivots; ++p)
            x -= f[p] * rows[p * size + column];
        to[column] = x;
    }
}

void subtractRows(double* to, double const* factors, double const* rows, int64_t size, int64_t first, int64_t pivots)
{
    switch (pivots)
    {
    case 0: return;
    case 1: return subtractRows<1>(to, factors, rows, size, first);
    case 2: return subtractRows<2>(to, factors, rows, size, first);
    case 3: return subtractRows<3>(to, factors, rows, size, first);
    default: return subtractRows<kPanel>(to, factors, rows, size, first);
    }
}

//! A matrix of which the rows and columns in front of `start` are done.
struct Panel
{
    double* matrix;
    int64_t size;
    int64_t start;

    double* row(int64_t i) const
    {
        return matrix + i * size;
    }
    //! Column k as it is behind the pivots of the panel in front of it.
    void finishColumn(int64_t k) const
    {
        for (int64_t i = k; start < k && i < size; ++i)
            for (int64_t p = start; p < k; ++p)
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
};
} // namespace

//! Factors of the rows below a pivot stand in its column.
double determinantOf(double* matrix, int64_t size)
{
    double product{1.0};
    for (int64_t start = 0; start < size;)
    {
        Panel const panel{matrix, size, start};
        int64_t const end = start + kPanel < size ? start + kPanel : size;
        int64_t k{start};
        bool isZero{false};
        for (; k < end && !isZero; ++k)
        {
            panel.finishColumn(k);
            int64_t const pivot = panel.pivotOf(k);
            if (pivot != k)
                panel.swapRows(k, pivot);
            double* const row = panel.row(k);
            double const head = row[k];
            product *= pivot != k ? -head : head;
            subtractRows(row, row + start, panel.row(start), size, k + 1, k - start);
            isZero = head == 0.0; // Nothing stands below it either; what is no number further on must not be lost.
            for (int64_t i = k + 1; !isZero && i < size; ++i)
                panel.row(i)[k] /= head;
        }
        int64_t const pivots = k - start - (isZero ? 1 : 0);
        for (int64_t i = k; i < size; ++i)
            subtractRows(panel.row(i), panel.row(i) + start, panel.row(start), size, k, pivots);
        start = k;
    }
    return product;
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
