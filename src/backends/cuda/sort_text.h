// Keys that a block of threads sorts, as text.
#pragma once

namespace tenon::cuda
{

inline constexpr char kSortKeysText[]{R"(
//! Ascending, by all threads of a block; `keys` has room for the next power of two, which the largest number fills.
static __device__ __forceinline__ void sortKeys(u64* keys, i64 count)
{
    i64 padded = 1;
    while (padded < count)
        padded *= 2;
    for (i64 i = count + threadIdx.x; i < padded; i += blockDim.x)
        keys[i] = ~0ull;
    __syncthreads();
    for (i64 width = 2; width <= padded; width *= 2)
        for (i64 distance = width / 2; distance > 0; distance /= 2)
        {
            for (i64 pair = threadIdx.x; pair < padded / 2; pair += blockDim.x)
            {
                i64 const i = pair * 2 - (pair & (distance - 1)), other = i + distance;
                u64 const a = keys[i];
                u64 const b = keys[other];
                if ((a > b) == ((i & width) == 0))
                {
                    keys[i] = b;
                    keys[other] = a;
                }
            }
            __syncthreads();
        }
}
)"};

} // namespace tenon::cuda
