// The calls of cuda_runtime_api.h, and for C++ those that take typed pointers.
#ifndef TENON_HOSTRT_CUDA_RUNTIME_H
#define TENON_HOSTRT_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"
#include "vector_functions.h"

__inline__ static struct cudaPitchedPtr make_cudaPitchedPtr(void* data, size_t pitch, size_t width, size_t height)
{
    struct cudaPitchedPtr memory;
    memory.ptr = data;
    memory.pitch = pitch;
    memory.xsize = width;
    memory.ysize = height;
    return memory;
}

__inline__ static struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    struct cudaExtent extent;
    extent.width = width;
    extent.height = height;
    extent.depth = depth;
    return extent;
}

__inline__ static struct cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    struct cudaPos place;
    place.x = x;
    place.y = y;
    place.z = z;
    return place;
}

#ifdef __cplusplus

template <typename T>
inline static cudaError_t cudaMalloc(T** memory, size_t bytes)
{
    return ::cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}

template <typename T>
inline static cudaError_t cudaMallocHost(T** memory, size_t bytes, unsigned int flags = 0)
{
    return ::cudaHostAlloc(reinterpret_cast<void**>(memory), bytes, flags);
}

template <typename T>
inline static cudaError_t cudaHostAlloc(T** memory, size_t bytes, unsigned int flags)
{
    return ::cudaHostAlloc(reinterpret_cast<void**>(memory), bytes, flags);
}

template <typename T>
inline static cudaError_t cudaHostGetDevicePointer(T** device, void* memory, unsigned int flags)
{
    return ::cudaHostGetDevicePointer(reinterpret_cast<void**>(device), memory, flags);
}

template <typename T>
inline static cudaError_t cudaMallocManaged(T** memory, size_t bytes, unsigned int flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged(reinterpret_cast<void**>(memory), bytes, flags);
}

template <typename T>
inline static cudaError_t cudaMallocPitch(T** memory, size_t* pitch, size_t width, size_t height)
{
    return ::cudaMallocPitch(reinterpret_cast<void**>(memory), pitch, width, height);
}

template <typename T>
inline static cudaError_t cudaMallocAsync(T** memory, size_t bytes, cudaStream_t stream)
{
    return ::cudaMallocAsync(reinterpret_cast<void**>(memory), bytes, stream);
}

template <typename T>
inline static cudaError_t cudaMallocAsync(T** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(reinterpret_cast<void**>(memory), bytes, pool, stream);
}

template <typename T>
inline static cudaError_t cudaMallocFromPoolAsync(T** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(reinterpret_cast<void**>(memory), bytes, pool, stream);
}

inline static cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags)
{
    return ::cudaEventCreateWithFlags(event, flags);
}

//! As version 11 of the runtime had it; there is never a text in the log.
inline static cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t* node, char* log, size_t bytes)
{
    if (node != NULL)
        *node = NULL;
    if (log != NULL && bytes > 0)
        *log = '\0';
    return ::cudaGraphInstantiate(executable, graph, 0ULL);
}

//! Likewise.
inline static cudaError_t cudaGraphExecUpdate(
    cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphNode_t* node, enum cudaGraphExecUpdateResult* result)
{
    cudaGraphExecUpdateResultInfo info = cudaGraphExecUpdateResultInfo();
    cudaError_t const status = ::cudaGraphExecUpdate(executable, graph, &info);
    if (node != NULL)
        *node = info.errorNode;
    if (result != NULL)
        *result = info.result;
    return status;
}

#if TENON_CUDART_MAJOR < 13
inline static cudaError_t cudaThreadSynchronize()
{
    return ::cudaDeviceSynchronize();
}
#endif

#endif // __cplusplus

#endif // TENON_HOSTRT_CUDA_RUNTIME_H
