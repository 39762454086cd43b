// Errors: CUDA's words for what the host's run-time answers, and the last one of each thread.
#include "driver.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace tenon::hostrt
{

namespace
{
thread_local RuntimeState tState;

struct Word
{
    cudaError_t error;
    char const* name;
    char const* text;
};

#define TENON_WORD(error, text)                                                                                        \
    Word                                                                                                               \
    {                                                                                                                  \
        error, #error, text                                                                                            \
    }
constexpr std::array kWords{
    TENON_WORD(cudaSuccess, "no error"),
    TENON_WORD(cudaErrorInvalidValue, "invalid argument"),
    TENON_WORD(cudaErrorMemoryAllocation, "out of memory"),
    TENON_WORD(cudaErrorInitializationError, "initialization error"),
    TENON_WORD(cudaErrorCudartUnloading, "the runtime is being unloaded"),
    TENON_WORD(cudaErrorInvalidConfiguration, "invalid configuration of a launch"),
    TENON_WORD(cudaErrorInvalidPitchValue, "invalid pitch"),
    TENON_WORD(cudaErrorInvalidSymbol, "invalid device symbol"),
    TENON_WORD(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    TENON_WORD(cudaErrorInvalidMemcpyDirection, "invalid direction of a copy"),
    TENON_WORD(cudaErrorInsufficientDriver, "the driver is older than the runtime"),
    TENON_WORD(cudaErrorInvalidDeviceFunction, "invalid device function"),
    TENON_WORD(cudaErrorNoDevice, "no device was found"),
    TENON_WORD(cudaErrorInvalidDevice, "invalid device number"),
    TENON_WORD(cudaErrorInvalidKernelImage, "invalid image of device code"),
    TENON_WORD(cudaErrorNoKernelImageForDevice, "no code for this device"),
    TENON_WORD(cudaErrorUnsupportedLimit, "this device does not have that limit"),
    TENON_WORD(cudaErrorPeerAccessUnsupported, "devices cannot reach each other's memory"),
    TENON_WORD(cudaErrorOperatingSystem, "a call of the operating system failed"),
    TENON_WORD(cudaErrorInvalidResourceHandle, "invalid handle"),
    TENON_WORD(cudaErrorIllegalState, "not possible in the present state"),
    TENON_WORD(cudaErrorSymbolNotFound, "symbol not found"),
    TENON_WORD(cudaErrorNotReady, "not ready"),
    TENON_WORD(cudaErrorIllegalAddress, "illegal address"),
    TENON_WORD(cudaErrorPeerAccessAlreadyEnabled, "access to that device is enabled already"),
    TENON_WORD(cudaErrorPeerAccessNotEnabled, "access to that device is not enabled"),
    TENON_WORD(cudaErrorHostMemoryAlreadyRegistered, "host memory is registered already"),
    TENON_WORD(cudaErrorHostMemoryNotRegistered, "host memory is not registered"),
    TENON_WORD(cudaErrorLaunchFailure, "work of a stream failed"),
    TENON_WORD(cudaErrorNotPermitted, "not permitted"),
    TENON_WORD(cudaErrorNotSupported, "not supported: there is no GPU"),
    TENON_WORD(cudaErrorStreamCaptureUnsupported, "not permitted while a stream captures"),
    TENON_WORD(cudaErrorStreamCaptureInvalidated, "an earlier mistake made the capture invalid"),
    TENON_WORD(cudaErrorStreamCaptureMerge, "two captures would become one"),
    TENON_WORD(cudaErrorStreamCaptureUnmatched, "the capture did not begin in this stream"),
    TENON_WORD(cudaErrorStreamCaptureUnjoined, "the capture has work that was not joined to its first stream"),
    TENON_WORD(cudaErrorStreamCaptureIsolation, "the capture would depend on work outside of it"),
    TENON_WORD(cudaErrorStreamCaptureImplicit, "the capture would depend on the legacy stream"),
    TENON_WORD(cudaErrorCapturedEvent, "not permitted on an event that was recorded in a capture"),
    TENON_WORD(cudaErrorStreamCaptureWrongThread, "the capture was begun by another thread"),
    TENON_WORD(cudaErrorGraphExecUpdateFailure, "the executable graph cannot be changed that way"),
    TENON_WORD(cudaErrorUnknown, "unknown error"),
};
#undef TENON_WORD

Word const* wordOf(cudaError_t error) noexcept
{
    for (Word const& word : kWords)
        if (word.error == error)
            return &word;
    return nullptr;
}
} // namespace

RuntimeState& runtimeState() noexcept
{
    return tState;
}

cudaError_t noted(cudaError_t error) noexcept
{
    tState.isUsed = true;
    if (error != cudaSuccess && error != cudaErrorNotReady) // That is no mistake.
        tState.last = error;
    return error;
}

cudaError_t errorOf(TenonHostStatus status) noexcept
{
    switch (status)
    {
    case TENON_HOST_OK: return cudaSuccess;
    case TENON_HOST_NOT_READY: return cudaErrorNotReady;
    case TENON_HOST_BAD_ARGUMENT: return cudaErrorInvalidValue;
    case TENON_HOST_BAD_HANDLE: return cudaErrorInvalidResourceHandle;
    case TENON_HOST_OUT_OF_MEMORY: return cudaErrorMemoryAllocation;
    case TENON_HOST_FAILED: return cudaErrorLaunchFailure;
    case TENON_HOST_SYSTEM: return cudaErrorOperatingSystem;
    case TENON_HOST_TWICE: return cudaErrorIllegalState;
    case TENON_HOST_CAPTURE_UNSUPPORTED: return cudaErrorStreamCaptureUnsupported;
    case TENON_HOST_CAPTURE_INVALIDATED: return cudaErrorStreamCaptureInvalidated;
    case TENON_HOST_CAPTURE_MERGE: return cudaErrorStreamCaptureMerge;
    case TENON_HOST_CAPTURE_UNMATCHED: return cudaErrorStreamCaptureUnmatched;
    case TENON_HOST_CAPTURE_UNJOINED: return cudaErrorStreamCaptureUnjoined;
    case TENON_HOST_CAPTURE_ISOLATION: return cudaErrorStreamCaptureIsolation;
    case TENON_HOST_CAPTURE_IMPLICIT: return cudaErrorStreamCaptureImplicit;
    case TENON_HOST_CAPTURED_EVENT: return cudaErrorCapturedEvent;
    case TENON_HOST_CAPTURE_WRONG_THREAD: return cudaErrorStreamCaptureWrongThread;
    }
    return cudaErrorUnknown;
}

cudaError_t memoryErrorOf(TenonHostStatus status) noexcept
{
    return status == TENON_HOST_BAD_HANDLE ? cudaErrorInvalidValue : errorOf(status);
}

cudaError_t refused(char const* name, char const* why) noexcept
{
    try
    {
        static std::mutex mutex;
        static auto* const said = new std::set<std::string>; // Never destroyed: programs call until the very end.
        std::scoped_lock const lock{mutex};
        if (said->insert(name).second)
            std::fprintf(stderr, "tenon_hostrt: %s: %s\n", name, why);
    }
    catch (...)
    {
        return cudaErrorNotSupported; // Not even memory for the name.
    }
    return cudaErrorNotSupported;
}

} // namespace tenon::hostrt

using namespace tenon::hostrt;

TENON_CUDA_BODY(cudaError_t, cudaGetLastError, ())
{
    return std::exchange(tState.last, cudaSuccess);
}

TENON_CUDA_BODY(cudaError_t, cudaPeekAtLastError, ())
{
    return tState.last;
}

TENON_CUDA_BODY(char const*, cudaGetErrorName, (cudaError_t error))
{
    Word const* const word = wordOf(error);
    return word != nullptr ? word->name : "unrecognized error code";
}

TENON_CUDA_BODY(char const*, cudaGetErrorString, (cudaError_t error))
{
    Word const* const word = wordOf(error);
    return word != nullptr ? word->text : "unrecognized error code";
}
