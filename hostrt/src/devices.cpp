// The one device: the machine, named after its CPU. What only a GPU has is given as programs expect it to be.
#include "calls.h"
#include "device_numbers.h"

#include <cstdio>
#include <cstring>

using namespace tenon::hostrt;

namespace
{
constexpr int kDriverVersion{13000};

//! Told when the library is loaded: engines shall take what these calls give.
[[maybe_unused]] bool const gIsTold = (tenonHostAnswersCudaCalls(), true);

unsigned int gFlags{cudaDeviceScheduleAuto};

cudaError_t give(int* to, int value) noexcept
{
    if (to == nullptr)
        return cudaErrorInvalidValue;
    *to = value;
    return cudaSuccess;
}

cudaError_t attributeOf(int* value, cudaDeviceAttr attribute, int device) noexcept
{
    if (value == nullptr || attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax)
        return cudaErrorInvalidValue;
    if (cudaError_t const error = checkDevice(device); error != cudaSuccess)
        return error;
    TenonHostDevice machine;
    tenonHostGetDevice(&machine);
    switch (attribute)
    {
    case cudaDevAttrMultiProcessorCount: return give(value, machine.cores);
    case cudaDevAttrClockRate: return give(value, machine.clockKhz);
    case cudaDevAttrL2CacheSize: return give(value, machine.lastCacheBytes);
    case cudaDevAttrComputeCapabilityMajor: return give(value, kComputeMajor);
    case cudaDevAttrComputeCapabilityMinor: return give(value, kComputeMinor);
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return give(value, kThreadsPerBlock);
    case cudaDevAttrMaxBlockDimZ: return give(value, kBlockDepth);
    case cudaDevAttrMaxGridDimX: return give(value, kGridWidth);
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return give(value, kGridHeight);
    case cudaDevAttrMaxSharedMemoryPerBlock:
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return give(value, kSharedBytes);
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: return give(value, kRegisters);
    case cudaDevAttrTotalConstantMemory: return give(value, kConstantBytes);
    case cudaDevAttrWarpSize: return give(value, kWarpSize);
    case cudaDevAttrMaxPitch: return give(value, kMaxPitch);
    case cudaDevAttrTextureAlignment:
    case cudaDevAttrTexturePitchAlignment:
    case cudaDevAttrSurfaceAlignment: return give(value, kAlignment);
    case cudaDevAttrMaxThreadsPerMultiProcessor: return give(value, kThreadsPerBlock);
    case cudaDevAttrMaxBlocksPerMultiprocessor: return give(value, kBlocksPerCore);
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrIntegrated:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported: return give(value, 1);
    default: return give(value, 0); // Textures, graphics, several processes, several devices: none.
    }
}

cudaError_t setFlags(unsigned int flags) noexcept
{
    if ((flags & ~static_cast<unsigned int>(cudaDeviceMask)) != 0)
        return cudaErrorInvalidValue;
    gFlags = flags;
    return cudaSuccess;
}

cudaError_t initialize(int device, unsigned int deviceFlags, unsigned int flags) noexcept
{
    cudaError_t const error = checkDevice(device);
    if (error != cudaSuccess || flags != cudaInitDeviceFlagsAreValid)
        return error;
    return setFlags(deviceFlags);
}

cudaError_t flagsOf(unsigned int* flags) noexcept
{
    if (flags == nullptr)
        return cudaErrorInvalidValue;
    *flags = gFlags | cudaDeviceMapHost;
    return cudaSuccess;
}

cudaError_t setValid(int const* devices, int count) noexcept
{
    if (devices == nullptr && count > 0)
        return cudaErrorInvalidValue;
    for (int i = 0; i < count; ++i)
        if (cudaError_t const error = checkDevice(devices[i]); error != cudaSuccess)
            return error;
    return cudaSuccess;
}

cudaError_t priorityRange(int* least, int* greatest) noexcept
{
    for (int* const place : {least, greatest}) // The same: priorities have no effect.
        if (place != nullptr)
            *place = 0;
    return cudaSuccess;
}

cudaError_t busId(char* id, int length, int device) noexcept
{
    if (cudaError_t const error = checkDevice(device); error != cudaSuccess)
        return error;
    if (id == nullptr || length <= static_cast<int>(sizeof(kBusId)) - 1)
        return cudaErrorInvalidValue;
    std::memcpy(id, kBusId, sizeof(kBusId));
    return cudaSuccess;
}

cudaError_t deviceAt(int* device, char const* id) noexcept
{
    if (device == nullptr || id == nullptr)
        return cudaErrorInvalidValue;
    unsigned int parts[4];
    if (std::sscanf(id, "%x:%x:%x.%x", &parts[0], &parts[1], &parts[2], &parts[3]) != 4)
        return cudaErrorInvalidValue;
    if (std::strcmp(id, kBusId) != 0)
        return cudaErrorInvalidDevice;
    return give(device, 0);
}

//! There is no second device that memory could be reached of.
cudaError_t peer(int* answer, int device, int other) noexcept
{
    for (int const each : {device, other})
        if (cudaError_t const error = checkDevice(each); error != cudaSuccess)
            return error;
    return give(answer, 0);
}

cudaError_t limitOf(size_t* value, cudaLimit limit) noexcept
{
    if (value == nullptr)
        return cudaErrorInvalidValue;
    static_cast<void>(limit); // All of them are about kernels.
    return cudaErrorUnsupportedLimit;
}

cudaError_t reset() noexcept
{
    tenonHostDrainAll(); // Handles and memory stay the program's: others in this process may use them.
    return cudaSuccess;
}

template <typename T>
cudaError_t giveNone(T* config) noexcept
{
    if (config == nullptr)
        return cudaErrorInvalidValue;
    *config = T{};
    return cudaSuccess;
}
} // namespace

