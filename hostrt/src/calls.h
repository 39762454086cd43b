// What every call of this library does: answer with an error of CUDA's, remember it, and exist under two versions.
#pragma once

#include "cuda_profiler_api.h"
#include "cuda_runtime_api.h"
#include "tenon/host.h"

#include <initializer_list>
#include <type_traits>
#include <utility>

namespace tenon::hostrt
{

//! Remembers a mistake for cudaGetLastError().
cudaError_t noted(cudaError_t error) noexcept;
//! CUDA's word for it, where handles are what the call is about.
cudaError_t errorOf(TenonHostStatus status) noexcept;
//! Where addresses are.
cudaError_t memoryErrorOf(TenonHostStatus status) noexcept;
//! Says once per name, on stderr, that the call cannot do anything here; the error to return.
cudaError_t refused(char const* name, char const* why) noexcept;
//! Handle 0 as programs mean it that ask for a stream per thread.
inline cudaStream_t perThread(cudaStream_t stream) noexcept
{
    return stream == nullptr ? cudaStreamPerThread : stream;
}
//! Frees by `release`, with the memory off the account of the pool that it came from, if any: before, since others may
//! have the same address a moment after. A failure puts it back.
TenonHostStatus leavePool(void* memory, void* stream, TenonHostStatus (*release)(void* memory, void* stream)) noexcept;
//! There is one device, number 0.
inline cudaError_t checkDevice(int device) noexcept
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

} // namespace tenon::hostrt

//! Exports `call` as `name`, under the version that links give it and under the one that programs ask for that were
//! built for version 12 of the runtime. Each version needs a symbol of its own.
#define TENON_EXPORT(name, call)                                                                                       \
    extern "C" __attribute__((visibility("default"), alias(#call))) decltype(call) version12_##name;                   \
    __asm__(".symver " #call "," #name "@@libcudart.so.13");                                                           \
    __asm__(".symver version12_" #name "," #name "@libcudart.so.12");

//! A call whose parameters differ between versions in what this library does not read: `PARAMETERS` are those that it
//! does.
#define TENON_CUDA_FREELY(name, PARAMETERS, ...)                                                                       \
    extern "C" TENON_HOSTRT_CALL cudaError_t host_##name PARAMETERS                                                    \
    {                                                                                                                  \
        return ::tenon::hostrt::noted((__VA_ARGS__));                                                                  \
    }                                                                                                                  \
    TENON_EXPORT(name, host_##name)

//! A call: its name, its parameters in parentheses, and the expression of its answer. The header declares the same.
#define TENON_CUDA(name, PARAMETERS, ...)                                                                              \
    TENON_CUDA_FREELY(name, PARAMETERS, __VA_ARGS__)                                                                   \
    static_assert(std::is_same_v<decltype(host_##name), decltype(::name)>);

//! A call on a parameter `stream`, and the same with streams of each thread's own.
#define TENON_CUDA_STREAM(name, PARAMETERS, ...)                                                                       \
    TENON_CUDA_FREELY(name, PARAMETERS, __VA_ARGS__)                                                                   \
    extern "C" TENON_HOSTRT_CALL cudaError_t host_##name##_ptsz PARAMETERS                                             \
    {                                                                                                                  \
        stream = ::tenon::hostrt::perThread(stream);                                                                   \
        return ::tenon::hostrt::noted((__VA_ARGS__));                                                                  \
    }                                                                                                                  \
    TENON_EXPORT(name##_ptsz, host_##name##_ptsz)

//! A call that only a GPU can do.
#define TENON_CUDA_REFUSED(name, why) TENON_CUDA_FREELY(name, (), ::tenon::hostrt::refused(#name, why))

//! A call with a body and an answer of its own.
#define TENON_CUDA_BODY(type, name, PARAMETERS)                                                                        \
    extern "C" TENON_HOSTRT_CALL type host_##name PARAMETERS;                                                          \
    TENON_EXPORT(name, host_##name)                                                                                    \
    extern "C" type host_##name PARAMETERS
