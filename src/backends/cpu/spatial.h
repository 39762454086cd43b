// Spatial: what pooling, reduction and resizing of elements stored as T hand to the code that is compiled once per
// instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

//! Two-dimensional pooling of channels-last images.
template <typename T>
struct Pool
{
    int64_t channels{0};
    int64_t inHeight{0};
    int64_t inWidth{0};
    int64_t outHeight{0};
    int64_t outWidth{0};
    int64_t windowHeight{1};
    int64_t windowWidth{1};
    int64_t strideHeight{1};
    int64_t strideWidth{1};
    int64_t top{0}; //!< Paddings.
    int64_t left{0};
    int64_t bottom{0};
    int64_t right{0};
    bool isAverage{false};
    bool countsPadding{false}; //!< Averages divide by the padded window, clipped to the padded image.
    T const* in{nullptr};
    T* out{nullptr};
};

enum class ReductionKind : uint8_t
{
    kSum,
    kProduct,
    kMaximum,
    kMinimum,
};

//! out[o][i] = factor · reduction over r of in[o][r][i].
template <typename T>
struct Reduction
{
    ReductionKind kind{ReductionKind::kSum};
    int64_t length{1}; //!< r
    int64_t inner{1};  //!< i
    float factor{1.0F};
    T const* in{nullptr};
    T* out{nullptr};
};

//! Two-dimensional resizing: output line y reads input lines rows[y·rowTaps …] with their weights, and so do columns.
template <typename T>
struct Resampling
{
    int64_t channels{1}; //!< Channels-last; 1: each plane is an image of its own.
    int64_t inHeight{0};
    int64_t inWidth{0};
    int64_t outHeight{0};
    int64_t outWidth{0};
    int64_t rowTaps{1};
    int64_t columnTaps{1};
    int32_t const* rows{nullptr};
    float const* rowWeights{nullptr};
    int32_t const* columns{nullptr};
    float const* columnWeights{nullptr};
    T const* in{nullptr};
    T* out{nullptr};
};

} // namespace tenon::cpu
