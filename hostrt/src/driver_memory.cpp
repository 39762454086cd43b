// Memory, copies and fills under the names of the driver.
#include "driver.h"

#include <cstring>
#include <new>

using namespace tenon::hostrt;

TENON_RUNTIME(cudaFree)
TENON_RUNTIME(cudaFreeAsync)
TENON_RUNTIME(cudaFreeHost)
TENON_RUNTIME(cudaHostAlloc)
TENON_RUNTIME(cudaHostGetDevicePointer)
TENON_RUNTIME(cudaHostGetFlags)
TENON_RUNTIME(cudaHostRegister)
TENON_RUNTIME(cudaHostUnregister)
TENON_RUNTIME(cudaMalloc)
TENON_RUNTIME(cudaMallocAsync)
TENON_RUNTIME(cudaMallocHost)
TENON_RUNTIME(cudaMallocManaged)
TENON_RUNTIME(cudaMallocPitch)
TENON_RUNTIME(cudaMemcpyAsync)
TENON_RUNTIME(cudaMemGetInfo)
TENON_RUNTIME(cudaMemcpy)
TENON_RUNTIME(cudaMemset)
TENON_RUNTIME(cudaMemsetAsync)
extern "C" decltype(::cudaMemcpy) host_cudaMemcpy_ptds;
extern "C" decltype(::cudaMemset) host_cudaMemset_ptds;

namespace
{
TenonHostMemory memoryAt(CUdeviceptr address) noexcept
{
    TenonHostMemory found;
    tenonHostFind(pointerOf(address), &found);
    return found;
}

bool isHosts(TenonHostKind kind) noexcept
{
    return kind == TENON_HOST_PINNED || kind == TENON_HOST_REGISTERED;
}

cudaError_t allocateRows(
    CUdeviceptr* memory, size_t* pitch, size_t width, size_t height, unsigned int elementBytes) noexcept
{
    if (memory == nullptr || (elementBytes != 4 && elementBytes != 8 && elementBytes != 16))
        return cudaErrorInvalidValue;
    return host_cudaMallocPitch(placeOf(memory), pitch, width, height);
}

CUresult rangeOf(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) noexcept
{
    TenonHostMemory const found = memoryAt(address);
    if (found.kind == TENON_HOST_UNKNOWN)
        return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr)
        *base = reinterpret_cast<CUdeviceptr>(found.base);
    if (bytes != nullptr)
        *bytes = found.bytes;
    return CUDA_SUCCESS;
}

template <typename T>
CUresult put(void* place, T value) noexcept
{
    std::memcpy(place, &value, sizeof value);
    return CUDA_SUCCESS;
}

