// Memory in the order of streams, and the pools that programs take it from: the host's heap, with an account for each.
#include "calls.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>

using namespace tenon::hostrt;

struct CUmemPoolHandle_st
{
    uint64_t threshold{0};
    int reuse[3]{1, 1, 1};
    uint64_t used{0};
    uint64_t peak{0};
};

namespace
{
using Pool = CUmemPoolHandle_st;

struct Pools
{
    std::mutex mutex;
    Pool standard;
    Pool* present{&standard}; //!< What cudaMallocAsync() takes from.
    std::map<Pool*, std::unique_ptr<Pool>> created;
    struct Piece
    {
        Pool* pool;
        uint64_t bytes;
    };
    std::map<void*, Piece> pieces;

    bool has(Pool* pool) const
    {
        return pool == &standard || created.contains(pool);
    }
};

Pools& pools()
{
    static auto* const all = new Pools; // Never destroyed: programs free until the very end.
    return *all;
}

//! Runs it with the table held; a lack of memory is CUDA's error.
template <typename Work>
cudaError_t locked(Work work) noexcept
{
    try
    {
        std::scoped_lock const lock{pools().mutex};
        return work(pools());
    }
    catch (std::bad_alloc const&)
    {
        return cudaErrorMemoryAllocation;
    }
}

cudaError_t checkStream(cudaStream_t stream) noexcept
{
    TenonHostStream properties;
    return errorOf(tenonHostGetStream(stream, &properties));
}

cudaError_t take(void** memory, size_t bytes, Pool* pool, cudaStream_t stream) noexcept
{
    if (memory == nullptr)
        return cudaErrorInvalidValue;
    if (cudaError_t const error = checkStream(stream); error != cudaSuccess)
        return error;
    return locked([&](Pools& all) {
        Pool* const from = pool == nullptr ? all.present : pool;
        if (!all.has(from))
            return cudaErrorInvalidValue;
        TenonHostStatus const status = tenonHostAllocate(memory, bytes, TENON_HOST_DEVICE, 0);
        if (status != TENON_HOST_OK || *memory == nullptr)
            return memoryErrorOf(status);
        all.pieces[*memory] = {from, bytes};
        from->used += bytes;
        from->peak = from->used > from->peak ? from->used : from->peak;
        return cudaSuccess;
    });
}

cudaError_t giveBack(void* memory, cudaStream_t stream) noexcept
{
    TenonHostStatus const status = tenonHostFreeAsync(memory, stream);
    if (status == TENON_HOST_BAD_HANDLE)
    {
        cudaError_t const error = checkStream(stream);
        return error == cudaSuccess ? cudaErrorInvalidValue : error;
    }
    if (status != TENON_HOST_OK)
        return errorOf(status);
    return locked([&](Pools& all) {
        auto const piece = all.pieces.find(memory);
        if (piece == all.pieces.end())
            return cudaSuccess; // Of cudaMalloc().
        if (all.has(piece->second.pool))
            piece->second.pool->used -= piece->second.bytes;
        all.pieces.erase(piece);
        return cudaSuccess;
    });
}

cudaError_t create(cudaMemPool_t* pool, cudaMemPoolProps const* properties) noexcept
{
    if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned)
        return cudaErrorInvalidValue;
    if (properties->handleTypes != cudaMemHandleTypeNone)
        return refused("cudaMemPoolCreate", "pools for several processes need a GPU");
    return locked([&](Pools& all) {
        auto own = std::make_unique<Pool>();
        *pool = own.get();
        all.created.emplace(own.get(), std::move(own));
        return cudaSuccess;
    });
}

