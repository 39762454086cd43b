// The CUDA driver's types, and those of its calls that host code makes around a run. Other calls exist, too, and fail:
// a program that needs those needs a GPU.
#ifndef TENON_HOSTRT_CUDA_H
#define TENON_HOSTRT_CUDA_H

#include "tenon_alone.h"

#include <stddef.h>
#include <stdint.h>

#if TENON_CUDART_MAJOR >= 13
#define CUDA_VERSION 13000
#else
#define CUDA_VERSION 12090
#endif

#define TENON_HOSTRT_CALL __attribute__((visibility("default")))

typedef unsigned long long CUdeviceptr;
typedef uint64_t cuuint64_t;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUlib_st* CUlibrary;
typedef struct CUkern_st* CUkernel;
typedef struct CUarray_st* CUarray;
typedef struct CUevent_st* CUevent;
typedef struct CUstream_st* CUstream;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphNode_st* CUgraphNode;
typedef struct CUgraphExec_st* CUgraphExec;
typedef struct CUmemPoolHandle_st* CUmemoryPool;
typedef struct CUctxCreateParams_st CUctxCreateParams;

#ifndef CU_UUID_HAS_BEEN_DEFINED
#define CU_UUID_HAS_BEEN_DEFINED
typedef struct CUuuid_st
{
    char bytes[16];
} CUuuid;
#endif

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

typedef enum cudaError_enum
{
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_UNSUPPORTED_LIMIT = 215,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_FILE_NOT_FOUND = 301,
    CUDA_ERROR_OPERATING_SYSTEM = 304,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_ILLEGAL_STATE = 401,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
    CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
    CUDA_ERROR_CAPTURED_EVENT = 907,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
    CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum CUdevice_attribute_enum
{
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
    CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
    CU_DEVICE_ATTRIBUTE_GPU_OVERLAP = 15,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
    CU_DEVICE_ATTRIBUTE_ECC_ENABLED = 32,
    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
    CU_DEVICE_ATTRIBUTE_TCC_DRIVER = 35,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
    CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD = 84,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
} CUdevice_attribute;

typedef enum CUpointer_attribute_enum
{
    CU_POINTER_ATTRIBUTE_CONTEXT = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_P2P_TOKENS = 5,
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
    CU_POINTER_ATTRIBUTE_MAPPED = 13,
    CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
    CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
    CU_POINTER_ATTRIBUTE_ACCESS_FLAGS = 16,
    CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE = 17
} CUpointer_attribute;

typedef enum CUmemorytype_enum
{
    CU_MEMORYTYPE_HOST = 1,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEMORYTYPE_ARRAY = 3,
    CU_MEMORYTYPE_UNIFIED = 4
} CUmemorytype;

typedef enum CUctx_flags_enum
{
    CU_CTX_SCHED_AUTO = 0,
    CU_CTX_SCHED_SPIN = 1,
    CU_CTX_SCHED_YIELD = 2,
    CU_CTX_SCHED_BLOCKING_SYNC = 4,
    CU_CTX_SCHED_MASK = 7,
    CU_CTX_MAP_HOST = 8,
    CU_CTX_LMEM_RESIZE_TO_MAX = 16,
    CU_CTX_FLAGS_MASK = 255
} CUctx_flags;

typedef enum CUstream_flags_enum
{
    CU_STREAM_DEFAULT = 0,
    CU_STREAM_NON_BLOCKING = 1
} CUstream_flags;

typedef enum CUevent_flags_enum
{
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_BLOCKING_SYNC = 1,
    CU_EVENT_DISABLE_TIMING = 2,
    CU_EVENT_INTERPROCESS = 4
} CUevent_flags;

typedef enum CUmemAttach_flags_enum
{
    CU_MEM_ATTACH_GLOBAL = 1,
    CU_MEM_ATTACH_HOST = 2,
    CU_MEM_ATTACH_SINGLE = 4
} CUmemAttach_flags;

typedef enum CUstreamCaptureMode_enum
{
    CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2
} CUstreamCaptureMode;

typedef enum CUstreamCaptureStatus_enum
{
    CU_STREAM_CAPTURE_STATUS_NONE = 0,
    CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
    CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2
} CUstreamCaptureStatus;

typedef enum CUdriverProcAddress_flags_enum
{
    CU_GET_PROC_ADDRESS_DEFAULT = 0,
    CU_GET_PROC_ADDRESS_LEGACY_STREAM = 1,
    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM = 2
} CUdriverProcAddress_flags;

typedef enum CUdriverProcAddressQueryResult_enum
{
    CU_GET_PROC_ADDRESS_SUCCESS = 0,
    CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
    CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2
} CUdriverProcAddressQueryResult;

#define CU_MEMHOSTALLOC_PORTABLE 0x01
#define CU_MEMHOSTALLOC_DEVICEMAP 0x02
#define CU_MEMHOSTALLOC_WRITECOMBINED 0x04
#define CU_MEMHOSTREGISTER_PORTABLE 0x01
#define CU_MEMHOSTREGISTER_DEVICEMAP 0x02

typedef void (*CUhostFn)(void* user);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void* user);

