// DriverApi: the calls of the CUDA driver that the device makes, found in its library at run time. Types and numbers
// are our own, so that Tenon builds where no toolkit is; tests/cuda compares them with the toolkit's headers.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon::cuda
{

using Code = int;                          //!< CUresult
using Address = uint64_t;                  //!< CUdeviceptr
using HostCallback = void (*)(void* data); //!< CUhostFn, CUstreamCallback of captures

inline constexpr Code kSuccess{0};
inline constexpr Code kInvalidValue{1};
inline constexpr Code kOutOfMemory{2};
inline constexpr Code kNoDevice{100};
inline constexpr Code kInvalidHandle{400};
inline constexpr Code kNotReady{600};

inline constexpr unsigned kStreamNonBlocking{1};
inline constexpr unsigned kEventDefault{0};
inline constexpr unsigned kEventDisableTiming{2};
inline constexpr unsigned kHostPortable{1};
inline constexpr unsigned kUserObjectNoSync{1};
inline constexpr unsigned kGraphObjectMove{1};

enum CaptureMode : int
{
    kCaptureGlobal = 0,
    kCaptureThreadLocal = 1,
    kCaptureRelaxed = 2,
};
enum CaptureStatus : int
{
    kCaptureNone = 0,
    kCaptureActive = 1,
    kCaptureInvalidated = 2,
};

enum PointerAttribute : int
{
    kPointerMemoryType = 2,
    kPointerDeviceOrdinal = 9,
};
inline constexpr unsigned kMemoryHost{1};
inline constexpr unsigned kMemoryDevice{2};

enum DeviceAttribute : int
{
    kMaxThreadsPerBlock = 1,
    kMaxSharedPerBlock = 8,
    kClockKilohertz = 13,
    kMultiprocessors = 16,
    kMemoryClockKilohertz = 36,
    kMemoryBusBits = 37,
    kL2Bytes = 38,
    kUnifiedAddressing = 41,
    kMajor = 75,
    kMinor = 76,
    kMaxSharedPerBlockOptin = 97,
};

enum FunctionAttribute : int
{
    kFunctionDynamicSharedBytes = 8,
    kFunctionSharedShare = 9, //!< In percent, of the memory that it has in common with the cache.
};

enum JitOption : int
{
    kJitErrorLog = 5,
    kJitErrorLogBytes = 6,
};

//! A matrix as the copy engine of Hopper's knows it: CUtensorMap.
struct alignas(64) TensorMap
{
    uint64_t words[16];
};
enum TensorMapType : int
{
    kTensorMapByte = 0,
    kTensorMapHalf = 6,
    kTensorMapBfloat = 9,
};
enum TensorMapInterleave : int
{
    kTensorMapNotInterleaved = 0,
};
enum TensorMapSwizzle : int
{
    kTensorMapSwizzle64 = 2,
    kTensorMapSwizzle128 = 3,
};
enum TensorMapPromotion : int
{
    kTensorMapPromotion256 = 3,
};
enum TensorMapFill : int
{
    kTensorMapZeros = 0,
};

struct GraphUpdate //!< CUgraphExecUpdateResultInfo
{
    int result{0};
    void* errorNode{nullptr};
    void* errorFromNode{nullptr};
};

struct LaunchAttribute //!< CUlaunchAttribute
{
    int id{0};
    int padding{0};
    union
    {
        int number;
        char bytes[64];
    } value{};
};
//! The launch may begin before what is in front of it has ended: its threads wait themselves.
inline constexpr int kLaunchOverlaps{6};

struct LaunchConfig //!< CUlaunchConfig
{
    unsigned gridX{1};
    unsigned gridY{1};
    unsigned gridZ{1};
    unsigned blockX{1};
    unsigned blockY{1};
    unsigned blockZ{1};
    unsigned sharedBytes{0};
    void* stream{nullptr};
    LaunchAttribute* attributes{nullptr};
    unsigned count{0};
};

// name, parameters: in the library the functions stand under these names.
#define TENON_CUDA_DRIVER(FUNCTION)                                                                                    \
    FUNCTION(cuInit, (unsigned flags))                                                                                 \
    FUNCTION(cuDriverGetVersion, (int* version))                                                                       \
    FUNCTION(cuGetErrorName, (Code code, char const** name))                                                           \
    FUNCTION(cuGetErrorString, (Code code, char const** text))                                                         \
    FUNCTION(cuDeviceGetCount, (int* count))                                                                           \
    FUNCTION(cuDeviceGet, (int* device, int ordinal))                                                                  \
    FUNCTION(cuDeviceGetName, (char* name, int length, int device))                                                    \
    FUNCTION(cuDeviceGetAttribute, (int* value, DeviceAttribute attribute, int device))                                \
    FUNCTION(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                        \
    FUNCTION(cuDevicePrimaryCtxRetain, (void** context, int device))                                                   \
    FUNCTION(cuCtxGetCurrent, (void** context))                                                                        \
    FUNCTION(cuCtxGetDevice, (int* device))                                                                            \
    FUNCTION(cuCtxPushCurrent_v2, (void* context))                                                                     \
    FUNCTION(cuCtxPopCurrent_v2, (void** context))                                                                     \
    FUNCTION(cuMemAlloc_v2, (Address * address, size_t bytes))                                                         \
    FUNCTION(cuMemFree_v2, (Address address))                                                                          \
    FUNCTION(cuMemHostAlloc, (void** address, size_t bytes, unsigned flags))                                           \
    FUNCTION(cuMemFreeHost, (void* address))                                                                           \
    FUNCTION(cuMemcpyAsync, (Address to, Address from, size_t bytes, void* stream))                                    \
    FUNCTION(cuMemsetD8Async, (Address to, unsigned char value, size_t bytes, void* stream))                           \
    FUNCTION(cuPointerGetAttribute, (void* value, PointerAttribute attribute, Address address))                        \
    FUNCTION(cuStreamCreate, (void** stream, unsigned flags))                                                          \
    FUNCTION(cuStreamDestroy_v2, (void* stream))                                                                       \
    FUNCTION(cuStreamQuery, (void* stream))                                                                            \
    FUNCTION(cuStreamSynchronize, (void* stream))                                                                      \
    FUNCTION(cuStreamGetCtx, (void* stream, void** context))                                                           \
    FUNCTION(cuStreamWaitEvent, (void* stream, void* event, unsigned flags))                                           \
    FUNCTION(cuStreamIsCapturing, (void* stream, CaptureStatus* status))                                               \
    FUNCTION(cuStreamGetCaptureInfo_v2,                                                                                \
        (void* stream, CaptureStatus* status, uint64_t* id, void** graph, void const** nodes, size_t* count))          \
    FUNCTION(cuStreamBeginCapture_v2, (void* stream, CaptureMode mode))                                                \
    FUNCTION(cuStreamEndCapture, (void* stream, void** graph))                                                         \
    FUNCTION(cuThreadExchangeStreamCaptureMode, (CaptureMode * mode))                                                  \
    FUNCTION(cuGraphInstantiateWithFlags, (void** executable, void* graph, unsigned long long flags))                  \
    FUNCTION(cuGraphExecUpdate_v2, (void* executable, void* graph, GraphUpdate* result))                               \
    FUNCTION(cuGraphLaunch, (void* executable, void* stream))                                                          \
    FUNCTION(cuGraphExecDestroy, (void* executable))                                                                   \
    FUNCTION(cuGraphDestroy, (void* graph))                                                                            \
    FUNCTION(                                                                                                          \
        cuUserObjectCreate, (void** object, void* data, HostCallback destroy, unsigned references, unsigned flags))    \
    FUNCTION(cuUserObjectRelease, (void* object, unsigned references))                                                 \
    FUNCTION(cuGraphRetainUserObject, (void* graph, void* object, unsigned references, unsigned flags))                \
    FUNCTION(cuEventCreate, (void** event, unsigned flags))                                                            \
    FUNCTION(cuEventDestroy_v2, (void* event))                                                                         \
    FUNCTION(cuEventRecord, (void* event, void* stream))                                                               \
    FUNCTION(cuEventQuery, (void* event))                                                                              \
    FUNCTION(cuEventSynchronize, (void* event))                                                                        \
    FUNCTION(cuEventElapsedTime, (float* milliseconds, void* start, void* end))                                        \
    FUNCTION(cuLaunchHostFunc, (void* stream, HostCallback function, void* data))                                      \
    FUNCTION(cuLaunchKernel,                                                                                           \
        (void* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,             \
            unsigned blockZ, unsigned sharedBytes, void* stream, void** params, void** extra))                         \
    FUNCTION(cuLaunchKernelEx, (LaunchConfig const* config, void* function, void** params, void** extra))              \
    FUNCTION(                                                                                                          \
        cuModuleLoadDataEx, (void** module, void const* image, unsigned options, JitOption* names, void** values))     \
    FUNCTION(cuModuleUnload, (void* module))                                                                           \
    FUNCTION(cuModuleGetFunction, (void** function, void* module, char const* name))                                   \
    FUNCTION(cuFuncSetAttribute, (void* function, FunctionAttribute attribute, int value))                             \
    FUNCTION(cuTensorMapEncodeIm2col,                                                                                  \
        (TensorMap * map, TensorMapType type, unsigned rank, void* address, uint64_t const* extents,                   \
            uint64_t const* strides, int const* lowerCorner, int const* upperCorner, unsigned channels,                \
            unsigned pixels, unsigned const* elementStrides, TensorMapInterleave interleave, TensorMapSwizzle swizzle, \
            TensorMapPromotion promotion, TensorMapFill fill))                                                         \
    FUNCTION(cuTensorMapEncodeTiled,                                                                                   \
        (TensorMap * map, TensorMapType type, unsigned rank, void* address, uint64_t const* extents,                   \
            uint64_t const* strides, unsigned const* box, unsigned const* elementStrides,                              \
            TensorMapInterleave interleave, TensorMapSwizzle swizzle, TensorMapPromotion promotion,                    \
            TensorMapFill fill))

// Those that drivers of 12.0 lack: null there.
#define TENON_CUDA_NEWER_DRIVER(FUNCTION)                                                                              \
    FUNCTION(cuFuncGetParamInfo, (void* function, size_t index, size_t* offset, size_t* bytes))

struct DriverApi
{
#define TENON_CUDA_MEMBER(name, parameters) Code(*name) parameters{nullptr};
    TENON_CUDA_DRIVER(TENON_CUDA_MEMBER)
    TENON_CUDA_NEWER_DRIVER(TENON_CUDA_MEMBER)
#undef TENON_CUDA_MEMBER
    int version{0}; //!< 1000 · major + 10 · minor of the CUDA release that it supports.
};

//! From `library`; an error that says what is missing or too old, and what helps.
Result<DriverApi> openDriver(char const* library);
//! The machine's, opened and initialised once.
Result<DriverApi const*> driver();

//! "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory"
Error errorFrom(DriverApi const& api, Code code, std::string_view call);
//! No call succeeds in the process's context after such an error.
bool isSticky(Code code) noexcept;

} // namespace tenon::cuda

//! TENON_CUDA_TRY(api, cuStreamQuery, stream): the call's error, with its name, from the function at hand.
#define TENON_CUDA_TRY(api, call, ...)                                                                                 \
    do                                                                                                                 \
    {                                                                                                                  \
        if (::tenon::cuda::Code const code = (api).call(__VA_ARGS__); code != ::tenon::cuda::kSuccess)                 \
            return ::tenon::cuda::errorFrom(api, code, #call);                                                         \
    } while (false)