TENON_CUDA(cudaGetDeviceCount, (int* count), give(count, 1))
TENON_CUDA(cudaGetDevice, (int* device), give(device, 0))
TENON_CUDA(cudaSetDevice, (int device), checkDevice(device))
TENON_CUDA(
    cudaInitDevice, (int device, unsigned int deviceFlags, unsigned int flags), initialize(device, deviceFlags, flags))
TENON_CUDA(cudaSetValidDevices, (int* devices, int count), setValid(devices, count))
TENON_CUDA(cudaChooseDevice, (int* device, cudaDeviceProp const* wanted),
    wanted == nullptr ? cudaErrorInvalidValue : give(device, 0))
TENON_CUDA(
    cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device), attributeOf(value, attribute, device))
TENON_CUDA(cudaDeviceSynchronize, (), errorOf(tenonHostSynchronizeAll()))
TENON_CUDA(cudaDeviceReset, (), reset())
TENON_CUDA_FREELY(cudaThreadSynchronize, (), errorOf(tenonHostSynchronizeAll()))
TENON_CUDA_FREELY(cudaThreadExit, (), reset())
TENON_CUDA(cudaSetDeviceFlags, (unsigned int flags), setFlags(flags))
TENON_CUDA(cudaGetDeviceFlags, (unsigned int* flags), flagsOf(flags))
TENON_CUDA(cudaDeviceGetLimit, (size_t * value, cudaLimit limit), limitOf(value, limit))
TENON_CUDA(cudaDeviceSetLimit, (cudaLimit, size_t), cudaErrorUnsupportedLimit)
TENON_CUDA(cudaDeviceGetCacheConfig, (cudaFuncCache * config), giveNone(config))
TENON_CUDA(cudaDeviceSetCacheConfig, (cudaFuncCache), cudaSuccess)
TENON_CUDA(cudaDeviceGetSharedMemConfig, (cudaSharedMemConfig * config), giveNone(config))
TENON_CUDA(cudaDeviceSetSharedMemConfig, (cudaSharedMemConfig), cudaSuccess)
TENON_CUDA(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), priorityRange(least, greatest))
TENON_CUDA(cudaDeviceGetPCIBusId, (char* id, int length, int device), busId(id, length, device))
TENON_CUDA(cudaDeviceGetByPCIBusId, (int* device, char const* id), deviceAt(device, id))
TENON_CUDA(cudaDeviceCanAccessPeer, (int* can, int device, int other), peer(can, device, other))
TENON_CUDA(cudaDeviceEnablePeerAccess, (int other, unsigned int),
    other == 0 ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice)
TENON_CUDA(
    cudaDeviceDisablePeerAccess, (int other), other == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice)
TENON_CUDA(cudaDeviceGetP2PAttribute, (int* value, cudaDeviceP2PAttr, int from, int to), peer(value, from, to))
TENON_CUDA(cudaCtxResetPersistingL2Cache, (), cudaSuccess)
TENON_CUDA(cudaDriverGetVersion, (int* version), give(version, kDriverVersion))
TENON_CUDA(cudaProfilerStart, (), cudaSuccess)
TENON_CUDA(cudaProfilerStop, (), cudaSuccess)

// What programs compare with CUDART_VERSION: of the version that they were built for.
extern "C" TENON_HOSTRT_CALL cudaError_t host_cudaRuntimeGetVersion(int* version)
{
    return noted(give(version, 13000));
}
extern "C" TENON_HOSTRT_CALL cudaError_t version12_cudaRuntimeGetVersion(int* version)
{
    return noted(give(version, 12090));
}
__asm__(".symver version12_cudaRuntimeGetVersion,cudaRuntimeGetVersion@libcudart.so.12");
__asm__(".symver host_cudaRuntimeGetVersion,cudaRuntimeGetVersion@@libcudart.so.13");