// Names of the versions that calls have now.
#define cuGetProcAddress cuGetProcAddress_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuDeviceGetUuid cuDeviceGetUuid_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2
#define cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuGraphInstantiate cuGraphInstantiateWithFlags

// Streams of handle 0 are each thread's own when the program asks for that.
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define cuMemcpy cuMemcpy_ptds
#define cuMemcpyHtoD cuMemcpyHtoD_v2_ptds
#define cuMemcpyDtoH cuMemcpyDtoH_v2_ptds
#define cuMemcpyDtoD cuMemcpyDtoD_v2_ptds
#define cuMemsetD8 cuMemsetD8_v2_ptds
#define cuMemsetD16 cuMemsetD16_v2_ptds
#define cuMemsetD32 cuMemsetD32_v2_ptds
#define cuMemAllocAsync cuMemAllocAsync_ptsz
#define cuMemFreeAsync cuMemFreeAsync_ptsz
#define cuMemcpyAsync cuMemcpyAsync_ptsz
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2_ptsz
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2_ptsz
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2_ptsz
#define cuMemsetD8Async cuMemsetD8Async_ptsz
#define cuMemsetD16Async cuMemsetD16Async_ptsz
#define cuMemsetD32Async cuMemsetD32Async_ptsz
#define cuStreamSynchronize cuStreamSynchronize_ptsz
#define cuStreamQuery cuStreamQuery_ptsz
#define cuStreamWaitEvent cuStreamWaitEvent_ptsz
#define cuStreamGetFlags cuStreamGetFlags_ptsz
#define cuStreamGetPriority cuStreamGetPriority_ptsz
#define cuStreamGetCtx cuStreamGetCtx_ptsz
#define cuStreamAddCallback cuStreamAddCallback_ptsz
#define cuLaunchHostFunc cuLaunchHostFunc_ptsz
#define cuStreamBeginCapture cuStreamBeginCapture_v2_ptsz
#define cuStreamEndCapture cuStreamEndCapture_ptsz
#define cuStreamIsCapturing cuStreamIsCapturing_ptsz
#define cuGraphLaunch cuGraphLaunch_ptsz
#define cuEventRecord cuEventRecord_ptsz
#else
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuMemsetD16 cuMemsetD16_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#endif

