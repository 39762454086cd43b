// Captures and graphs under CUDA's names.
#include "calls.h"

#include <new>

using namespace tenon::hostrt;

namespace
{
thread_local cudaStreamCaptureMode tMode{cudaStreamCaptureModeGlobal};

cudaStreamCaptureStatus statusOf(TenonHostStream const& stream) noexcept
{
    switch (stream.isCapturing)
    {
    case 1: return cudaStreamCaptureStatusActive;
    case 2: return cudaStreamCaptureStatusInvalidated;
    default: return cudaStreamCaptureStatusNone;
    }
}

cudaError_t isCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) noexcept
{
    TenonHostStream properties;
    if (status == nullptr)
        return cudaErrorInvalidValue;
    if (TenonHostStatus const problem = tenonHostGetStream(stream, &properties); problem != TENON_HOST_OK)
        return errorOf(problem);
    *status = statusOf(properties);
    if (id != nullptr && *status != cudaStreamCaptureStatusNone)
        *id = properties.captureId;
    return cudaSuccess;
}

cudaError_t captureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
    cudaGraph_t* graph, cudaGraphNode_t const** nodes, size_t* count) noexcept
{
    cudaError_t const error = isCapturing(stream, status, id);
    if (error != cudaSuccess || *status == cudaStreamCaptureStatusNone)
        return error;
    if (graph != nullptr || nodes != nullptr || count != nullptr)
        return refused("cudaStreamGetCaptureInfo", "the graph of a capture can be had only when the capture has ended");
    return cudaSuccess;
}

cudaError_t begin(cudaStream_t stream, cudaStreamCaptureMode mode) noexcept
{
    return errorOf(tenonHostBeginCapture(stream, static_cast<int32_t>(mode)));
}

cudaError_t end(cudaStream_t stream, cudaGraph_t* graph) noexcept
{
    if (graph == nullptr)
        return cudaErrorInvalidValue;
    void* handle{nullptr};
    TenonHostStatus const status = tenonHostEndCapture(stream, &handle);
    *graph = static_cast<cudaGraph_t>(handle);
    return errorOf(status);
}

cudaError_t exchangeMode(cudaStreamCaptureMode* mode) noexcept
{
    if (mode == nullptr)
        return cudaErrorInvalidValue;
    cudaStreamCaptureMode const before = tMode; // All calls are allowed in every mode.
    tMode = *mode;
    *mode = before;
    return cudaSuccess;
}

//! A graph that is null or gone is a bad argument, as CUDA says.
cudaError_t graphErrorOf(TenonHostStatus status) noexcept
{
    return memoryErrorOf(status);
}

cudaError_t createGraph(cudaGraph_t* graph, unsigned int flags) noexcept
{
    if (graph == nullptr || flags != 0)
        return cudaErrorInvalidValue;
    void* handle{nullptr};
    TenonHostStatus const status = tenonHostCreateGraph(&handle);
    *graph = static_cast<cudaGraph_t>(handle);
    return graphErrorOf(status);
}

cudaError_t cloneGraph(cudaGraph_t* clone, cudaGraph_t original) noexcept
{
    if (clone == nullptr)
        return cudaErrorInvalidValue;
    void* handle{nullptr};
    TenonHostStatus const status = tenonHostCloneGraph(&handle, original);
    *clone = static_cast<cudaGraph_t>(handle);
    return graphErrorOf(status);
}

cudaError_t nodesOf(cudaGraph_t graph, cudaGraphNode_t const* nodes, size_t* count) noexcept
{
    if (count == nullptr)
        return cudaErrorInvalidValue;
    uint64_t steps{0};
    if (TenonHostStatus const status = tenonHostGraphSize(graph, &steps); status != TENON_HOST_OK)
        return graphErrorOf(status);
    if (nodes != nullptr && *count > 0)
        return refused("cudaGraphGetNodes", "steps of a graph have no handles; their number can be had");
    *count = steps;
    return cudaSuccess;
}

cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph) noexcept
{
    if (executable == nullptr)
        return cudaErrorInvalidValue;
    void* handle{nullptr};
    TenonHostStatus const status = tenonHostInstantiateGraph(&handle, graph);
    *executable = static_cast<cudaGraphExec_t>(handle);
    return graphErrorOf(status);
}

