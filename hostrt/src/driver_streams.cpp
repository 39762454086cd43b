// Streams, events, captures and graphs under the names of the driver, whose handles are the runtime's.
#include "driver.h"

using namespace tenon::hostrt;

TENON_RUNTIME(cudaEventCreateWithFlags)
TENON_RUNTIME(cudaEventDestroy)
TENON_RUNTIME(cudaEventElapsedTime)
TENON_RUNTIME(cudaEventQuery)
TENON_RUNTIME(cudaEventRecord)
TENON_RUNTIME(cudaEventSynchronize)
TENON_RUNTIME(cudaGraphDestroy)
TENON_RUNTIME(cudaGraphExecDestroy)
TENON_RUNTIME(cudaGraphInstantiateWithFlags)
TENON_RUNTIME(cudaGraphLaunch)
TENON_RUNTIME(cudaLaunchHostFunc)
TENON_RUNTIME(cudaStreamAddCallback)
TENON_RUNTIME(cudaStreamBeginCapture)
TENON_RUNTIME(cudaStreamCreateWithFlags)
TENON_RUNTIME(cudaStreamCreateWithPriority)
TENON_RUNTIME(cudaStreamDestroy)
TENON_RUNTIME(cudaStreamEndCapture)
TENON_RUNTIME(cudaStreamGetFlags)
TENON_RUNTIME(cudaStreamGetPriority)
TENON_RUNTIME(cudaStreamIsCapturing)
TENON_RUNTIME(cudaStreamQuery)
TENON_RUNTIME(cudaStreamSynchronize)
TENON_RUNTIME(cudaStreamWaitEvent)

namespace
{
CUresult contextOf(CUstream stream, CUcontext* context) noexcept
{
    if (context == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    TenonHostStream properties;
    *context = primaryContext(); // All contexts have the same streams.
    return resultOf(errorOf(tenonHostGetStream(stream, &properties)));
}

//! The driver's callbacks differ from the runtime's in the type of the error, whose numbers are the same.
cudaError_t addCallback(CUstream stream, CUstreamCallback callback, void* user, unsigned int flags) noexcept
{
    return host_cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback), user, flags);
}
} // namespace

TENON_DRIVER(
    cuStreamCreate, kContext, (CUstream * stream, unsigned int flags), host_cudaStreamCreateWithFlags(stream, flags))
TENON_DRIVER(cuStreamCreateWithPriority, kContext, (CUstream * stream, unsigned int flags, int priority),
    host_cudaStreamCreateWithPriority(stream, flags, priority))
TENON_DRIVER(cuStreamDestroy_v2, kContext, (CUstream stream), host_cudaStreamDestroy(stream))
TENON_DRIVER_STREAM(cuStreamSynchronize, (CUstream stream), host_cudaStreamSynchronize(stream))
TENON_DRIVER_STREAM(cuStreamQuery, (CUstream stream), host_cudaStreamQuery(stream))
TENON_DRIVER_STREAM(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
    host_cudaStreamWaitEvent(stream, event, flags))
TENON_DRIVER_STREAM(cuStreamGetFlags, (CUstream stream, unsigned int* flags), host_cudaStreamGetFlags(stream, flags))
TENON_DRIVER_STREAM(cuStreamGetPriority, (CUstream stream, int* priority), host_cudaStreamGetPriority(stream, priority))
TENON_DRIVER_STREAM(cuStreamGetCtx, (CUstream stream, CUcontext* context), contextOf(stream, context))
TENON_DRIVER_STREAM(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void* user, unsigned int flags),
    addCallback(stream, callback, user, flags))
TENON_DRIVER_STREAM(
    cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* user), host_cudaLaunchHostFunc(stream, function, user))

TENON_DRIVER_STREAM(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
    host_cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode)))
TENON_DRIVER_STREAM(cuStreamEndCapture, (CUstream stream, CUgraph* graph), host_cudaStreamEndCapture(stream, graph))
TENON_DRIVER_STREAM(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus* status),
    host_cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status)))
TENON_DRIVER(cuGraphInstantiateWithFlags, kContext, (CUgraphExec * executable, CUgraph graph, unsigned long long flags),
    host_cudaGraphInstantiateWithFlags(executable, graph, flags))
TENON_DRIVER_STREAM(cuGraphLaunch, (CUgraphExec executable, CUstream stream), host_cudaGraphLaunch(executable, stream))
TENON_DRIVER(cuGraphDestroy, kContext, (CUgraph graph), host_cudaGraphDestroy(graph))
TENON_DRIVER(cuGraphExecDestroy, kContext, (CUgraphExec executable), host_cudaGraphExecDestroy(executable))

TENON_DRIVER(
    cuEventCreate, kContext, (CUevent * event, unsigned int flags), host_cudaEventCreateWithFlags(event, flags))
TENON_DRIVER(cuEventDestroy_v2, kContext, (CUevent event), host_cudaEventDestroy(event))
TENON_DRIVER_STREAM(cuEventRecord, (CUevent event, CUstream stream), host_cudaEventRecord(event, stream))
TENON_DRIVER(cuEventQuery, kContext, (CUevent event), host_cudaEventQuery(event))
TENON_DRIVER(cuEventSynchronize, kContext, (CUevent event), host_cudaEventSynchronize(event))
#undef cuEventElapsedTime // The header gives its name to the one of version 13.
TENON_DRIVER(cuEventElapsedTime, kContext, (float* milliseconds, CUevent start, CUevent end),
    host_cudaEventElapsedTime(milliseconds, start, end))
TENON_DRIVER(cuEventElapsedTime_v2, kContext, (float* milliseconds, CUevent start, CUevent end),
    host_cudaEventElapsedTime(milliseconds, start, end))
