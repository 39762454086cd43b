// Streams and events under CUDA's names.
#include "calls.h"

#include <memory>
#include <new>

using namespace tenon::hostrt;

namespace
{
cudaError_t create(cudaStream_t* stream, unsigned int flags) noexcept
{
    if (stream == nullptr || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking))
        return cudaErrorInvalidValue;
    void* handle{nullptr};
    // Priorities have no effect, as cudaDeviceGetStreamPriorityRange() says: every stream has that of the range.
    TenonHostStatus const status = tenonHostCreateStream(&handle, flags == cudaStreamDefault ? 1 : 0, 0);
    *stream = static_cast<cudaStream_t>(handle);
    return errorOf(status);
}

//! A property of the stream, by what `read` takes of it.
template <typename T, typename Read>
cudaError_t propertyOf(cudaStream_t stream, T* value, Read read) noexcept
{
    if (value == nullptr)
        return cudaErrorInvalidValue;
    TenonHostStream properties;
    TenonHostStatus const status = tenonHostGetStream(stream, &properties);
    if (status == TENON_HOST_OK)
        *value = static_cast<T>(read(properties));
    return errorOf(status);
}

unsigned int flagsOf(TenonHostStream const& properties) noexcept
{
    return properties.isBlocking != 0 ? cudaStreamDefault : cudaStreamNonBlocking;
}

cudaError_t deviceOf(cudaStream_t stream, int* device) noexcept
{
    return propertyOf(stream, device, [](TenonHostStream const&) { return 0; });
}

cudaError_t copyAttributes(cudaStream_t stream, cudaStream_t from) noexcept
{
    TenonHostStream properties; // No attribute of a stream has an effect here.
    TenonHostStatus const status = tenonHostGetStream(stream, &properties);
    return errorOf(status == TENON_HOST_OK ? tenonHostGetStream(from, &properties) : status);
}

//! A function of the program's for each time that the stream comes to it.
struct HostFunction
{
    cudaHostFn_t function;
    void* user;

    static int32_t call(void* self) noexcept
    {
        auto const& own = *static_cast<HostFunction*>(self);
        own.function(own.user);
        return 0;
    }
};

struct Callback
{
    cudaStream_t stream;
    cudaStreamCallback_t function;
    void* user;

    static int32_t call(void* self) noexcept
    {
        auto const& own = *static_cast<Callback*>(self);
        own.function(own.stream, cudaSuccess, own.user);
        return 0;
    }
};

template <typename T>
cudaError_t put(cudaStream_t stream, T const& call) noexcept
{
    auto* const own = new (std::nothrow) T{call};
    if (own == nullptr)
        return cudaErrorMemoryAllocation;
    return errorOf(tenonHostSubmit(stream, &T::call, own, [](void* user) { delete static_cast<T*>(user); }));
}

cudaError_t checkStream(cudaStream_t stream) noexcept
{
    TenonHostStream properties;
    return errorOf(tenonHostGetStream(stream, &properties));
}

cudaError_t launchHost(cudaStream_t stream, cudaHostFn_t function, void* user) noexcept
{
    if (function == nullptr)
        return cudaErrorInvalidValue;
    cudaError_t const error = checkStream(stream);
    // A capture that stream 0 is about to spoil is for the call itself to spoil.
    return error == cudaSuccess || error == cudaErrorStreamCaptureImplicit ? put(stream, HostFunction{function, user})
                                                                           : error;
}

cudaError_t addCallback(cudaStream_t stream, cudaStreamCallback_t function, void* user, unsigned int flags) noexcept
{
    if (function == nullptr || flags != 0)
        return cudaErrorInvalidValue;
    TenonHostStream properties;
    if (TenonHostStatus const status = tenonHostGetStream(stream, &properties); status != TENON_HOST_OK)
        return errorOf(status);
    if (properties.isCapturing != 0) // A graph has no stream to give to it: refused as a synchronize is.
        return errorOf(tenonHostSynchronizeStream(stream));
    return put(stream, Callback{stream, function, user});
}