cudaError_t instantiateWith(
    cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphInstantiateParams* parameters) noexcept
{
    if (parameters == nullptr)
        return cudaErrorInvalidValue;
    cudaError_t const error = instantiate(executable, graph);
    parameters->errNode_out = nullptr;
    parameters->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
    return error;
}

//! Whatever the new graph is: an executable is only its steps.
cudaError_t update(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) noexcept
{
    cudaError_t const error = graphErrorOf(tenonHostUpdateExecutable(executable, graph));
    if (result != nullptr)
        *result = {error == cudaSuccess ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateError, nullptr, nullptr};
    return error;
}

cudaError_t flagsOf(cudaGraphExec_t executable, unsigned long long* flags) noexcept
{
    if (flags == nullptr)
        return cudaErrorInvalidValue;
    *flags = 0; // None has an effect, so that none is kept.
    return graphErrorOf(tenonHostCheckExecutable(executable));
}

cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream) noexcept
{
    cudaError_t const error = graphErrorOf(tenonHostCheckExecutable(executable));
    return error == cudaSuccess ? errorOf(tenonHostLaunchGraph(executable, stream)) : error;
}

cudaError_t upload(cudaGraphExec_t executable, cudaStream_t stream) noexcept
{
    cudaError_t const error = graphErrorOf(tenonHostCheckExecutable(executable));
    TenonHostStream properties;
    return error == cudaSuccess ? errorOf(tenonHostGetStream(stream, &properties)) : error;
}
} // namespace

TENON_CUDA_STREAM(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode), begin(stream, mode))
TENON_CUDA_STREAM(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), end(stream, graph))
TENON_CUDA_STREAM(
    cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status), isCapturing(stream, status, nullptr))
TENON_CUDA_STREAM(cudaStreamGetCaptureInfo_v3,
    (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
        cudaGraphNode_t const** nodes, cudaGraphEdgeData const**, size_t* count),
    captureInfo(stream, status, id, graph, nodes, count))
TENON_CUDA_STREAM(cudaStreamGetCaptureInfo,
    (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
        cudaGraphNode_t const** nodes, cudaGraphEdgeData const**, size_t* count),
    captureInfo(stream, status, id, graph, nodes, count))
// As version 12 has it: without edges.
TENON_CUDA_STREAM(cudaStreamGetCaptureInfo_v2,
    (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
        cudaGraphNode_t const** nodes, size_t* count),
    captureInfo(stream, status, id, graph, nodes, count))
TENON_CUDA(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), exchangeMode(mode))

TENON_CUDA(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), createGraph(graph, flags))
TENON_CUDA(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t original), cloneGraph(clone, original))
TENON_CUDA(cudaGraphDestroy, (cudaGraph_t graph), graphErrorOf(tenonHostDestroyGraph(graph)))
TENON_CUDA(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count), nodesOf(graph, nodes, count))
TENON_CUDA(cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long),
    instantiate(executable, graph))
TENON_CUDA(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long),
    instantiate(executable, graph))
TENON_CUDA(cudaGraphExecUpdate, (cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result),
    update(executable, graph, result))
TENON_CUDA(cudaGraphExecGetFlags, (cudaGraphExec_t executable, unsigned long long* flags), flagsOf(executable, flags))
TENON_CUDA_STREAM(cudaGraphUpload, (cudaGraphExec_t executable, cudaStream_t stream), upload(executable, stream))
TENON_CUDA_STREAM(cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream), launch(executable, stream))
TENON_CUDA(cudaGraphExecDestroy, (cudaGraphExec_t executable), graphErrorOf(tenonHostDestroyExecutable(executable)))

// The stream of these is in the parameters, so that both do the same.
TENON_CUDA(cudaGraphInstantiateWithParams,
    (cudaGraphExec_t * executable, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
    instantiateWith(executable, graph, parameters))
TENON_CUDA_FREELY(cudaGraphInstantiateWithParams_ptsz,
    (cudaGraphExec_t * executable, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
    instantiateWith(executable, graph, parameters))
