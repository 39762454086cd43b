// AttentionBlock: some rows of queries against one head's packed keys and values: scores, their softmax, the result.
#pragma once

#include "backends/cpu/isa_functions.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu
{

constexpr int64_t kScoreBlockFloats{int64_t{16} << 10}; //!< Scores of one block of rows.
constexpr int64_t kScoreRowGrain{12};

//! How many rows of queries a block has.
inline int64_t blockRowsOf(int64_t scoreStride, int64_t queries)
{
    int64_t const rows = std::max(kScoreBlockFloats / std::max<int64_t>(scoreStride, 1) / kScoreRowGrain, int64_t{1});
    return std::min(rows * kScoreRowGrain, std::max<int64_t>(queries, 1));
}

//! All floats; rows of scores are `scoreStride` apart.
struct AttentionBlock
{
    int64_t rows{0};
    int64_t length{0};  //!< Keys.
    int64_t depth{0};   //!< Columns of queries and keys.
    int64_t columns{0}; //!< Of values and the result.
    float const* keys{nullptr};
    float const* values{nullptr};
    float* scores{nullptr};
    int64_t scoreStride{0};
    float const* q{nullptr};
    int64_t qStride{0};
    float* out{nullptr};
    int64_t outStride{0};
};

//! `alpha` multiplies the products; `weights` says what becomes of them.
template <typename T>
void runAttentionBlock(AttentionBlock const& block, AttentionRows<T> const& weights, float alpha)
{
    StorageFunctions<float> const& isa = storageFunctions<float>();
    constexpr float kInfinity{std::numeric_limits<float>::infinity()};
    Gemm<float> product;
    product.low = -kInfinity;
    product.high = kInfinity;
    product.rows = block.rows;
    product.columns = block.length;
    product.length = block.depth;
    product.a = block.q;
    product.aStride = block.qStride;
    product.b = block.keys;
    product.c = block.scores;
    product.cStride = block.scoreStride;
    product.alpha = alpha;
    isa.runGemm(product, {0, block.rows, 0, panelsOf(product.columns)}, nullptr);
    storageFunctions<T>().runAttentionRows(weights, block.rows);
    product.columns = block.columns;
    product.length = block.length;
    product.a = block.scores;
    product.aStride = block.scoreStride;
    product.b = block.values;
    product.c = block.out;
    product.cStride = block.outStride;
    product.alpha = 1.0F;
    isa.runGemm(product, {0, block.rows, 0, panelsOf(product.columns)}, nullptr);
}

//! The same with queries and results as they are stored; `widened` has room for both as floats.
template <typename T>
void runAttentionRowsOf(AttentionBlock block, AttentionRows<T> const& weights, float alpha, T const* q, int64_t qStride,
    T* out, int64_t outStride, float* widened)
{
    StorageFunctions<T> const& isa = storageFunctions<T>();
    if constexpr (kIsFloat<T>)
    {
        block.q = q;
        block.qStride = qStride;
        block.out = out;
        block.outStride = outStride;
        runAttentionBlock(block, weights, alpha);
    }
    else
    {
        isa.widenRows(q, qStride, block.rows, block.depth, widened);
        block.q = widened;
        block.qStride = block.depth;
        block.out = widened + block.rows * block.depth + kPanel;
        block.outStride = block.columns;
        runAttentionBlock(block, weights, alpha);
        isa.narrowRows(block.out, block.rows, block.columns, out, outStride);
    }
}

} // namespace tenon::cpu
