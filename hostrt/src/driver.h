// What every call of the driver's does: ask whether the driver was initialized and a context is current, and answer by
// what the runtime's call of that purpose does, which hears nothing of it.
#pragma once

#include "calls.h"
#include "cuda.h"

namespace tenon::hostrt
{

//! What the runtime knows of a thread.
struct RuntimeState
{
    cudaError_t last{cudaSuccess};
    bool isUsed{false}; //!< The thread has called it, which makes the primary context current there.
};
RuntimeState& runtimeState() noexcept;

//! Calls of the runtime in its scope leave no trace in what the runtime knows.
class AsideOfRuntime
{
  public:
    AsideOfRuntime() noexcept = default;
    AsideOfRuntime(AsideOfRuntime const&) = delete;
    AsideOfRuntime& operator=(AsideOfRuntime const&) = delete;
    ~AsideOfRuntime()
    {
        runtimeState() = mBefore;
    }

  private:
    RuntimeState mBefore{runtimeState()};
};

enum class Needs
{
    kNothing,
    kDriver, //!< cuInit(), or any call of the runtime.
    kContext,
};
//! CUDA_SUCCESS: it is there.
CUresult ready(Needs needs) noexcept;
//! The runtime's errors have the driver's numbers, but for a few that only the runtime tells apart.
CUresult resultOf(cudaError_t error) noexcept;
CUresult resultOf(CUresult result) noexcept;
CUcontext primaryContext() noexcept;

inline void* pointerOf(CUdeviceptr address) noexcept
{
    return reinterpret_cast<void*>(address);
}
//! Where a runtime's call puts the address that it gives.
inline void** placeOf(CUdeviceptr* address) noexcept
{
    return reinterpret_cast<void**>(address);
}

} // namespace tenon::hostrt

//! A call of the runtime, by its name within this library.
#define TENON_RUNTIME(name) extern "C" decltype(::name) host_##name;

//! A call: its name, what it needs, its parameters in parentheses, and the expression of its answer, an error of the
//! runtime's or a result of the driver's. The header declares the same.
#define TENON_DRIVER(name, NEEDS, PARAMETERS, ...)                                                                     \
    extern "C" TENON_HOSTRT_CALL CUresult name PARAMETERS                                                              \
    {                                                                                                                  \
        if (CUresult const result = ::tenon::hostrt::ready(::tenon::hostrt::Needs::NEEDS); result != CUDA_SUCCESS)     \
            return result;                                                                                             \
        ::tenon::hostrt::AsideOfRuntime const aside;                                                                   \
        return ::tenon::hostrt::resultOf(__VA_ARGS__);                                                                 \
    }

//! A call on a parameter `stream`, and, under a suffix, the same with streams of each thread's own.
#define TENON_DRIVER_STREAM(name, PARAMETERS, ...)                                                                     \
    TENON_DRIVER(name, kContext, PARAMETERS, __VA_ARGS__)                                                              \
    extern "C" TENON_HOSTRT_CALL CUresult name##_ptsz PARAMETERS                                                       \
    {                                                                                                                  \
        if (CUresult const result = ::tenon::hostrt::ready(::tenon::hostrt::Needs::kContext); result != CUDA_SUCCESS)  \
            return result;                                                                                             \
        ::tenon::hostrt::AsideOfRuntime const aside;                                                                   \
        stream = ::tenon::hostrt::perThread(stream);                                                                   \
        return ::tenon::hostrt::resultOf(__VA_ARGS__);                                                                 \
    }

//! A call that is done when it returns: `stream` is 0, and with a suffix the stream of each thread's own.
#define TENON_DRIVER_SYNC(name, PARAMETERS, ...)                                                                       \
    extern "C" TENON_HOSTRT_CALL CUresult name PARAMETERS                                                              \
    {                                                                                                                  \
        if (CUresult const result = ::tenon::hostrt::ready(::tenon::hostrt::Needs::kContext); result != CUDA_SUCCESS)  \
            return result;                                                                                             \
        ::tenon::hostrt::AsideOfRuntime const aside;                                                                   \
        constexpr bool kIsPerThread{false};                                                                            \
        return ::tenon::hostrt::resultOf(__VA_ARGS__);                                                                 \
    }                                                                                                                  \
    extern "C" TENON_HOSTRT_CALL CUresult name##_ptds PARAMETERS                                                       \
    {                                                                                                                  \
        if (CUresult const result = ::tenon::hostrt::ready(::tenon::hostrt::Needs::kContext); result != CUDA_SUCCESS)  \
            return result;                                                                                             \
        ::tenon::hostrt::AsideOfRuntime const aside;                                                                   \
        constexpr bool kIsPerThread{true};                                                                             \
        return ::tenon::hostrt::resultOf(__VA_ARGS__);                                                                 \
    }
