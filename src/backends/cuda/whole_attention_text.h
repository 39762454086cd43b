// WholeAttentionText: attention of few rows and keys as text: a block has all keys and values of a head in shared
// memory at once, so that nothing is waited for twice.
#pragma once

#include "backends/cuda/attention_text.h"

namespace tenon::cuda
{

//! How the warps of a block share its rows and the keys out: so many have 16 rows of their own, so many keys of
//! the same.
struct WholeShape
{
    int rowWarps;
    int keyWarps;
    int keys; //!< Of a warp: a multiple of 16.

    constexpr int threads() const noexcept
    {
        return rowWarps * keyWarps * 32;
    }
    constexpr int rows() const noexcept
    {
        return rowWarps * 16;
    }
    //! Depth and width padded to multiples of 16.
    constexpr int sharedBytes(int depth, int width) const noexcept
    {
        constexpr int kPad{8};
        int const operands = keyWarps * keys * (depth + width + 2 * kPad) * 2;
        int const parts = keyWarps * rows() * (width + kPad + 2) * 4;
        return operands > parts ? operands : parts;
    }
};

//! Kernel "wholeHead". Depth and width are multiples of 16 up to 128; pieces of eight lie at multiples of 16 bytes.
std::string wholeAttentionText(
    std::string const& stored, std::string const& mask, int depth, int width, WholeShape const& shape);

} // namespace tenon::cuda
