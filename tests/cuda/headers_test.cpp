// Our declarations of the driver's calls, types and numbers against the toolkit's header, where there is one.
#include "device/cuda/driver.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace tenon::test
{

namespace
{
using namespace tenon::cuda;

//! Parameters that are passed alike: as many, each as large, pointers where the other has pointers.
template <typename Ours, typename Theirs>
constexpr bool kIsSame{false};
template <typename... Ours, typename... Theirs>
constexpr bool kIsSame<Code (*)(Ours...), CUresult (*)(Theirs...)>{sizeof...(Ours) == sizeof...(Theirs)
    && ((sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>)&&...)};

} // namespace

TEST(DriverHeaders, numbersAndTypesAreTheToolkits)
{
    EXPECT_EQ(sizeof(Address), sizeof(CUdeviceptr));
    EXPECT_EQ(kSuccess, CUDA_SUCCESS);
    EXPECT_EQ(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(kNoDevice, CUDA_ERROR_NO_DEVICE);
    EXPECT_EQ(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
    EXPECT_TRUE(isSticky(CUDA_ERROR_ILLEGAL_ADDRESS));
    EXPECT_TRUE(isSticky(CUDA_ERROR_LAUNCH_FAILED));
    EXPECT_TRUE(isSticky(CUDA_ERROR_ECC_UNCORRECTABLE));
    EXPECT_FALSE(isSticky(CUDA_ERROR_OUT_OF_MEMORY));
    EXPECT_EQ(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
    EXPECT_EQ(kHostPortable, CU_MEMHOSTALLOC_PORTABLE);
    EXPECT_EQ(kUserObjectNoSync, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    EXPECT_EQ(kGraphObjectMove, CU_GRAPH_USER_OBJECT_MOVE);
    EXPECT_EQ(static_cast<int>(kCaptureGlobal), CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(static_cast<int>(kCaptureThreadLocal), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(static_cast<int>(kCaptureRelaxed), CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(static_cast<int>(kCaptureActive), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(static_cast<int>(kCaptureInvalidated), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(static_cast<int>(kPointerMemoryType), CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    EXPECT_EQ(static_cast<int>(kPointerDeviceOrdinal), CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    EXPECT_EQ(kMemoryHost, CU_MEMORYTYPE_HOST);
    EXPECT_EQ(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(static_cast<int>(kMultiprocessors), CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    EXPECT_EQ(static_cast<int>(kL2Bytes), CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    EXPECT_EQ(static_cast<int>(kUnifiedAddressing), CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
    EXPECT_EQ(static_cast<int>(kMajor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    EXPECT_EQ(static_cast<int>(kMinor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    EXPECT_EQ(static_cast<int>(kMaxSharedPerBlockOptin), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    EXPECT_EQ(sizeof(GraphUpdate), sizeof(CUgraphExecUpdateResultInfo));
    EXPECT_EQ(offsetof(GraphUpdate, errorFromNode), offsetof(CUgraphExecUpdateResultInfo, errorFromNode));
    EXPECT_EQ(static_cast<int>(kFunctionDynamicSharedBytes), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    EXPECT_EQ(static_cast<int>(kFunctionSharedShare), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    EXPECT_EQ(sizeof(TensorMap), sizeof(CUtensorMap));
    EXPECT_EQ(static_cast<int>(kTensorMapHalf), CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
    EXPECT_EQ(static_cast<int>(kTensorMapBfloat), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
    EXPECT_EQ(static_cast<int>(kTensorMapNotInterleaved), CU_TENSOR_MAP_INTERLEAVE_NONE);
    EXPECT_EQ(static_cast<int>(kTensorMapSwizzle128), CU_TENSOR_MAP_SWIZZLE_128B);
    EXPECT_EQ(static_cast<int>(kTensorMapPromotion256), CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    EXPECT_EQ(static_cast<int>(kTensorMapZeros), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    EXPECT_EQ(static_cast<int>(kJitErrorLog), CU_JIT_ERROR_LOG_BUFFER);
    EXPECT_EQ(kLaunchOverlaps, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
    EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
    EXPECT_EQ(offsetof(LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
    EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
    EXPECT_EQ(offsetof(LaunchConfig, sharedBytes), offsetof(CUlaunchConfig, sharedMemBytes));
    EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
    EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
    EXPECT_EQ(offsetof(LaunchConfig, count), offsetof(CUlaunchConfig, numAttrs));
    EXPECT_EQ(static_cast<int>(kJitErrorLogBytes), CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
}

//! Not cuStreamGetCaptureInfo_v2 and cuEventElapsedTime: the header of CUDA 13 has newer forms of them.
TEST(DriverHeaders, callsTakeWhatTheToolkitSays)
{
#define TENON_EXPECT_CALL(name) EXPECT_TRUE((kIsSame<decltype(DriverApi::name), decltype(&::name)>)) << #name
    TENON_EXPECT_CALL(cuInit);
    TENON_EXPECT_CALL(cuDriverGetVersion);
    TENON_EXPECT_CALL(cuGetErrorName);
    TENON_EXPECT_CALL(cuGetErrorString);
    TENON_EXPECT_CALL(cuDeviceGetCount);
    TENON_EXPECT_CALL(cuDeviceGet);
    TENON_EXPECT_CALL(cuDeviceGetName);
    TENON_EXPECT_CALL(cuDeviceGetAttribute);
    TENON_EXPECT_CALL(cuDeviceTotalMem_v2);
    TENON_EXPECT_CALL(cuDevicePrimaryCtxRetain);
    TENON_EXPECT_CALL(cuCtxGetCurrent);
    TENON_EXPECT_CALL(cuCtxGetDevice);
    TENON_EXPECT_CALL(cuCtxPushCurrent_v2);
    TENON_EXPECT_CALL(cuCtxPopCurrent_v2);
    TENON_EXPECT_CALL(cuMemAlloc_v2);
    TENON_EXPECT_CALL(cuMemFree_v2);
    TENON_EXPECT_CALL(cuMemHostAlloc);
    TENON_EXPECT_CALL(cuMemFreeHost);
    TENON_EXPECT_CALL(cuMemcpyAsync);
    TENON_EXPECT_CALL(cuMemsetD8Async);
    TENON_EXPECT_CALL(cuPointerGetAttribute);
    TENON_EXPECT_CALL(cuStreamCreate);
    TENON_EXPECT_CALL(cuStreamDestroy_v2);
    TENON_EXPECT_CALL(cuStreamQuery);
    TENON_EXPECT_CALL(cuStreamSynchronize);
    TENON_EXPECT_CALL(cuStreamGetCtx);
    TENON_EXPECT_CALL(cuStreamWaitEvent);
    TENON_EXPECT_CALL(cuStreamIsCapturing);
    TENON_EXPECT_CALL(cuStreamBeginCapture_v2);
    TENON_EXPECT_CALL(cuStreamEndCapture);
    TENON_EXPECT_CALL(cuThreadExchangeStreamCaptureMode);
    TENON_EXPECT_CALL(cuGraphInstantiateWithFlags);
    TENON_EXPECT_CALL(cuGraphExecUpdate_v2);
    TENON_EXPECT_CALL(cuGraphLaunch);
    TENON_EXPECT_CALL(cuGraphExecDestroy);
    TENON_EXPECT_CALL(cuGraphDestroy);
    TENON_EXPECT_CALL(cuUserObjectCreate);
    TENON_EXPECT_CALL(cuUserObjectRelease);
    TENON_EXPECT_CALL(cuGraphRetainUserObject);
    TENON_EXPECT_CALL(cuEventCreate);
    TENON_EXPECT_CALL(cuEventDestroy_v2);
    TENON_EXPECT_CALL(cuEventRecord);
    TENON_EXPECT_CALL(cuEventQuery);
    TENON_EXPECT_CALL(cuEventSynchronize);
    TENON_EXPECT_CALL(cuLaunchHostFunc);
    TENON_EXPECT_CALL(cuLaunchKernel);
    TENON_EXPECT_CALL(cuLaunchKernelEx);
    TENON_EXPECT_CALL(cuModuleLoadDataEx);
    TENON_EXPECT_CALL(cuModuleUnload);
    TENON_EXPECT_CALL(cuModuleGetFunction);
    TENON_EXPECT_CALL(cuFuncSetAttribute);
    TENON_EXPECT_CALL(cuFuncGetParamInfo);
    TENON_EXPECT_CALL(cuTensorMapEncodeIm2col);
    TENON_EXPECT_CALL(cuTensorMapEncodeTiled);
}

} // namespace tenon::test
#endif
