// Rows: what softmax, normalization and attention hand to the code that is compiled once per instruction set, for
// tensors stored as T.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

//! Softmax of in[o][l][i] over l.
template <typename T>
struct SoftMaxRows
{
    int64_t length{1};
    int64_t inner{1};
    T const* in{nullptr};
    T* out{nullptr};
};

//! Rows of dense elements, each with a mean and a variance of its own. A row is cut into segments of equal length;
//! element j of segment s of row r is scaled by scale[(r mod period) · rowStep + s · segmentStep + j · elementStep].
template <typename T>
struct NormRows
{
    int64_t length{1};
    int64_t segment{1};
    int64_t period{1};
    int64_t rowStep{0};
    int64_t segmentStep{0};
    int64_t elementStep{0}; //!< 0 or 1.
    float epsilon{0.0F};
    bool isRms{false};
    T const* in{nullptr};
    T const* scale{nullptr};
    T const* bias{nullptr}; //!< May be null.
    T* out{nullptr};
};

//! Channels-last images: a mean and a variance per image and group of channels.
template <typename T>
struct NormGroups
{
    int64_t pixels{0};
    int64_t channels{0};
    int64_t groupChannels{1};
    bool isPerGroup{false}; //!< Scale and bias have one element per group, not per channel.
    float epsilon{0.0F};
    bool isRms{false};
    T const* in{nullptr};
    T const* scale{nullptr};
    T const* bias{nullptr};
    T* out{nullptr};
};
//! Channels of one call of runNormGroups; a group may be this wide, a lane takes several calls.
inline constexpr int64_t kMaxNormChannels{4096};

//! Rows of scores that become weights: softmax(score + mask).
template <typename T>
struct AttentionRows
{
    float* scores{nullptr}; //!< Dense rows of `stride` floats.
    int64_t stride{0};
    int64_t keys{0};
    T const* mask{nullptr};       //!< Added; of the first row.
    uint8_t const* keep{nullptr}; //!< Or: what may be attended to.
    int64_t maskRowStride{0};
    int64_t maskColumnStride{0};
    bool isCausal{false};
    int64_t visible{0}; //!< When causal: keys that the first row may see, one more each row; none when not positive.
    bool masksToZero{false};
};

} // namespace tenon::cpu