//! Of memory that is known.
CUresult attributeOf(
    void* place, CUpointer_attribute attribute, CUdeviceptr address, TenonHostMemory const& found) noexcept
{
    switch (attribute)
    {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return put(place, primaryContext());
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return put(place, isHosts(found.kind) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(place, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return found.kind == TENON_HOST_DEVICE ? CUDA_ERROR_INVALID_VALUE : put(place, pointerOf(address));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return put(place, found.kind == TENON_HOST_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(place, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(place, found.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put(place, static_cast<size_t>(found.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPED: return put(place, true);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return put(place, false);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return put(place, uint64_t{0});
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return put(place, 3U); // Can be read and written.
    default: return resultOf(refused("cuPointerGetAttribute", "an attribute that only a GPU's memory has"));
    }
}

CUresult attributeOf(void* place, CUpointer_attribute attribute, CUdeviceptr address) noexcept
{
    TenonHostMemory const found = memoryAt(address);
    if (place == nullptr || found.kind == TENON_HOST_UNKNOWN)
        return CUDA_ERROR_INVALID_VALUE;
    return attributeOf(place, attribute, address, found);
}

//! Bytes of an attribute; 0: none that there is here.
size_t bytesOf(CUpointer_attribute attribute) noexcept
{
    switch (attribute)
    {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return 8;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return 4;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return 1;
    default: return 0;
    }
}

//! An attribute that the memory does not have, all of them where it is not known, is 0, a device's number -2.
CUresult attributesOf(
    unsigned int count, CUpointer_attribute const* attributes, void** places, CUdeviceptr address) noexcept
{
    if (count == 0 || attributes == nullptr || places == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; ++i)
    {
        CUresult const result = attributeOf(places[i], attributes[i], address);
        if (result == CUDA_SUCCESS)
            continue;
        if (places[i] == nullptr || bytesOf(attributes[i]) == 0)
            return result;
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            put(places[i], cudaInvalidDeviceId);
        else
            std::memset(places[i], 0, bytesOf(attributes[i]));
    }
    return CUDA_SUCCESS;
}

CUresult copy(void* to, void const* from, size_t bytes, cudaMemcpyKind kind, bool isPerThread) noexcept
{
    return resultOf(isPerThread ? host_cudaMemcpy_ptds(to, from, bytes, kind) : host_cudaMemcpy(to, from, bytes, kind));
}

//! Elements of two or four bytes, written by the stream.
template <typename T>
struct Elements
{
    static int32_t write(void* user) noexcept
    {
        auto const& self = *static_cast<Elements*>(user);
        for (size_t i = 0; i < self.count; ++i)
            self.to[i] = self.value;
        return 0;
    }
    static void release(void* user) noexcept
    {
        delete static_cast<Elements*>(user);
    }

    T* to;
    T value;
    size_t count;
};

//! The elements have to lie in memory that is known, each at a multiple of its size.
template <typename T>
CUresult fill(CUdeviceptr to, T value, size_t count, CUstream stream) noexcept
{
    TenonHostMemory const found = memoryAt(to);
    if (count == 0)
        return CUDA_SUCCESS;
    uint64_t const offset = to - reinterpret_cast<CUdeviceptr>(found.base);
    if (found.kind == TENON_HOST_UNKNOWN || to % sizeof(T) != 0 || count > (found.bytes - offset) / sizeof(T))
        return CUDA_ERROR_INVALID_VALUE;
    auto* const elements = new (std::nothrow) Elements<T>{static_cast<T*>(pointerOf(to)), value, count};
    if (elements == nullptr)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return resultOf(errorOf(tenonHostSubmit(stream, &Elements<T>::write, elements, &Elements<T>::release)));
}

template <typename T>
CUresult fillNow(CUdeviceptr to, T value, size_t count, bool isPerThread) noexcept
{
    CUstream const stream = isPerThread ? CU_STREAM_PER_THREAD : nullptr;
    CUresult const result = fill(to, value, count, stream);
    return result != CUDA_SUCCESS || !isPerThread ? result : resultOf(errorOf(tenonHostSynchronizeStream(stream)));
}

CUresult fillBytes(CUdeviceptr to, unsigned char value, size_t bytes, bool isPerThread) noexcept
{
    void* const memory = pointerOf(to);
    return resultOf(isPerThread ? host_cudaMemset_ptds(memory, value, bytes) : host_cudaMemset(memory, value, bytes));
}
} // namespace

TENON_DRIVER(cuMemGetInfo_v2, kContext, (size_t * free, size_t* total), host_cudaMemGetInfo(free, total))
TENON_DRIVER(cuMemAlloc_v2, kContext, (CUdeviceptr * memory, size_t bytes),
    bytes == 0 ? cudaErrorInvalidValue : host_cudaMalloc(placeOf(memory), bytes))
TENON_DRIVER(cuMemAllocPitch_v2, kContext,
    (CUdeviceptr * memory, size_t* pitch, size_t width, size_t height, unsigned int elementBytes),
    allocateRows(memory, pitch, width, height, elementBytes))
TENON_DRIVER(cuMemFree_v2, kContext, (CUdeviceptr memory), host_cudaFree(pointerOf(memory)))
TENON_DRIVER(cuMemGetAddressRange_v2, kContext, (CUdeviceptr * base, size_t* bytes, CUdeviceptr address),
    rangeOf(base, bytes, address))
TENON_DRIVER(cuMemAllocHost_v2, kContext, (void** memory, size_t bytes),
    bytes == 0 ? cudaErrorInvalidValue : host_cudaMallocHost(memory, bytes))
TENON_DRIVER(cuMemFreeHost, kContext, (void* memory), host_cudaFreeHost(memory))
TENON_DRIVER(cuMemHostAlloc, kContext, (void** memory, size_t bytes, unsigned int flags),
    bytes == 0 ? cudaErrorInvalidValue : host_cudaHostAlloc(memory, bytes, flags))
TENON_DRIVER(cuMemHostGetDevicePointer_v2, kContext, (CUdeviceptr * device, void* memory, unsigned int flags),
    host_cudaHostGetDevicePointer(placeOf(device), memory, flags))
TENON_DRIVER(cuMemHostGetFlags, kContext, (unsigned int* flags, void* memory), host_cudaHostGetFlags(flags, memory))
TENON_DRIVER(cuMemHostRegister_v2, kContext, (void* memory, size_t bytes, unsigned int flags),
    host_cudaHostRegister(memory, bytes, flags))
TENON_DRIVER(cuMemHostUnregister, kContext, (void* memory), host_cudaHostUnregister(memory))
TENON_DRIVER(cuMemAllocManaged, kContext, (CUdeviceptr * memory, size_t bytes, unsigned int flags),
    bytes == 0 ? cudaErrorInvalidValue : host_cudaMallocManaged(placeOf(memory), bytes, flags))
TENON_DRIVER(cuPointerGetAttribute, kDriver, (void* place, CUpointer_attribute attribute, CUdeviceptr address),
    attributeOf(place, attribute, address))
TENON_DRIVER(cuPointerGetAttributes, kDriver,
    (unsigned int count, CUpointer_attribute* attributes, void** places, CUdeviceptr address),
    attributesOf(count, attributes, places, address))
TENON_DRIVER_STREAM(cuMemAllocAsync, (CUdeviceptr * memory, size_t bytes, CUstream stream),
    host_cudaMallocAsync(placeOf(memory), bytes, stream))
TENON_DRIVER_STREAM(
    cuMemFreeAsync, (CUdeviceptr memory, CUstream stream), host_cudaFreeAsync(pointerOf(memory), stream))

TENON_DRIVER_SYNC(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
    copy(pointerOf(to), pointerOf(from), bytes, cudaMemcpyDefault, kIsPerThread))
TENON_DRIVER_SYNC(cuMemcpyHtoD_v2, (CUdeviceptr to, void const* from, size_t bytes),
    copy(pointerOf(to), from, bytes, cudaMemcpyHostToDevice, kIsPerThread))
TENON_DRIVER_SYNC(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes),
    copy(to, pointerOf(from), bytes, cudaMemcpyDeviceToHost, kIsPerThread))
TENON_DRIVER_SYNC(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
    copy(pointerOf(to), pointerOf(from), bytes, cudaMemcpyDeviceToDevice, kIsPerThread))
TENON_DRIVER_STREAM(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
    host_cudaMemcpyAsync(pointerOf(to), pointerOf(from), bytes, cudaMemcpyDefault, stream))
TENON_DRIVER_STREAM(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, void const* from, size_t bytes, CUstream stream),
    host_cudaMemcpyAsync(pointerOf(to), from, bytes, cudaMemcpyHostToDevice, stream))
TENON_DRIVER_STREAM(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
    host_cudaMemcpyAsync(to, pointerOf(from), bytes, cudaMemcpyDeviceToHost, stream))
TENON_DRIVER_STREAM(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
    host_cudaMemcpyAsync(pointerOf(to), pointerOf(from), bytes, cudaMemcpyDeviceToDevice, stream))

TENON_DRIVER_SYNC(
    cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count), fillBytes(to, value, count, kIsPerThread))
TENON_DRIVER_SYNC(
    cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count), fillNow(to, value, count, kIsPerThread))
TENON_DRIVER_SYNC(
    cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, size_t count), fillNow(to, value, count, kIsPerThread))
TENON_DRIVER_STREAM(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
    host_cudaMemsetAsync(pointerOf(to), value, count, stream))
TENON_DRIVER_STREAM(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
    fill(to, value, count, stream))
TENON_DRIVER_STREAM(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
    fill(to, value, count, stream))
