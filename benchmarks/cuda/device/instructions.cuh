// The instructions that have no name in CUDA C++: asynchronous copies, matrix fragments, clusters, dependent launches.
#pragma once

#include <cstdint>

#include <cuda_fp16.h>

namespace tenon::cuda
{

inline __device__ uint32_t sharedAddress(void const* pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes past the registers; what is not valid becomes zeros and is not read.
__device__ inline void copyAsync(uint32_t to, void const* from, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}

__device__ inline void commitCopies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most Pending groups of this thread's copies are under way.
template <int Pending>
__device__ inline void waitForCopies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

__device__ inline void prefetchToL2(void const* from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

__device__ inline void loadMatrices(uint32_t (&to)[4], uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}

inline __device__ void loadTwoMatrices(uint32_t& first, uint32_t& second, uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(first), "=r"(second)
                 : "r"(from)
                 : "memory");
}

inline __device__ void storeTwoMatrices(uint32_t to, uint32_t first, uint32_t second)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(first), "r"(second)
                 : "memory");
}

// sums[16 x 8] += a[16 x 16] * b[16 x 8] with sums in FP32, over the fragments of one warp.
__device__ inline void multiplyAdd(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

inline __device__ uint32_t clusterRank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

inline __device__ uint32_t clusterSize()
{
    uint32_t size;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}

__device__ inline void arriveAtCluster()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ inline void waitForCluster()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address of the same variable in the shared memory of another block of the cluster.
inline __device__ uint32_t remoteAddress(uint32_t address, uint32_t rank)
{
    uint32_t remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
}

__device__ inline void storeRemote(uint32_t to, float a, float b, float c, float d)
{
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(a), "f"(b), "f"(c), "f"(d)
                 : "memory");
}

// Until the kernels before this one are through and their results visible: at once where the launch is not dependent.
__device__ inline void waitForPredecessors()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// From here on blocks of the next kernel may take free places; they wait as above before they read results.
__device__ inline void letSuccessorsStart()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

} // namespace tenon::cuda
