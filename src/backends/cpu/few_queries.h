// FewQueries: some rows of queries against keys and values where they lie. Packing those of one head takes longer than
// reading them once, which is all that few rows do.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

//! Rows of one tile: of one query or of several, and of all heads that share keys.
inline constexpr int64_t kFewQueryRows{4};

//! Rows are dense; scores are floats in between.
template <typename T>
struct FewQueries
{
    int64_t rows{0};
    int64_t length{0};  //!< Keys.
    int64_t depth{0};   //!< Columns of queries and keys.
    int64_t columns{0}; //!< Of values and the result.
    T const* q[kFewQueryRows]{};
    T const* keys{nullptr};
    int64_t keyStride{0};
    float scale{1.0F}; //!< Multiplies the scores.
    float* scores{nullptr};
    int64_t scoreStride{0};
    T const* values{nullptr};
    int64_t valueStride{0};
    T* out[kFewQueryRows]{};
};

} // namespace tenon::cpu
