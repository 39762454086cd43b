// The host calls of the CUDA runtime that programs around a run use, on a machine without a GPU. docs/HOSTRT.md says
// what stands behind them. Calls that are not here (arrays, textures, graphics, kernels of one's own) need a GPU.
#ifndef TENON_HOSTRT_CUDA_RUNTIME_API_H
#define TENON_HOSTRT_CUDA_RUNTIME_API_H

#include "driver_types.h"

//! Defined here and nowhere else: whether calls go to Tenon.
#define TENON_HOSTRT 1

#if TENON_CUDART_MAJOR >= 13
#define CUDART_VERSION 13000
#else
#define CUDART_VERSION 12090
#endif

#ifdef __cplusplus
#define __dv(value) = value
#else
#define __dv(value)
#endif
#define TENON_HOSTRT_CALL __attribute__((visibility("default")))

// Streams of handle 0 are each thread's own when the program asks for that.
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define cudaMemcpy cudaMemcpy_ptds
#define cudaMemcpy2D cudaMemcpy2D_ptds
#define cudaMemcpy3D cudaMemcpy3D_ptds
#define cudaMemset cudaMemset_ptds
#define cudaMemset2D cudaMemset2D_ptds
#define cudaMemset3D cudaMemset3D_ptds
#define cudaMallocAsync cudaMallocAsync_ptsz
#define cudaFreeAsync cudaFreeAsync_ptsz
#define cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz
#define cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz
#define cudaMemcpyAsync cudaMemcpyAsync_ptsz
#define cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz
#define cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz
#define cudaMemsetAsync cudaMemsetAsync_ptsz
#define cudaMemset2DAsync cudaMemset2DAsync_ptsz
#define cudaMemset3DAsync cudaMemset3DAsync_ptsz
#define cudaStreamSynchronize cudaStreamSynchronize_ptsz
#define cudaStreamQuery cudaStreamQuery_ptsz
#define cudaStreamWaitEvent cudaStreamWaitEvent_ptsz
#define cudaStreamAddCallback cudaStreamAddCallback_ptsz
#define cudaLaunchHostFunc cudaLaunchHostFunc_ptsz
#define cudaStreamGetPriority cudaStreamGetPriority_ptsz
#define cudaStreamGetFlags cudaStreamGetFlags_ptsz
#define cudaStreamGetId cudaStreamGetId_ptsz
#define cudaStreamGetDevice cudaStreamGetDevice_ptsz
#define cudaStreamCopyAttributes cudaStreamCopyAttributes_ptsz
#define cudaEventRecord cudaEventRecord_ptsz
#define cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz
#define cudaStreamBeginCapture cudaStreamBeginCapture_ptsz
#define cudaStreamEndCapture cudaStreamEndCapture_ptsz
#define cudaStreamIsCapturing cudaStreamIsCapturing_ptsz
#define cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz
#define cudaGraphUpload cudaGraphUpload_ptsz
#define cudaGraphLaunch cudaGraphLaunch_ptsz
#define cudaLaunchKernel cudaLaunchKernel_ptsz
#define cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz
#if TENON_CUDART_MAJOR >= 13
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz
#else
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v2_ptsz
#endif
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz
#elif TENON_CUDART_MAJOR < 13
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v2
#endif
#if TENON_CUDART_MAJOR < 13
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#endif

#ifdef __cplusplus
extern "C"
{
#endif

    // Errors.

    TENON_HOSTRT_CALL cudaError_t cudaGetLastError(void);
    TENON_HOSTRT_CALL cudaError_t cudaPeekAtLastError(void);
    TENON_HOSTRT_CALL char const* cudaGetErrorName(cudaError_t error);
    TENON_HOSTRT_CALL char const* cudaGetErrorString(cudaError_t error);

    // Devices: the machine is the only one.

    TENON_HOSTRT_CALL cudaError_t cudaGetDeviceCount(int* count);
    TENON_HOSTRT_CALL cudaError_t cudaGetDevice(int* device);
    TENON_HOSTRT_CALL cudaError_t cudaSetDevice(int device);
    TENON_HOSTRT_CALL cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaSetValidDevices(int* devices, int count);
    TENON_HOSTRT_CALL cudaError_t cudaChooseDevice(int* device, struct cudaDeviceProp const* wanted);
    TENON_HOSTRT_CALL cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceSynchronize(void);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceReset(void);
    TENON_HOSTRT_CALL cudaError_t cudaSetDeviceFlags(unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaGetDeviceFlags(unsigned int* flags);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* config);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* config);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetByPCIBusId(int* device, char const* id);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceDisablePeerAccess(int peer);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetP2PAttribute(
        int* value, enum cudaDeviceP2PAttr attribute, int from, int to);
    TENON_HOSTRT_CALL cudaError_t cudaCtxResetPersistingL2Cache(void);
    TENON_HOSTRT_CALL cudaError_t cudaDriverGetVersion(int* version);
    TENON_HOSTRT_CALL cudaError_t cudaRuntimeGetVersion(int* version);
