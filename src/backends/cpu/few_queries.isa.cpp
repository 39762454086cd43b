// FewQueries: scores as dots of dense rows, several at once, and sums of weighted values.
#include "backends/cpu/few_queries.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_storage.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
#ifdef __AVX512F__
constexpr int kSums{16}; //!< Vectors of sums that stay in registers beside what they are made of.
#else
constexpr int kSums{4};
#endif

//! What the elements of each vector sum up to, in order.
template <int N>
TENON_INLINE void sumEach(F16 (&sums)[N], float* to)
{
    if constexpr (N == kLanes)
    {
        transpose16(sums);
#pragma GCC unroll 4
        for (int width = N / 2; width > 0; width /= 2)
#pragma GCC unroll 8
            for (int i = 0; i < width; ++i)
                sums[i] = sums[i] + sums[i + width];
        store(to, sums[0]);
    }
    else
#pragma GCC unroll 8
        for (int i = 0; i < N; ++i)
            to[i] = sum(sums[i]);
}

//! Scores of R rows and K keys from key `first` on.
template <typename T, int R, int K>
TENON_INLINE void scoreKeys(FewQueries<T> const& f, int64_t row, int64_t first)
{
    F16 sums[R * K];
#pragma GCC unroll 16
    for (F16& each : sums)
        each = zero();
    T const* const keys = f.keys + first * f.keyStride;
    auto const add = [&](auto const& loadAt) {
        F16 queries[R];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
            queries[r] = loadAt(f.q[row + r]);
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k)
        {
            F16 const key = loadAt(keys + k * f.keyStride);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r)
                sums[r * K + k] = fma(queries[r], key, sums[r * K + k]);
        }
    };
    int64_t d{0};
    for (; d + kLanes <= f.depth; d += kLanes)
        add([d](T const* p) { return load(p + d); });
    if (d < f.depth)
        add([d, rest = firstLanes(f.depth - d)](T const* p) { return load(p + d, rest); });
    alignas(64) float dots[R * K];
    sumEach(sums, dots);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k)
            f.scores[(row + r) * f.scoreStride + first + k] = dots[r * K + k] * f.scale;
}

template <typename T, int R>
void scoreRows(FewQueries<T> const& f, int64_t row)
{
    constexpr int kKeys{kSums / R};
    int64_t key{0};
    for (; key + kKeys <= f.length; key += kKeys)
        scoreKeys<T, R, kKeys>(f, row, key);
    for (; key < f.length; ++key)
        scoreKeys<T, R, 1>(f, row, key);
}

//! Weighted values of R rows in V vectors of columns, of which the last is `last` wide.
template <typename T, int R, int V>
TENON_INLINE void sumColumns(FewQueries<T> const& f, int64_t row, int64_t column, int64_t last)
{
    Mask const mask = firstLanes(last);
    bool const isWhole = last == kLanes;
    F16 sums[R][V];
#pragma GCC unroll 4
    for (auto& ofRow : sums)
#pragma GCC unroll 16
        for (F16& each : ofRow)
            each = zero();
    T const* value = f.values + column;
    float const* const weights = f.scores + row * f.scoreStride;
    for (int64_t k = 0; k < f.length; ++k, value += f.valueStride)
    {
        F16 values[V];
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v)
            values[v] = v < V - 1 || isWhole ? load(value + v * kLanes) : load(value + v * kLanes, mask);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
        {
            F16 const weight = splat(weights[r * f.scoreStride + k]);
#pragma GCC unroll 16
            for (int v = 0; v < V; ++v)
                sums[r][v] = fma(weight, values[v], sums[r][v]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v)
            if (T* const to = f.out[row + r] + column + v * kLanes; v < V - 1 || isWhole)
                store(to, sums[r][v]);
            else
                store(to, sums[r][v], mask);
}

template <typename T, int R>
void sumRows(FewQueries<T> const& f, int64_t row)
{
    constexpr int kVectors{kSums / 4 > 4 / R ? kSums / 4 : 4 / R};
    int64_t column{0};
    for (; column + kVectors * kLanes <= f.columns; column += kVectors * kLanes)
        sumColumns<T, R, kVectors>(f, row, column, kLanes);
    for (; column < f.columns; column += kLanes)
        sumColumns<T, R, 1>(f, row, column, f.columns - column < kLanes ? f.columns - column : kLanes);
}

//! Calls rows<R>(row) for tiles of four, two and one.
template <typename Four, typename Two, typename One>
void inTiles(int64_t rows, Four const& four, Two const& two, One const& one)
{
    int64_t row{0};
    for (; row + 4 <= rows; row += 4)
        four(row);
    for (; row + 2 <= rows; row += 2)
        two(row);
    for (; row < rows; ++row)
        one(row);
}
} // namespace

template <typename T>
void scoreFewQueries(FewQueries<T> const& f)
{
    inTiles(
        f.rows, [&](int64_t row) { scoreRows<T, 4>(f, row); }, [&](int64_t row) { scoreRows<T, 2>(f, row); },
        [&](int64_t row) { scoreRows<T, 1>(f, row); });
}

template <typename T>
void sumFewQueries(FewQueries<T> const& f)
{
    inTiles(
        f.rows, [&](int64_t row) { sumRows<T, 4>(f, row); }, [&](int64_t row) { sumRows<T, 2>(f, row); },
        [&](int64_t row) { sumRows<T, 1>(f, row); });
}

#define TENON_ROW(T)                                                                                                   \
    template void scoreFewQueries(FewQueries<T> const&);                                                               \
    template void sumFewQueries(FewQueries<T> const&)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
