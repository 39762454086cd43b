// Contexts of the driver's: the primary one, which is the runtime's, and those that programs make. All of them have the
// same memory, streams and events: what is kept is which of them is current where.
#include "driver.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <vector>

struct CUctx_st
{
    unsigned int flags{0};
};

using namespace tenon::hostrt;

TENON_RUNTIME(cudaDeviceGetStreamPriorityRange)
TENON_RUNTIME(cudaDeviceReset)
TENON_RUNTIME(cudaDeviceSynchronize)

namespace
{
constexpr unsigned int kApiVersion{3020};

struct Contexts
{
    std::mutex mutex;
    std::set<CUcontext> made;
    CUctx_st primary;
    int retained{0};
};

Contexts& contexts() noexcept
{
    static auto* const all = new Contexts; // Never destroyed: programs call until the very end.
    return *all;
}

std::atomic<bool> gIsInitialized{false};
thread_local std::vector<CUcontext> tCurrent;

bool isLive(CUcontext context) noexcept
{
    Contexts& all = contexts();
    std::scoped_lock const lock{all.mutex};
    return context == &all.primary || all.made.contains(context);
}

//! Null: none.
CUcontext current() noexcept
{
    if (!tCurrent.empty())
        return tCurrent.back();
    return runtimeState().isUsed ? primaryContext() : nullptr;
}

CUresult initialize(unsigned int flags) noexcept
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    gIsInitialized = true;
    return CUDA_SUCCESS;
}

CUresult checkedDevice(CUdevice device) noexcept
{
    return resultOf(checkDevice(device));
}