#if TENON_CUDART_MAJOR < 13 && defined(__ELF__)
    __asm__(".symver cudaRuntimeGetVersion,cudaRuntimeGetVersion@libcudart.so.12"); // Else it answers 13.
#endif

    // Memory.

    TENON_HOSTRT_CALL cudaError_t cudaMalloc(void** memory, size_t bytes);
    TENON_HOSTRT_CALL cudaError_t cudaMallocHost(void** memory, size_t bytes);
    TENON_HOSTRT_CALL cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaMallocManaged(
        void** memory, size_t bytes, unsigned int flags __dv(cudaMemAttachGlobal));
    TENON_HOSTRT_CALL cudaError_t cudaMallocPitch(void** memory, size_t* pitch, size_t width, size_t height);
    TENON_HOSTRT_CALL cudaError_t cudaMalloc3D(struct cudaPitchedPtr* memory, struct cudaExtent extent);
    TENON_HOSTRT_CALL cudaError_t cudaFree(void* memory);
    TENON_HOSTRT_CALL cudaError_t cudaFreeHost(void* memory);
    TENON_HOSTRT_CALL cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaHostUnregister(void* memory);
    TENON_HOSTRT_CALL cudaError_t cudaHostGetDevicePointer(void** device, void* memory, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaHostGetFlags(unsigned int* flags, void* memory);
    TENON_HOSTRT_CALL cudaError_t cudaPointerGetAttributes(
        struct cudaPointerAttributes* attributes, void const* memory);
    TENON_HOSTRT_CALL cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
    TENON_HOSTRT_CALL cudaError_t cudaMallocAsync(void** memory, size_t bytes, cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaMallocFromPoolAsync(
        void** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
    TENON_HOSTRT_CALL cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
    TENON_HOSTRT_CALL cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, struct cudaMemPoolProps const* properties);
    TENON_HOSTRT_CALL cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
    TENON_HOSTRT_CALL cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytesToKeep);
    TENON_HOSTRT_CALL cudaError_t cudaMemPoolSetAttribute(
        cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value);
    TENON_HOSTRT_CALL cudaError_t cudaMemPoolGetAttribute(
        cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void* value);
    TENON_HOSTRT_CALL cudaError_t cudaMemPoolSetAccess(
        cudaMemPool_t pool, struct cudaMemAccessDesc const* list, size_t count);
    TENON_HOSTRT_CALL cudaError_t cudaMemPoolGetAccess(
        enum cudaMemAccessFlags* flags, cudaMemPool_t pool, struct cudaMemLocation* location);
#if TENON_CUDART_MAJOR >= 13
    TENON_HOSTRT_CALL cudaError_t cudaMemPrefetchAsync(void const* memory, size_t bytes,
        struct cudaMemLocation location, unsigned int flags, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaMemAdvise(
        void const* memory, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation location);
#else
TENON_HOSTRT_CALL cudaError_t cudaMemPrefetchAsync(
    void const* memory, size_t bytes, int device, cudaStream_t stream __dv(0));
TENON_HOSTRT_CALL cudaError_t cudaMemAdvise(void const* memory, size_t bytes, enum cudaMemoryAdvise advice, int device);
#endif
    TENON_HOSTRT_CALL cudaError_t cudaStreamAttachMemAsync(
        cudaStream_t stream, void* memory, size_t bytes __dv(0), unsigned int flags __dv(cudaMemAttachSingle));

    // Copies.

    TENON_HOSTRT_CALL cudaError_t cudaMemcpy(void* to, void const* from, size_t bytes, enum cudaMemcpyKind kind);
    TENON_HOSTRT_CALL cudaError_t cudaMemcpyAsync(
        void* to, void const* from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaMemcpyPeer(
        void* to, int toDevice, void const* from, int fromDevice, size_t bytes);
    TENON_HOSTRT_CALL cudaError_t cudaMemcpyPeerAsync(
        void* to, int toDevice, void const* from, int fromDevice, size_t bytes, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaMemcpy2D(void* to, size_t toPitch, void const* from, size_t fromPitch,
        size_t width, size_t height, enum cudaMemcpyKind kind);
    TENON_HOSTRT_CALL cudaError_t cudaMemcpy2DAsync(void* to, size_t toPitch, void const* from, size_t fromPitch,
        size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaMemcpy3D(struct cudaMemcpy3DParms const* copy);
    TENON_HOSTRT_CALL cudaError_t cudaMemcpy3DAsync(struct cudaMemcpy3DParms const* copy, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaMemset(void* memory, int value, size_t bytes);
    TENON_HOSTRT_CALL cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaMemset2D(void* memory, size_t pitch, int value, size_t width, size_t height);
    TENON_HOSTRT_CALL cudaError_t cudaMemset2DAsync(
        void* memory, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent);
    TENON_HOSTRT_CALL cudaError_t cudaMemset3DAsync(
        struct cudaPitchedPtr memory, int value, struct cudaExtent extent, cudaStream_t stream __dv(0));

    // Streams.

    TENON_HOSTRT_CALL cudaError_t cudaStreamCreate(cudaStream_t* stream);
    TENON_HOSTRT_CALL cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
    TENON_HOSTRT_CALL cudaError_t cudaStreamDestroy(cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaStreamSynchronize(cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaStreamQuery(cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaStreamWaitEvent(
        cudaStream_t stream, cudaEvent_t event, unsigned int flags __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaStreamAddCallback(
        cudaStream_t stream, cudaStreamCallback_t callback, void* userData, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* userData);
    TENON_HOSTRT_CALL cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
    TENON_HOSTRT_CALL cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
    TENON_HOSTRT_CALL cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id);
    TENON_HOSTRT_CALL cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
    TENON_HOSTRT_CALL cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from);

    // Events.

    TENON_HOSTRT_CALL cudaError_t cudaEventCreate(cudaEvent_t* event);
    TENON_HOSTRT_CALL cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaEventDestroy(cudaEvent_t event);
    TENON_HOSTRT_CALL cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaEventRecordWithFlags(
        cudaEvent_t event, cudaStream_t stream __dv(0), unsigned int flags __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaEventQuery(cudaEvent_t event);
    TENON_HOSTRT_CALL cudaError_t cudaEventSynchronize(cudaEvent_t event);
    TENON_HOSTRT_CALL cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

    // Captures and graphs.

    TENON_HOSTRT_CALL cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
    TENON_HOSTRT_CALL cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
    TENON_HOSTRT_CALL cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status);
#if TENON_CUDART_MAJOR >= 13
    TENON_HOSTRT_CALL cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
        unsigned long long* id __dv(0), cudaGraph_t* graph __dv(0), cudaGraphNode_t const** dependencies __dv(0),
        cudaGraphEdgeData const** edges __dv(0), size_t* count __dv(0));
#else
TENON_HOSTRT_CALL cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
    unsigned long long* id __dv(0), cudaGraph_t* graph __dv(0), cudaGraphNode_t const** dependencies __dv(0),
    size_t* count __dv(0));
#endif
    TENON_HOSTRT_CALL cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode);
    TENON_HOSTRT_CALL cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
    TENON_HOSTRT_CALL cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original);
    TENON_HOSTRT_CALL cudaError_t cudaGraphDestroy(cudaGraph_t graph);
    TENON_HOSTRT_CALL cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
    TENON_HOSTRT_CALL cudaError_t cudaGraphInstantiate(
        cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaGraphInstantiateWithFlags(
        cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags __dv(0));
    TENON_HOSTRT_CALL cudaError_t cudaGraphInstantiateWithParams(
        cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphInstantiateParams* parameters);
    TENON_HOSTRT_CALL cudaError_t cudaGraphExecUpdate(
        cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result);
    TENON_HOSTRT_CALL cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags);
    TENON_HOSTRT_CALL cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

    // Kernels: these refuse, as there is nothing that could run one.

    TENON_HOSTRT_CALL cudaError_t cudaLaunchKernel(
        void const* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaLaunchCooperativeKernel(
        void const* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream);
    TENON_HOSTRT_CALL cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attributes, void const* function);
    TENON_HOSTRT_CALL cudaError_t cudaFuncSetAttribute(
        void const* function, enum cudaFuncAttribute attribute, int value);
    TENON_HOSTRT_CALL cudaError_t cudaFuncSetCacheConfig(void const* function, enum cudaFuncCache config);
    TENON_HOSTRT_CALL cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        int* blocks, void const* function, int blockSize, size_t sharedBytes);

#ifdef __cplusplus
}
#endif

#endif // TENON_HOSTRT_CUDA_RUNTIME_API_H
