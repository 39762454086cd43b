// LocalResponse: elements divided by a power of the squares around them, as handed to the code that is compiled once
// per instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

//! x / (k + factor · Σ x²)^beta, sums over `reach` channels on each side and the element's own.
template <typename T>
struct LocalResponse
{
    int64_t channels{0};
    int64_t inner{1}; //!< Elements from channel to channel; 1: channels are neighbours in memory.
    int64_t reach{0};
    float factor{0.0F};
    float beta{0.0F};
    float k{1.0F};
    T const* in{nullptr};
    T* out{nullptr};

    //! Floats of memory that a lane needs: the squares of a row of channels between zeros.
    int64_t scratch() const noexcept
    {
        constexpr int64_t kVector{16};
        return inner == 1 ? (channels + 2 * reach + 2 * kVector - 1) / kVector * kVector : 0;
    }
};

} // namespace tenon::cpu