CUresult push(CUcontext context) noexcept
{
    if (!isLive(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    try
    {
        tCurrent.push_back(context);
    }
    catch (std::bad_alloc const&)
    {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult pop(CUcontext* context) noexcept
{
    CUcontext const top = current();
    if (top == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr)
        *context = top;
    if (tCurrent.empty())
        runtimeState().isUsed = false; // Until the next call of the runtime.
    else
        tCurrent.pop_back();
    return CUDA_SUCCESS;
}

CUresult set(CUcontext context) noexcept
{
    if (context == nullptr)
        return current() == nullptr ? CUDA_SUCCESS : pop(nullptr);
    if (!isLive(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (tCurrent.empty())
        return push(context);
    tCurrent.back() = context;
    return CUDA_SUCCESS;
}

CUresult give(CUcontext* place, CUcontext context) noexcept
{
    if (place == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *place = context;
    return CUDA_SUCCESS;
}

CUresult create(CUcontext* place, unsigned int flags, CUdevice device) noexcept
{
    if (place == nullptr || (flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const result = checkedDevice(device); result != CUDA_SUCCESS)
        return result;
    try
    {
        auto context = std::make_unique<CUctx_st>(CUctx_st{flags});
        {
            std::scoped_lock const lock{contexts().mutex};
            contexts().made.insert(context.get());
        }
        *place = context.release();
    }
    catch (std::bad_alloc const&)
    {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return push(*place);
}

CUresult destroy(CUcontext context) noexcept
{
    {
        std::scoped_lock const lock{contexts().mutex};
        if (contexts().made.erase(context) == 0)
            return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!tCurrent.empty() && tCurrent.back() == context)
        tCurrent.pop_back();
    tenonHostDrainAll(); // What it would have ended: memory and streams are those of all contexts.
    delete context;
    return CUDA_SUCCESS;
}

CUresult retain(CUcontext* place, CUdevice device) noexcept
{
    if (place == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const result = checkedDevice(device); result != CUDA_SUCCESS)
        return result;
    std::scoped_lock const lock{contexts().mutex};
    ++contexts().retained;
    *place = &contexts().primary;
    return CUDA_SUCCESS;
}

CUresult release(CUdevice device) noexcept
{
    if (CUresult const result = checkedDevice(device); result != CUDA_SUCCESS)
        return result;
    std::scoped_lock const lock{contexts().mutex};
    if (contexts().retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    --contexts().retained;
    return CUDA_SUCCESS;
}

CUresult stateOf(CUdevice device, unsigned int* flags, int* isActive) noexcept
{
    if (flags == nullptr || isActive == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const result = checkedDevice(device); result != CUDA_SUCCESS)
        return result;
    std::scoped_lock const lock{contexts().mutex};
    *flags = contexts().primary.flags;
    *isActive = contexts().retained > 0 || runtimeState().isUsed ? 1 : 0;
    return CUDA_SUCCESS;
}

CUresult setFlags(CUdevice device, unsigned int flags) noexcept
{
    if ((flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const result = checkedDevice(device); result != CUDA_SUCCESS)
        return result;
    std::scoped_lock const lock{contexts().mutex};
    contexts().primary.flags = flags;
    return CUDA_SUCCESS;
}

CUresult flagsOf(unsigned int* flags) noexcept
{
    if (flags == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::scoped_lock const lock{contexts().mutex};
    *flags = current()->flags;
    return CUDA_SUCCESS;
}

CUresult versionOf(CUcontext context, unsigned int* version) noexcept
{
    if (version == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (context == nullptr ? current() == nullptr : !isLive(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    *version = kApiVersion;
    return CUDA_SUCCESS;
}

CUresult deviceOf(CUdevice* device) noexcept
{
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *device = 0;
    return CUDA_SUCCESS;
}
} // namespace

namespace tenon::hostrt
{

CUcontext primaryContext() noexcept
{
    return &contexts().primary;
}

CUresult ready(Needs needs) noexcept
{
    if (needs == Needs::kNothing)
        return CUDA_SUCCESS;
    if (!gIsInitialized && !runtimeState().isUsed)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (needs == Needs::kDriver)
        return CUDA_SUCCESS;
    CUcontext const context = current();
    if (context == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    return isLive(context) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

} // namespace tenon::hostrt

TENON_DRIVER(cuInit, kNothing, (unsigned int flags), initialize(flags))
TENON_DRIVER(cuDevicePrimaryCtxRetain, kDriver, (CUcontext * context, CUdevice device), retain(context, device))
TENON_DRIVER(cuDevicePrimaryCtxRelease_v2, kDriver, (CUdevice device), release(device))
TENON_DRIVER(cuDevicePrimaryCtxReset_v2, kDriver, (CUdevice device),
    device == 0 ? host_cudaDeviceReset() : cudaErrorInvalidDevice)
TENON_DRIVER(cuDevicePrimaryCtxGetState, kDriver, (CUdevice device, unsigned int* flags, int* isActive),
    stateOf(device, flags, isActive))
TENON_DRIVER(cuDevicePrimaryCtxSetFlags_v2, kDriver, (CUdevice device, unsigned int flags), setFlags(device, flags))
TENON_DRIVER(
    cuCtxCreate_v2, kDriver, (CUcontext * context, unsigned int flags, CUdevice device), create(context, flags, device))
TENON_DRIVER(cuCtxCreate_v4, kDriver, (CUcontext * context, CUctxCreateParams*, unsigned int flags, CUdevice device),
    create(context, flags, device))
TENON_DRIVER(cuCtxDestroy_v2, kDriver, (CUcontext context), destroy(context))
TENON_DRIVER(cuCtxGetCurrent, kDriver, (CUcontext * context), give(context, current()))
TENON_DRIVER(cuCtxGetDevice, kContext, (CUdevice * device), deviceOf(device))
TENON_DRIVER(cuCtxGetFlags, kContext, (unsigned int* flags), flagsOf(flags))
TENON_DRIVER(cuCtxGetApiVersion, kDriver, (CUcontext context, unsigned int* version), versionOf(context, version))
TENON_DRIVER(cuCtxGetStreamPriorityRange, kContext, (int* least, int* greatest),
    host_cudaDeviceGetStreamPriorityRange(least, greatest))
TENON_DRIVER(cuCtxSynchronize, kContext, (), host_cudaDeviceSynchronize())

// These change what the runtime knows: whether the thread has its context.
extern "C" TENON_HOSTRT_CALL CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult const result = ready(Needs::kDriver);
    return result == CUDA_SUCCESS ? push(context) : result;
}
extern "C" TENON_HOSTRT_CALL CUresult cuCtxPopCurrent_v2(CUcontext* context)
{
    CUresult const result = ready(Needs::kDriver);
    return result == CUDA_SUCCESS ? pop(context) : result;
}
extern "C" TENON_HOSTRT_CALL CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult const result = ready(Needs::kDriver);
    return result == CUDA_SUCCESS ? set(context) : result;
}
