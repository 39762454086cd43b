// Memory: all of it the host's, told apart by what the program said it was for.
#include "calls.h"

using namespace tenon::hostrt;

namespace
{
constexpr size_t kPitchAlignment{512};

cudaError_t allocate(void** memory, size_t bytes, TenonHostKind kind, unsigned int flags = 0) noexcept
{
    return memoryErrorOf(tenonHostAllocate(memory, bytes, kind, flags));
}

cudaError_t allocatePinned(void** memory, size_t bytes, unsigned int flags) noexcept
{
    constexpr unsigned int kAll{cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined};
    return (flags & ~kAll) != 0 ? cudaErrorInvalidValue : allocate(memory, bytes, TENON_HOST_PINNED, flags);
}

cudaError_t allocateManaged(void** memory, size_t bytes, unsigned int flags) noexcept
{
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
        return cudaErrorInvalidValue;
    return allocate(memory, bytes, TENON_HOST_MANAGED, flags);
}

//! False: more than any memory has.
bool isProduct(size_t* product, size_t one, size_t other) noexcept
{
    return !__builtin_mul_overflow(one, other, product);
}

cudaError_t allocateRows(void** memory, size_t* pitch, size_t width, size_t rows) noexcept
{
    if (pitch == nullptr)
        return cudaErrorInvalidValue;
    size_t bytes{0};
    size_t const units = width / kPitchAlignment + (width % kPitchAlignment == 0 ? 0 : 1);
    if (!isProduct(pitch, units, kPitchAlignment) || !isProduct(&bytes, *pitch, rows))
        return cudaErrorMemoryAllocation;
    return allocate(memory, bytes, TENON_HOST_DEVICE);
}

cudaError_t allocateBlock(cudaPitchedPtr* memory, cudaExtent const& extent) noexcept
{
    if (memory == nullptr)
        return cudaErrorInvalidValue;
    memory->xsize = extent.width;
    memory->ysize = extent.height;
    size_t rows{0};
    if (!isProduct(&rows, extent.height, extent.depth))
        return cudaErrorMemoryAllocation;
    return allocateRows(&memory->ptr, &memory->pitch, extent.width, rows);
}

cudaError_t release(void* memory, bool isPinned) noexcept
{
    if (memory == nullptr)
        return cudaSuccess;
    TenonHostMemory found;
    tenonHostFind(memory, &found);
    if ((found.kind == TENON_HOST_PINNED) != isPinned)
        return cudaErrorInvalidValue;
    return memoryErrorOf(leavePool(memory, nullptr, [](void* each, void*) { return tenonHostFree(each); }));
}

cudaError_t enlist(void* memory, size_t bytes, unsigned int flags) noexcept
{
    TenonHostStatus const status = tenonHostRegister(memory, bytes, flags);
    return status == TENON_HOST_TWICE ? cudaErrorHostMemoryAlreadyRegistered : memoryErrorOf(status);
}

cudaError_t unlist(void* memory) noexcept
{
    if (memory == nullptr)
        return cudaErrorInvalidValue;
    TenonHostStatus const status = tenonHostUnregister(memory);
    return status == TENON_HOST_BAD_HANDLE ? cudaErrorHostMemoryNotRegistered : memoryErrorOf(status);
}

bool isHosts(TenonHostKind kind) noexcept
{
    return kind == TENON_HOST_PINNED || kind == TENON_HOST_REGISTERED;
}

cudaError_t deviceAddress(void** device, void* memory, unsigned int flags) noexcept
{
    TenonHostMemory found;
    tenonHostFind(memory, &found);
    if (device == nullptr || flags != 0 || !isHosts(found.kind))
        return cudaErrorInvalidValue;
    *device = memory;
    return cudaSuccess;
}

cudaError_t flagsOf(unsigned int* flags, void* memory) noexcept
{
    TenonHostMemory found;
    tenonHostFind(memory, &found);
    if (flags == nullptr || !isHosts(found.kind))
        return cudaErrorInvalidValue;
    *flags = found.flags | cudaHostAllocMapped; // All memory is mapped.
    return cudaSuccess;
}

cudaMemoryType typeOf(TenonHostKind kind) noexcept
{
    switch (kind)
    {
    case TENON_HOST_UNKNOWN: break;
    case TENON_HOST_DEVICE: return cudaMemoryTypeDevice;
    case TENON_HOST_PINNED: return cudaMemoryTypeHost;
    case TENON_HOST_MANAGED: return cudaMemoryTypeManaged;
    case TENON_HOST_REGISTERED: return cudaMemoryTypeHost;
    }
    return cudaMemoryTypeUnregistered;
}

//! Only what version 12 has of the struct, as callers may have no more room than that.
cudaError_t attributesOf(cudaPointerAttributes* attributes, void const* memory) noexcept
{
    if (attributes == nullptr)
        return cudaErrorInvalidValue;
    TenonHostMemory found;
    tenonHostFind(memory, &found);
    auto* const address = const_cast<void*>(memory);
    attributes->type = typeOf(found.kind);
    attributes->device = found.kind == TENON_HOST_UNKNOWN ? cudaInvalidDeviceId : 0;
    attributes->devicePointer = found.kind == TENON_HOST_UNKNOWN ? nullptr : address;
    attributes->hostPointer = found.kind == TENON_HOST_DEVICE ? nullptr : address;
    return cudaSuccess;
}

cudaError_t memoryLeft(size_t* free, size_t* total) noexcept
{
    uint64_t left{0};
    uint64_t all{0};
    tenonHostMemoryInfo(&left, &all);
    if (free != nullptr)
        *free = left;
    if (total != nullptr)
        *total = all;
    return cudaSuccess;
}

//! Prefetches and advice name memory that the device and the host share; there is nothing to move.
cudaError_t checkShared(void const* memory, size_t bytes) noexcept
{
    TenonHostMemory found;
    tenonHostFind(memory, &found);
    auto const offset = static_cast<uint64_t>(static_cast<char const*>(memory) - static_cast<char*>(found.base));
    bool const isWithin = found.kind == TENON_HOST_MANAGED && bytes > 0 && offset + bytes <= found.bytes;
    return isWithin ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t attach(void* memory, unsigned int flags, cudaStream_t stream) noexcept
{
    TenonHostStream properties;
    if (TenonHostStatus const status = tenonHostGetStream(stream, &properties); status != TENON_HOST_OK)
        return errorOf(status);
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        return cudaErrorInvalidValue;
    return checkShared(memory, 1);
}
} // namespace

TENON_CUDA(cudaMalloc, (void** memory, size_t bytes), allocate(memory, bytes, TENON_HOST_DEVICE))
TENON_CUDA(cudaMallocHost, (void** memory, size_t bytes), allocate(memory, bytes, TENON_HOST_PINNED))
TENON_CUDA(cudaHostAlloc, (void** memory, size_t bytes, unsigned int flags), allocatePinned(memory, bytes, flags))
TENON_CUDA(cudaMallocManaged, (void** memory, size_t bytes, unsigned int flags), allocateManaged(memory, bytes, flags))
TENON_CUDA(cudaMallocPitch, (void** memory, size_t* pitch, size_t width, size_t height),
    allocateRows(memory, pitch, width, height))
TENON_CUDA(cudaMalloc3D, (cudaPitchedPtr * memory, cudaExtent extent), allocateBlock(memory, extent))
TENON_CUDA(cudaFree, (void* memory), release(memory, false))
TENON_CUDA(cudaFreeHost, (void* memory), release(memory, true))
TENON_CUDA(cudaHostRegister, (void* memory, size_t bytes, unsigned int flags), enlist(memory, bytes, flags))
TENON_CUDA(cudaHostUnregister, (void* memory), unlist(memory))
TENON_CUDA(
    cudaHostGetDevicePointer, (void** device, void* memory, unsigned int flags), deviceAddress(device, memory, flags))
TENON_CUDA(cudaHostGetFlags, (unsigned int* flags, void* memory), flagsOf(flags, memory))
TENON_CUDA(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, void const* memory),
    attributesOf(attributes, memory))
TENON_CUDA(cudaMemGetInfo, (size_t * free, size_t* total), memoryLeft(free, total))
TENON_CUDA_STREAM(cudaStreamAttachMemAsync, (cudaStream_t stream, void* memory, size_t, unsigned int flags),
    attach(memory, flags, stream))

// Versions 12 and 13 pass the place in different ways; it does not matter here.
TENON_CUDA_FREELY(cudaMemPrefetchAsync, (void const* memory, size_t bytes), checkShared(memory, bytes))
TENON_CUDA_FREELY(cudaMemPrefetchAsync_ptsz, (void const* memory, size_t bytes), checkShared(memory, bytes))
TENON_CUDA_FREELY(cudaMemAdvise, (void const* memory, size_t bytes), checkShared(memory, bytes))
TENON_CUDA_FREELY(cudaMemPrefetchAsync_v2, (void const* memory, size_t bytes), checkShared(memory, bytes))
TENON_CUDA_FREELY(cudaMemPrefetchAsync_v2_ptsz, (void const* memory, size_t bytes), checkShared(memory, bytes))
TENON_CUDA_FREELY(cudaMemAdvise_v2, (void const* memory, size_t bytes), checkShared(memory, bytes))