cudaError_t createEvent(cudaEvent_t* event, unsigned int flags) noexcept
{
    constexpr unsigned int kAll{cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess};
    bool const isShared = (flags & cudaEventInterprocess) != 0;
    if (event == nullptr || (flags & ~kAll) != 0 || (isShared && (flags & cudaEventDisableTiming) == 0))
        return cudaErrorInvalidValue;
    if (isShared)
        return refused("cudaEventCreateWithFlags", "events for several processes need a GPU");
    void* handle{nullptr};
    TenonHostStatus const status = tenonHostCreateEvent(&handle, (flags & cudaEventDisableTiming) == 0 ? 1 : 0);
    *event = static_cast<cudaEvent_t>(handle);
    return errorOf(status);
}

cudaError_t record(cudaEvent_t event, cudaStream_t stream, unsigned int flags) noexcept
{
    if (flags > cudaEventRecordExternal)
        return cudaErrorInvalidValue;
    return errorOf(tenonHostRecordEvent(event, stream, flags == cudaEventRecordExternal ? 1 : 0));
}

cudaError_t wait(cudaStream_t stream, cudaEvent_t event, unsigned int flags) noexcept
{
    if (flags > cudaEventWaitExternal)
        return cudaErrorInvalidValue;
    return errorOf(tenonHostWaitEvent(stream, event, flags == cudaEventWaitExternal ? 1 : 0));
}
} // namespace

TENON_CUDA(cudaStreamCreate, (cudaStream_t * stream), create(stream, cudaStreamDefault))
TENON_CUDA(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags), create(stream, flags))
TENON_CUDA(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned int flags, int), create(stream, flags))
TENON_CUDA(cudaStreamDestroy, (cudaStream_t stream), errorOf(tenonHostDestroyStream(stream)))
TENON_CUDA_STREAM(cudaStreamSynchronize, (cudaStream_t stream), errorOf(tenonHostSynchronizeStream(stream)))
TENON_CUDA_STREAM(cudaStreamQuery, (cudaStream_t stream), errorOf(tenonHostQueryStream(stream)))
TENON_CUDA_STREAM(
    cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags), wait(stream, event, flags))
TENON_CUDA_STREAM(cudaStreamAddCallback,
    (cudaStream_t stream, cudaStreamCallback_t callback, void* user, unsigned int flags),
    addCallback(stream, callback, user, flags))
TENON_CUDA_STREAM(
    cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* user), launchHost(stream, function, user))
TENON_CUDA_STREAM(cudaStreamGetPriority, (cudaStream_t stream, int* priority),
    propertyOf(stream, priority, [](TenonHostStream const& own) { return own.priority; }))
TENON_CUDA_STREAM(cudaStreamGetFlags, (cudaStream_t stream, unsigned int* flags), propertyOf(stream, flags, flagsOf))
TENON_CUDA_STREAM(cudaStreamGetId, (cudaStream_t stream, unsigned long long* id),
    propertyOf(stream, id, [](TenonHostStream const& own) { return own.id; }))
TENON_CUDA_STREAM(cudaStreamGetDevice, (cudaStream_t stream, int* device), deviceOf(stream, device))
TENON_CUDA_STREAM(cudaStreamCopyAttributes, (cudaStream_t stream, cudaStream_t from), copyAttributes(stream, from))

TENON_CUDA(cudaEventCreate, (cudaEvent_t * event), createEvent(event, cudaEventDefault))
TENON_CUDA(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), createEvent(event, flags))
TENON_CUDA(cudaEventDestroy, (cudaEvent_t event), errorOf(tenonHostDestroyEvent(event)))
TENON_CUDA(cudaEventQuery, (cudaEvent_t event), errorOf(tenonHostQueryEvent(event)))
TENON_CUDA(cudaEventSynchronize, (cudaEvent_t event), errorOf(tenonHostSynchronizeEvent(event)))
TENON_CUDA(cudaEventElapsedTime, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
    errorOf(tenonHostElapsed(milliseconds, start, end)))
TENON_CUDA_STREAM(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), record(event, stream, 0))
TENON_CUDA_STREAM(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
    record(event, stream, flags))