cudaError_t destroy(cudaMemPool_t pool) noexcept
{
    return locked([&](Pools& all) {
        if (all.present == pool)
            all.present = &all.standard;
        return all.created.erase(pool) == 1 ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t select(int device, cudaMemPool_t pool) noexcept
{
    if (cudaError_t const error = checkDevice(device); error != cudaSuccess)
        return error;
    return locked([&](Pools& all) {
        if (!all.has(pool))
            return cudaErrorInvalidValue;
        all.present = pool;
        return cudaSuccess;
    });
}

cudaError_t poolOf(cudaMemPool_t* pool, int device, bool isPresent) noexcept
{
    if (cudaError_t const error = checkDevice(device); error != cudaSuccess)
        return error;
    if (pool == nullptr)
        return cudaErrorInvalidValue;
    return locked([&](Pools& all) {
        *pool = isPresent ? all.present : &all.standard;
        return cudaSuccess;
    });
}

cudaError_t setAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void const* value) noexcept
{
    return locked([&](Pools& all) {
        if (!all.has(pool) || value == nullptr)
            return cudaErrorInvalidValue;
        switch (attribute)
        {
        case cudaMemPoolReuseFollowEventDependencies:
        case cudaMemPoolReuseAllowOpportunistic:
        case cudaMemPoolReuseAllowInternalDependencies:
            pool->reuse[attribute - cudaMemPoolReuseFollowEventDependencies] = *static_cast<int const*>(value);
            return cudaSuccess;
        case cudaMemPoolAttrReleaseThreshold:
            pool->threshold = *static_cast<uint64_t const*>(value);
            return cudaSuccess;
        case cudaMemPoolAttrReservedMemHigh:
        case cudaMemPoolAttrUsedMemHigh:
            if (*static_cast<uint64_t const*>(value) != 0) // The peak can be started anew, and nothing else.
                return cudaErrorInvalidValue;
            pool->peak = pool->used;
            return cudaSuccess;
        default: return cudaErrorInvalidValue;
        }
    });
}

cudaError_t getAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) noexcept
{
    return locked([&](Pools& all) {
        if (!all.has(pool) || value == nullptr)
            return cudaErrorInvalidValue;
        auto const give = [&](uint64_t number) {
            *static_cast<uint64_t*>(value) = number;
            return cudaSuccess;
        };
        switch (attribute)
        {
        case cudaMemPoolReuseFollowEventDependencies:
        case cudaMemPoolReuseAllowOpportunistic:
        case cudaMemPoolReuseAllowInternalDependencies:
            *static_cast<int*>(value) = pool->reuse[attribute - cudaMemPoolReuseFollowEventDependencies];
            return cudaSuccess;
        case cudaMemPoolAttrReleaseThreshold: return give(pool->threshold);
        case cudaMemPoolAttrReservedMemCurrent: // The heap keeps nothing back for a pool.
        case cudaMemPoolAttrUsedMemCurrent: return give(pool->used);
        case cudaMemPoolAttrReservedMemHigh:
        case cudaMemPoolAttrUsedMemHigh: return give(pool->peak);
        default: return cudaErrorInvalidValue;
        }
    });
}

cudaError_t checkPool(cudaMemPool_t pool) noexcept
{
    return locked([&](Pools& all) { return all.has(pool) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t setAccess(cudaMemPool_t pool, cudaMemAccessDesc const* list, size_t count) noexcept
{
    if (list == nullptr && count > 0)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; ++i)
        if (list[i].location.type != cudaMemLocationTypeDevice || list[i].location.id != 0
            || list[i].flags != cudaMemAccessFlagsProtReadWrite) // The one device always has access.
            return cudaErrorInvalidDevice;
    return checkPool(pool);
}

cudaError_t getAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation const* location) noexcept
{
    if (flags == nullptr || location == nullptr)
        return cudaErrorInvalidValue;
    *flags = cudaMemAccessFlagsProtReadWrite;
    return checkPool(pool);
}
} // namespace

TENON_CUDA_STREAM(
    cudaMallocAsync, (void** memory, size_t bytes, cudaStream_t stream), take(memory, bytes, nullptr, stream))
TENON_CUDA_STREAM(cudaMallocFromPoolAsync, (void** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
    pool == nullptr ? cudaErrorInvalidValue : take(memory, bytes, pool, stream))
TENON_CUDA_STREAM(cudaFreeAsync, (void* memory, cudaStream_t stream), giveBack(memory, stream))
TENON_CUDA(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), poolOf(pool, device, false))
TENON_CUDA(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), poolOf(pool, device, true))
TENON_CUDA(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), select(device, pool))
TENON_CUDA(cudaMemPoolCreate, (cudaMemPool_t * pool, cudaMemPoolProps const* properties), create(pool, properties))
TENON_CUDA(cudaMemPoolDestroy, (cudaMemPool_t pool), destroy(pool))
TENON_CUDA(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t), checkPool(pool))
TENON_CUDA(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
    setAttribute(pool, attribute, value))
TENON_CUDA(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
    getAttribute(pool, attribute, value))
TENON_CUDA(cudaMemPoolSetAccess, (cudaMemPool_t pool, cudaMemAccessDesc const* list, size_t count),
    setAccess(pool, list, count))
TENON_CUDA(cudaMemPoolGetAccess, (cudaMemAccessFlags * flags, cudaMemPool_t pool, cudaMemLocation* location),
    getAccess(flags, pool, location))
