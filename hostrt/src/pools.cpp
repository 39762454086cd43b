// Memory in the order of streams, and the pools that programs take it from: the host's heap, with an account for each.
#include "calls.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

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
    std::mutex mutex; //!< Nothing is called while it is held.
    std::shared_ptr<Pool> standard{std::make_shared<Pool>()};
    std::shared_ptr<Pool> present{standard}; //!< What cudaMallocAsync() takes from.
    std::map<Pool*, std::shared_ptr<Pool>> created;
    struct Piece
    {
        std::shared_ptr<Pool> pool; //!< Also when the program has destroyed it since.
        uint64_t bytes{0};
    };
    std::map<void*, Piece> pieces;

    std::shared_ptr<Pool> find(Pool* pool) const
    {
        if (pool == standard.get())
            return standard;
        auto const found = created.find(pool);
        return found == created.end() ? nullptr : found->second;
    }
    bool has(Pool* pool) const
    {
        return find(pool) != nullptr;
    }
};

Pools* makePools();

Pools& pools()
{
    static Pools* const all = makePools(); // Never destroyed: programs free until the very end.
    return *all;
}

//! A child finds the accounts as they were at fork(), whoever was writing then.
Pools* makePools()
{
    pthread_atfork(
        [] { pools().mutex.lock(); }, [] { pools().mutex.unlock(); }, [] { std::construct_at(&pools().mutex); });
    return new Pools;
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
    std::shared_ptr<Pool> from;
    cudaError_t const found = locked([&](Pools& all) {
        from = pool == nullptr ? all.present : all.find(pool);
        return from == nullptr ? cudaErrorInvalidValue : cudaSuccess;
    });
    if (found != cudaSuccess)
        return found;
    TenonHostStatus const status = tenonHostAllocate(memory, bytes, TENON_HOST_DEVICE, 0);
    if (status != TENON_HOST_OK || *memory == nullptr)
        return memoryErrorOf(status);
    cudaError_t const entered = locked([&](Pools& all) {
        auto const [row, isNew] = all.pieces.try_emplace(*memory);
        if (!isNew) // Tenon's own calls freed what was there.
            row->second.pool->used -= row->second.bytes;
        row->second = {from, bytes};
        from->used += bytes;
        from->peak = std::max(from->peak, from->used);
        return cudaSuccess;
    });
    if (entered != cudaSuccess)
        static_cast<void>(tenonHostFree(std::exchange(*memory, nullptr)));
    return entered;
}

cudaError_t giveBack(void* memory, cudaStream_t stream) noexcept
{
    TenonHostStatus const status =
        tenon::hostrt::leavePool(memory, stream, [](void* each, void* in) { return tenonHostFreeAsync(each, in); });
    if (status == TENON_HOST_BAD_HANDLE)
    {
        cudaError_t const error = checkStream(stream);
        return error == cudaSuccess ? cudaErrorInvalidValue : error;
    }
    return errorOf(status);
}

cudaError_t create(cudaMemPool_t* pool, cudaMemPoolProps const* properties) noexcept
{
    if (pool == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned)
        return cudaErrorInvalidValue;
    if (properties->handleTypes != cudaMemHandleTypeNone)
        return refused("cudaMemPoolCreate", "pools for several processes need a GPU");
    return locked([&](Pools& all) {
        auto const own = std::make_shared<Pool>();
        all.created.emplace(own.get(), own);
        *pool = own.get();
        return cudaSuccess;
    });
}

cudaError_t destroy(cudaMemPool_t pool) noexcept
{
    return locked([&](Pools& all) {
        if (all.present.get() == pool)
            all.present = all.standard;
        return all.created.erase(pool) == 1 ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t select(int device, cudaMemPool_t pool) noexcept
{
    if (cudaError_t const error = checkDevice(device); error != cudaSuccess)
        return error;
    return locked([&](Pools& all) {
        std::shared_ptr<Pool> own = all.find(pool);
        if (own == nullptr)
            return cudaErrorInvalidValue;
        all.present = std::move(own);
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
        *pool = (isPresent ? all.present : all.standard).get();
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

TenonHostStatus tenon::hostrt::leavePool(
    void* memory, void* stream, TenonHostStatus (*release)(void* memory, void* stream)) noexcept
{
    decltype(Pools::pieces)::node_type row;
    {
        std::scoped_lock const lock{pools().mutex};
        row = pools().pieces.extract(memory);
        if (!row.empty())
            row.mapped().pool->used -= row.mapped().bytes;
    }
    TenonHostStatus const status = release(memory, stream);
    if (status != TENON_HOST_OK && !row.empty())
    {
        std::scoped_lock const lock{pools().mutex};
        row.mapped().pool->used += row.mapped().bytes;
        pools().pieces.insert(std::move(row));
    }
    return status;
}

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
