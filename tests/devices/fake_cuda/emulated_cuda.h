// Before each kernel that the fake compiler translates for the host: CUDA's words, and one thread of a grid.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#define TENON_EMULATED 1
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __restrict__
#define __shared__ static
#define __launch_bounds__(...)

using std::isinf;
using std::isnan;

struct TenonIndex
{
    unsigned x, y, z;
};

//! Where the thread that runs now stands; the fake driver sets it.
struct TenonThread
{
    TenonIndex thread, block, blockSize, gridSize;
    void (*barrier)();
};
extern "C" __attribute__((visibility("default"))) TenonThread* tenonThread;
TenonThread* tenonThread;

#define threadIdx (tenonThread->thread)
#define blockIdx (tenonThread->block)
#define blockDim (tenonThread->blockSize)
#define gridDim (tenonThread->gridSize)

//! Whether threads wait for each other: the fake driver gives each a stack of its own then.
extern "C" __attribute__((visibility("default"))) int tenonHasBarriers;

inline void __syncthreads()
{
    tenonThread->barrier();
}

//! Whether it holds for any thread of the block.
inline int __syncthreads_or(int own)
{
    static int found;
    __syncthreads();
    found = 0;
    __syncthreads();
    if (own != 0)
        found = 1;
    __syncthreads();
    return found;
}

//! All threads of a block come here together in our kernels.
template <typename T>
T __shfl_xor_sync(unsigned, T value, int distance)
{
    static T slots[1024];
    unsigned const own = threadIdx.x;
    slots[own] = value;
    __syncthreads();
    T const other = slots[own ^ static_cast<unsigned>(distance)];
    __syncthreads();
    return other;
}

template <typename T>
T __shfl_sync(unsigned, T value, int lane)
{
    static T slots[1024];
    slots[threadIdx.x] = value;
    __syncthreads();
    T const other = slots[threadIdx.x / 32 * 32 + static_cast<unsigned>(lane)];
    __syncthreads();
    return other;
}

template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned distance)
{
    static T slots[1024];
    unsigned const own = threadIdx.x;
    slots[own] = value;
    __syncthreads();
    T const other = own % 32 >= distance ? slots[own - distance] : value;
    __syncthreads();
    return other;
}

//! Threads run one after the other.
template <typename T>
T atomicMax(T* at, T value)
{
    T const before = *at;
    *at = value > before ? value : before;
    return before;
}

inline unsigned atomicAdd(unsigned* at, unsigned value)
{
    unsigned const before = *at;
    *at += value;
    return before;
}

inline unsigned atomicMin(unsigned* at, unsigned value)
{
    unsigned const before = *at;
    *at = value < before ? value : before;
    return before;
}

#define TENON_KERNEL(name, Params)                                                                                     \
    static void name##Body(Params const& p);                                                                           \
    extern "C" __attribute__((visibility("default"))) unsigned long name##Bytes = sizeof(Params);                      \
    extern "C" __attribute__((visibility("default"))) void name(void* params)                                          \
    {                                                                                                                  \
        auto const& p = *static_cast<Params const*>(params);                                                           \
        if (p.stop == nullptr || *p.stop == 0)                                                                         \
            name##Body(p);                                                                                             \
    }                                                                                                                  \
    static void name##Body(Params const& p)