#ifdef __cplusplus
extern "C"
{
#endif

    // Errors, and calls by name.

    TENON_HOSTRT_CALL CUresult cuInit(unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuDriverGetVersion(int* version);
    TENON_HOSTRT_CALL CUresult cuGetErrorName(CUresult error, char const** text);
    TENON_HOSTRT_CALL CUresult cuGetErrorString(CUresult error, char const** text);
    TENON_HOSTRT_CALL CUresult cuGetProcAddress(
        char const* symbol, void** function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* found);

    // The device.

    TENON_HOSTRT_CALL CUresult cuDeviceGet(CUdevice* device, int ordinal);
    TENON_HOSTRT_CALL CUresult cuDeviceGetCount(int* count);
    TENON_HOSTRT_CALL CUresult cuDeviceGetName(char* name, int length, CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDeviceGetByPCIBusId(CUdevice* device, char const* id);

    // Its primary context.

    TENON_HOSTRT_CALL CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDevicePrimaryCtxRelease(CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDevicePrimaryCtxReset(CUdevice device);
    TENON_HOSTRT_CALL CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active);
    TENON_HOSTRT_CALL CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags);

    // Contexts.

#if TENON_CUDART_MAJOR >= 13
#define cuCtxCreate cuCtxCreate_v4
    TENON_HOSTRT_CALL CUresult cuCtxCreate(
        CUcontext* context, CUctxCreateParams* parameters, unsigned int flags, CUdevice device);
#else
#define cuCtxCreate cuCtxCreate_v2
TENON_HOSTRT_CALL CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device);
#endif
    TENON_HOSTRT_CALL CUresult cuCtxDestroy(CUcontext context);
    TENON_HOSTRT_CALL CUresult cuCtxPushCurrent(CUcontext context);
    TENON_HOSTRT_CALL CUresult cuCtxPopCurrent(CUcontext* context);
    TENON_HOSTRT_CALL CUresult cuCtxSetCurrent(CUcontext context);
    TENON_HOSTRT_CALL CUresult cuCtxGetCurrent(CUcontext* context);
    TENON_HOSTRT_CALL CUresult cuCtxGetDevice(CUdevice* device);
    TENON_HOSTRT_CALL CUresult cuCtxGetFlags(unsigned int* flags);
    TENON_HOSTRT_CALL CUresult cuCtxGetApiVersion(CUcontext context, unsigned int* version);
    TENON_HOSTRT_CALL CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);
    TENON_HOSTRT_CALL CUresult cuCtxSynchronize(void);

    // Memory.

    TENON_HOSTRT_CALL CUresult cuMemGetInfo(size_t* free, size_t* total);
    TENON_HOSTRT_CALL CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes);
    TENON_HOSTRT_CALL CUresult cuMemAllocPitch(
        CUdeviceptr* memory, size_t* pitch, size_t width, size_t height, unsigned int elementBytes);
    TENON_HOSTRT_CALL CUresult cuMemFree(CUdeviceptr memory);
    TENON_HOSTRT_CALL CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr memory);
    TENON_HOSTRT_CALL CUresult cuMemAllocHost(void** memory, size_t bytes);
    TENON_HOSTRT_CALL CUresult cuMemFreeHost(void* memory);
    TENON_HOSTRT_CALL CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* memory, unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuMemHostGetFlags(unsigned int* flags, void* memory);
    TENON_HOSTRT_CALL CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuMemHostUnregister(void* memory);
    TENON_HOSTRT_CALL CUresult cuMemAllocManaged(CUdeviceptr* memory, size_t bytes, unsigned int flags);

    // What memory is.

    TENON_HOSTRT_CALL CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address);
    TENON_HOSTRT_CALL CUresult cuPointerGetAttributes(
        unsigned int count, CUpointer_attribute* attributes, void** data, CUdeviceptr address);

    // Memory of pools.

    TENON_HOSTRT_CALL CUresult cuMemAllocAsync(CUdeviceptr* memory, size_t bytes, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream stream);

    // Copies.

    TENON_HOSTRT_CALL CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
    TENON_HOSTRT_CALL CUresult cuMemcpyHtoD(CUdeviceptr to, void const* from, size_t bytes);
    TENON_HOSTRT_CALL CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes);
    TENON_HOSTRT_CALL CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes);
    TENON_HOSTRT_CALL CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuMemcpyHtoDAsync(CUdeviceptr to, void const* from, size_t bytes, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);

    // Fills.

    TENON_HOSTRT_CALL CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count);
    TENON_HOSTRT_CALL CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count);
    TENON_HOSTRT_CALL CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count);
    TENON_HOSTRT_CALL CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream);

    // Streams.

    TENON_HOSTRT_CALL CUresult cuStreamCreate(CUstream* stream, unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority);
    TENON_HOSTRT_CALL CUresult cuStreamDestroy(CUstream stream);
    TENON_HOSTRT_CALL CUresult cuStreamSynchronize(CUstream stream);
    TENON_HOSTRT_CALL CUresult cuStreamQuery(CUstream stream);
    TENON_HOSTRT_CALL CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags);
    TENON_HOSTRT_CALL CUresult cuStreamGetPriority(CUstream stream, int* priority);
    TENON_HOSTRT_CALL CUresult cuStreamGetCtx(CUstream stream, CUcontext* context);
    TENON_HOSTRT_CALL CUresult cuStreamAddCallback(
        CUstream stream, CUstreamCallback callback, void* user, unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user);

    // Captures and graphs.

    TENON_HOSTRT_CALL CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode);
    TENON_HOSTRT_CALL CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
    TENON_HOSTRT_CALL CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
    TENON_HOSTRT_CALL CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long flags);
    TENON_HOSTRT_CALL CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuGraphDestroy(CUgraph graph);
    TENON_HOSTRT_CALL CUresult cuGraphExecDestroy(CUgraphExec executable);

    // Events.

    TENON_HOSTRT_CALL CUresult cuEventCreate(CUevent* event, unsigned int flags);
    TENON_HOSTRT_CALL CUresult cuEventDestroy(CUevent event);
    TENON_HOSTRT_CALL CUresult cuEventRecord(CUevent event, CUstream stream);
    TENON_HOSTRT_CALL CUresult cuEventQuery(CUevent event);
    TENON_HOSTRT_CALL CUresult cuEventSynchronize(CUevent event);
#if TENON_CUDART_MAJOR >= 13
#define cuEventElapsedTime cuEventElapsedTime_v2
#endif
    TENON_HOSTRT_CALL CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);

#ifdef __cplusplus
}
#endif

#endif // TENON_HOSTRT_CUDA_H
