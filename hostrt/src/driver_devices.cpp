// The driver itself: its errors, its calls by name, and the one device.
#include "device_numbers.h"
#include "driver.h"

#include <array>
#include <cstring>
#include <dlfcn.h>
#include <string>

using namespace tenon::hostrt;

TENON_RUNTIME(cudaDeviceGetAttribute)
TENON_RUNTIME(cudaDeviceGetByPCIBusId)
TENON_RUNTIME(cudaDeviceGetPCIBusId)
TENON_RUNTIME(cudaDriverGetVersion)
TENON_RUNTIME(cudaGetDeviceCount)
TENON_RUNTIME(cudaGetErrorString)

//! By which the engine tells this library from a driver.
extern "C" TENON_HOSTRT_CALL char const tenonHostDriver[];
char const tenonHostDriver[]{"Tenon's host run-time"};

namespace
{
struct Word
{
    CUresult result;
    char const* name;
    char const* text; //!< Null: the runtime has it.
};

#define TENON_WORD(result, text)                                                                                       \
    Word                                                                                                               \
    {                                                                                                                  \
        result, #result, text                                                                                          \
    }
constexpr std::array kWords{
    TENON_WORD(CUDA_SUCCESS, nullptr),
    TENON_WORD(CUDA_ERROR_INVALID_VALUE, nullptr),
    TENON_WORD(CUDA_ERROR_OUT_OF_MEMORY, nullptr),
    TENON_WORD(CUDA_ERROR_NOT_INITIALIZED, "the driver is not initialized: call cuInit()"),
    TENON_WORD(CUDA_ERROR_DEINITIALIZED, "the driver is shutting down"),
    TENON_WORD(CUDA_ERROR_NO_DEVICE, nullptr),
    TENON_WORD(CUDA_ERROR_INVALID_DEVICE, nullptr),
    TENON_WORD(CUDA_ERROR_INVALID_IMAGE, nullptr),
    TENON_WORD(CUDA_ERROR_INVALID_CONTEXT, "no context is current, or no such context lives"),
    TENON_WORD(CUDA_ERROR_UNSUPPORTED_LIMIT, nullptr),
    TENON_WORD(CUDA_ERROR_INVALID_PTX, "invalid PTX"),
    TENON_WORD(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    TENON_WORD(CUDA_ERROR_OPERATING_SYSTEM, nullptr),
    TENON_WORD(CUDA_ERROR_INVALID_HANDLE, nullptr),
    TENON_WORD(CUDA_ERROR_ILLEGAL_STATE, nullptr),
    TENON_WORD(CUDA_ERROR_NOT_FOUND, "not found"),
    TENON_WORD(CUDA_ERROR_NOT_READY, nullptr),
    TENON_WORD(CUDA_ERROR_ILLEGAL_ADDRESS, nullptr),
    TENON_WORD(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is active"),
    TENON_WORD(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed"),
    TENON_WORD(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, nullptr),
    TENON_WORD(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, nullptr),
    TENON_WORD(CUDA_ERROR_LAUNCH_FAILED, nullptr),
    TENON_WORD(CUDA_ERROR_NOT_PERMITTED, nullptr),
    TENON_WORD(CUDA_ERROR_NOT_SUPPORTED, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_MERGE, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, nullptr),
    TENON_WORD(CUDA_ERROR_CAPTURED_EVENT, nullptr),
    TENON_WORD(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, nullptr),
    TENON_WORD(CUDA_ERROR_UNKNOWN, nullptr),
};
#undef TENON_WORD

//! \param isName the error's name, or its sentence.
CUresult wordOf(CUresult result, char const** word, bool isName) noexcept
{
    if (word == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *word = nullptr;
    for (Word const& each : kWords)
    {
        if (each.result != result)
            continue;
        char const* const text =
            each.text != nullptr ? each.text : host_cudaGetErrorString(static_cast<cudaError_t>(result));
        *word = isName ? each.name : text;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult deviceAt(CUdevice* device, int ordinal) noexcept
{
    if (device == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return resultOf(checkDevice(ordinal));
}

CUresult nameOf(char* name, int length, CUdevice device) noexcept
{
    if (name == nullptr || length < 1)
        return CUDA_ERROR_INVALID_VALUE;
    TenonHostDevice machine;
    tenonHostGetDevice(&machine);
    std::strncpy(name, machine.name, static_cast<size_t>(length));
    name[length - 1] = '\0';
    return resultOf(checkDevice(device));
}

CUresult memoryOf(size_t* bytes, CUdevice device) noexcept
{
    if (bytes == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    TenonHostDevice machine;
    tenonHostGetDevice(&machine);
    *bytes = machine.memoryBytes;
    return resultOf(checkDevice(device));
}

CUresult uuidOf(CUuuid* uuid, CUdevice device) noexcept
{
    if (uuid == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(uuid->bytes, kUuid, sizeof uuid->bytes);
    return resultOf(checkDevice(device));
}

CUresult capabilityOf(int* major, int* minor, CUdevice device) noexcept
{
    if (major == nullptr || minor == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    *major = kComputeMajor;
    *minor = kComputeMinor;
    return resultOf(checkDevice(device));
}

//! Calls that have come to mean something else, or to take more, since a version of CUDA.
struct Renamed
{
    char const* call;
    int since;
    char const* now;
};
constexpr std::array kRenamed{
    Renamed{"cuCtxCreate", 13000, "cuCtxCreate_v4"},
    Renamed{"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    Renamed{"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    Renamed{"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    Renamed{"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
};

std::string nameIn(char const* call, int version)
{
    for (Renamed const& each : kRenamed)
        if (std::strcmp(each.call, call) == 0)
            return version >= each.since ? each.now : std::string{call} + (each.since == 13000 ? "_v2" : "");
    return std::string{call} + "_v2"; // What has none is there without.
}

void* find(char const* call, int version, bool isPerThread)
{
    static void* const self = [] {
        Dl_info info{};
        return dladdr(tenonHostDriver, &info) == 0 ? nullptr : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    }();
    std::array<char const*, 3> const suffixes = isPerThread ? std::array{"_ptsz", "_ptds", ""} : std::array{"", "", ""};
    for (std::string const& name : {nameIn(call, version), std::string{call}})
        for (char const* const suffix : suffixes)
            if (void* const function = dlsym(self, (name + suffix).c_str()); function != nullptr)
                return function;
    return nullptr;
}

CUresult procAddress(
    char const* call, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* found) noexcept
try
{
    if (call == nullptr || function == nullptr || (flags & ~cuuint64_t{3}) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    bool const isCall = std::strncmp(call, "cu", 2) == 0 && std::strncmp(call, "cuda", 4) != 0;
    bool const isPerThread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    *function = isCall ? find(call, version, isPerThread) : nullptr;
    if (found != nullptr)
        *found = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function != nullptr || found != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
catch (std::bad_alloc const&)
{
    return CUDA_ERROR_OUT_OF_MEMORY;
}
} // namespace

namespace tenon::hostrt
{

CUresult resultOf(CUresult result) noexcept
{
    return result;
}

CUresult resultOf(cudaError_t error) noexcept
{
    switch (error)
    {
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection: return CUDA_ERROR_INVALID_VALUE;
    default: return static_cast<CUresult>(error);
    }
}

} // namespace tenon::hostrt

TENON_DRIVER(cuDriverGetVersion, kNothing, (int* version), host_cudaDriverGetVersion(version))
TENON_DRIVER(cuGetErrorName, kNothing, (CUresult error, char const** name), wordOf(error, name, true))
TENON_DRIVER(cuGetErrorString, kNothing, (CUresult error, char const** text), wordOf(error, text, false))
TENON_DRIVER(cuGetProcAddress_v2, kNothing,
    (char const* call, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* found),
    procAddress(call, function, version, flags, found))
TENON_DRIVER(cuDeviceGet, kDriver, (CUdevice * device, int ordinal), deviceAt(device, ordinal))
TENON_DRIVER(cuDeviceGetCount, kDriver, (int* count), host_cudaGetDeviceCount(count))
TENON_DRIVER(cuDeviceGetName, kDriver, (char* name, int length, CUdevice device), nameOf(name, length, device))
TENON_DRIVER(cuDeviceTotalMem_v2, kDriver, (size_t * bytes, CUdevice device), memoryOf(bytes, device))
TENON_DRIVER(cuDeviceGetAttribute, kDriver, (int* value, CUdevice_attribute attribute, CUdevice device),
    host_cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device))
TENON_DRIVER(cuDeviceGetUuid_v2, kDriver, (CUuuid * uuid, CUdevice device), uuidOf(uuid, device))
TENON_DRIVER(
    cuDeviceComputeCapability, kDriver, (int* major, int* minor, CUdevice device), capabilityOf(major, minor, device))
TENON_DRIVER(cuDeviceGetPCIBusId, kDriver, (char* id, int length, CUdevice device),
    host_cudaDeviceGetPCIBusId(id, length, device))
TENON_DRIVER(
    cuDeviceGetByPCIBusId, kDriver, (CUdevice * device, char const* id), host_cudaDeviceGetByPCIBusId(device, id))
