// Vectors of eight halves, the unit in which all kernels here read and write channels, and activations on them.
#pragma once

#include <cuda_fp16.h>

namespace tenon::cuda
{

enum class Activation : int
{
    kNone,
    kRelu,
    kRelu6,
    kSilu,
    kGelu,
};

// Eight channels of one pixel: 16 bytes, the widest access of a thread.
struct Halves
{
    uint4 bits;

    __device__ __half2* pairs()
    {
        return reinterpret_cast<__half2*>(&bits);
    }

    __device__ __half2 const* pairs() const
    {
        return reinterpret_cast<__half2 const*>(&bits);
    }
};

inline __device__ Halves loadHalves(__half const* from)
{
    return {*reinterpret_cast<uint4 const*>(from)};
}

inline __device__ Halves noHalves()
{
    return {make_uint4(0, 0, 0, 0)};
}

__device__ inline void widen(float (&to)[8], Halves const& from)
{
#pragma unroll
    for (int i = 0; i < 4; ++i)
    {
        const float2 pair = __half22float2(from.pairs()[i]);
        to[2 * i] = pair.x;
        to[2 * i + 1] = pair.y;
    }
}

__device__ inline void storeHalves(__half* to, float const (&values)[8])
{
    Halves narrow;
#pragma unroll
    for (int i = 0; i < 4; ++i)
        narrow.pairs()[i] = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
    *reinterpret_cast<uint4*>(to) = narrow.bits;
}

// The choice is the same for all threads, so it is made once for all values and costs one branch.
template <int Count>
__device__ inline void activate(float (&values)[Count], Activation activation)
{
    switch (activation)
    {
    case Activation::kNone: return;
    case Activation::kRelu:
#pragma unroll
        for (float& v : values)
            v = fmaxf(v, 0.0f);
        return;
    case Activation::kRelu6:
#pragma unroll
        for (float& v : values)
            v = fminf(fmaxf(v, 0.0f), 6.0f);
        return;
    case Activation::kSilu:
#pragma unroll
        for (float& v : values)
            v = __fdividef(v, 1.0f + __expf(-v));
        return;
    case Activation::kGelu:
#pragma unroll
        for (float& v : values)
            v = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        return;
    }
}

} // namespace tenon::cuda
