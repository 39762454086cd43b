// What each call answers, mistakes included: one line for each. behaviour.txt has the lines of a real GPU.
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#define ASK(call) std::printf("%s -> %s\n", #call, cudaGetErrorName(call))
#define SAY(value) std::printf("%s = %lld\n", #value, static_cast<long long>(value))

namespace
{
char own[4096];
char* device{nullptr};
char* pinned{nullptr};
char* managed{nullptr};
void* other{nullptr};
cudaStream_t stream{nullptr};
cudaStream_t second{nullptr};
cudaStream_t blocking{nullptr};
cudaEvent_t event{nullptr};
cudaEvent_t untimed{nullptr};
cudaEvent_t never{nullptr};
cudaGraph_t graph{nullptr};
cudaGraphExec_t executable{nullptr};
std::atomic<bool> isOpen{false};

void hold(void*)
{
    while (!isOpen)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

void nothing(void*) {}

void callback(cudaStream_t, cudaError_t, void*) {}

void section(char const* name)
{
    cudaGetLastError();
    std::printf("\n# %s\n", name);
}

void allocations()
{
    section("allocations");
    ASK(cudaFree(nullptr));
    ASK(cudaMalloc(&other, 0));
    SAY(other != nullptr);
    ASK(cudaMallocManaged(&other, 0));
    ASK(cudaMallocHost(&other, 0));
    SAY(other != nullptr);
    ASK(cudaMallocAsync(&other, 0, static_cast<cudaStream_t>(nullptr)));
    SAY(other != nullptr);
    ASK(cudaMalloc(&other, size_t{1} << 60));
    ASK(cudaPeekAtLastError());
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
    ASK(cudaMalloc(static_cast<void**>(nullptr), 8));
    ASK(cudaMalloc(&device, 4096));
    ASK(cudaMallocHost(&pinned, 4096));
    ASK(cudaMallocManaged(&managed, 4096));
    ASK(cudaMallocManaged(&other, 64, 0));
    ASK(cudaHostAlloc(&other, 64, 0x100));
}

void frees()
{
    section("frees");
    ASK(cudaFree(own));
    ASK(cudaFree(device + 8));
    ASK(cudaFreeHost(nullptr));
    ASK(cudaFreeHost(own));
    ASK(cudaFreeHost(device));
    ASK(cudaFree(pinned));
    ASK(cudaFreeHost(managed));
    ASK(cudaFree(device));
    ASK(cudaFree(device));
    ASK(cudaMalloc(&device, 4096));
    ASK(cudaMallocHost(&pinned, 4096));
    ASK(cudaMallocManaged(&managed, 4096));
}

void registrations()
{
    section("registrations");
    unsigned int flags = 0;
    ASK(cudaHostUnregister(own));
    ASK(cudaHostUnregister(nullptr));
    ASK(cudaHostRegister(own, sizeof(own), 0));
    ASK(cudaHostRegister(own, 8, 0));
    ASK(cudaHostRegister(nullptr, 8, 0));
    ASK(cudaHostRegister(own, 0, 0));
    ASK(cudaHostGetFlags(&flags, pinned));
    ASK(cudaHostGetFlags(&flags, device));
    ASK(cudaHostGetDevicePointer(&other, pinned, 0));
    ASK(cudaHostGetDevicePointer(&other, device, 0));
    ASK(cudaHostGetDevicePointer(&other, pinned, 1));
    ASK(cudaHostUnregister(own));
}

void attributes(char const* name, void const* memory)
{
    std::printf("attributes of %s\n", name);
    cudaPointerAttributes found{};
    ASK(cudaPointerGetAttributes(&found, memory));
    SAY(found.type);
    SAY(found.device);
    SAY(found.devicePointer == memory);
    SAY(found.hostPointer == memory);
    SAY(found.devicePointer == nullptr);
    SAY(found.hostPointer == nullptr);
}

void pointers()
{
    section("pointers");
    attributes("device memory", device);
    attributes("the middle of device memory", device + 100);
    attributes("pinned memory", pinned);
    attributes("managed memory", managed);
    attributes("the program's own memory", own);
    attributes("null", nullptr);
    ASK(cudaPointerGetAttributes(nullptr, device));
}

void copies()
{
    section("copies");
    ASK(cudaMemcpy(device, own, 16, static_cast<cudaMemcpyKind>(9)));
    ASK(cudaMemcpy(device, own, 0, static_cast<cudaMemcpyKind>(9)));
    ASK(cudaMemcpy(device, nullptr, 16, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(device, nullptr, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(device, 10, own, 50, 37, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(device, 50, own, 10, 37, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(device, 10, own, 10, 37, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemset(nullptr, 0, 8));
    ASK(cudaMemset(nullptr, 0, 0));
    ASK(cudaMemset2D(device, 10, 0, 20, 4));
    ASK(cudaMemset2D(device, 10, 0, 20, 1));
    ASK(cudaMemcpyPeer(device, 99, device + 64, 0, 8));
    section("copies beyond their memory");
    static char large[1 << 23]; // More than a device gives out at a time.
    char* const last = device + 4096 - 16;
    ASK(cudaMemcpy(device, large, sizeof(large), cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(large, device, sizeof(large), cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(large, device, sizeof(large), cudaMemcpyDefault));
    ASK(cudaMemcpyAsync(device, large, sizeof(large), cudaMemcpyHostToDevice, cudaStreamPerThread));
    ASK(cudaMemcpy(last, own, 16, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(device, 1 << 20, own, 8, 8, 8, cudaMemcpyHostToDevice));
    ASK(cudaMemset(device, 1, sizeof(large)));
    ASK(cudaMemsetAsync(device, 1, sizeof(large), cudaStreamPerThread));
    ASK(cudaMemset2D(device, 1 << 20, 1, 8, 8));
    ASK(cudaMemset(last, 1, 16));
    section("copies of another direction");
    ASK(cudaMemcpy(device, own, 16, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(own, device, 16, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(own, device, 16, cudaMemcpyHostToHost));
    ASK(cudaMemcpy(device, own, 16, cudaMemcpyHostToHost));
    ASK(cudaMemcpy(device, device + 64, 16, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy(device, device + 64, 16, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy(pinned, device, 16, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpy(device, pinned, 16, cudaMemcpyDeviceToDevice));
    ASK(cudaGetLastError());
    ASK(cudaDeviceSynchronize());
}

void streams()
{
    section("streams");
    ASK(cudaStreamCreate(nullptr));
    ASK(cudaStreamCreateWithFlags(&stream, 8));
    ASK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ASK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    ASK(cudaStreamCreate(&blocking));
    cudaStream_t prior = nullptr;
    int least = 0;
    int greatest = 0;
    int priority = 0;
    ASK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    ASK(cudaStreamCreateWithPriority(&prior, 0, -99));
    ASK(cudaStreamGetPriority(prior, &priority));
    SAY(priority == greatest);
    unsigned int flags = 7;
    ASK(cudaStreamGetFlags(nullptr, &flags));
    SAY(flags);
    ASK(cudaStreamGetFlags(stream, nullptr));
    ASK(cudaStreamDestroy(nullptr));
    ASK(cudaStreamDestroy(cudaStreamPerThread));
    ASK(cudaLaunchHostFunc(stream, nullptr, nullptr));
    ASK(cudaStreamAddCallback(stream, nullptr, nullptr, 0));
    ASK(cudaStreamAddCallback(stream, callback, nullptr, 1));
    isOpen = false;
    ASK(cudaLaunchHostFunc(blocking, hold, nullptr));
    ASK(cudaStreamQuery(blocking));
    ASK(cudaStreamQuery(nullptr));
    ASK(cudaPeekAtLastError());
    isOpen = true;
    ASK(cudaStreamSynchronize(nullptr));
    ASK(cudaStreamQuery(blocking));
}

void events()
{
    section("events");
    cudaEvent_t late = nullptr;
    float time = 0.0F;
    ASK(cudaEventCreateWithFlags(&event, 0x40));
    ASK(cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    ASK(cudaEventCreate(nullptr));
    ASK(cudaEventCreate(&event));
    ASK(cudaEventCreate(&never));
    ASK(cudaEventCreate(&late));
    ASK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    ASK(cudaEventRecord(nullptr));
    ASK(cudaEventQuery(nullptr));
    ASK(cudaEventDestroy(nullptr));
    ASK(cudaEventRecordWithFlags(event, nullptr, 7));
    ASK(cudaStreamWaitEvent(nullptr, event, 7));
    ASK(cudaStreamWaitEvent(nullptr, nullptr, 0));
    ASK(cudaEventQuery(event));
    ASK(cudaEventSynchronize(event));
    ASK(cudaEventElapsedTime(&time, event, never));
    ASK(cudaEventRecord(event, stream));
    ASK(cudaEventRecord(untimed, stream));
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaEventElapsedTime(&time, event, untimed));
    ASK(cudaEventElapsedTime(&time, event, never));
    ASK(cudaEventElapsedTime(nullptr, event, event));
    isOpen = false;
    ASK(cudaLaunchHostFunc(stream, hold, nullptr));
    ASK(cudaEventRecord(late, stream));
    ASK(cudaEventQuery(late));
    ASK(cudaEventElapsedTime(&time, event, late));
    isOpen = true;
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaEventElapsedTime(&time, event, late));
}

void captureStates()
{
    section("states of a capture");
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    ASK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed));
    ASK(cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(7)));
    ASK(cudaStreamEndCapture(stream, &graph));
    ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ASK(cudaStreamIsCapturing(stream, &status));
    SAY(status);
    ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ASK(cudaStreamIsCapturing(stream, &status));
    SAY(status);
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaStreamIsCapturing(stream, &status));
    SAY(status);
    ASK(cudaMemsetAsync(device, 0, 8, stream));
    ASK(cudaStreamEndCapture(stream, &graph));
    SAY(graph == nullptr);
    ASK(cudaStreamIsCapturing(stream, &status));
    SAY(status);
}

#define CAPTURE(on, mode, call)                                                                                        \
    ASK(cudaStreamBeginCapture(on, mode));                                                                             \
    ASK(call);                                                                                                         \
    ASK(cudaStreamEndCapture(on, &graph))

void captureMistakes()
{
    section("mistakes in a capture");
    CAPTURE(stream, cudaStreamCaptureModeRelaxed, cudaStreamQuery(stream));
    CAPTURE(stream, cudaStreamCaptureModeRelaxed, cudaDeviceSynchronize());
    CAPTURE(stream, cudaStreamCaptureModeRelaxed, cudaStreamWaitEvent(stream, event, 0));
    CAPTURE(stream, cudaStreamCaptureModeRelaxed, cudaStreamWaitEvent(stream, never, 0));
    CAPTURE(stream, cudaStreamCaptureModeRelaxed, cudaStreamAddCallback(stream, callback, nullptr, 0));
    CAPTURE(stream, cudaStreamCaptureModeRelaxed, cudaMemset(device, 0, 8));
    CAPTURE(stream, cudaStreamCaptureModeRelaxed, cudaEventQuery(event));
    CAPTURE(blocking, cudaStreamCaptureModeRelaxed, cudaMemset(device, 0, 8));
    CAPTURE(blocking, cudaStreamCaptureModeRelaxed, cudaMemsetAsync(device, 0, 8, nullptr));
    CAPTURE(blocking, cudaStreamCaptureModeThreadLocal, cudaMemsetAsync(device, 0, 8, nullptr));
    CAPTURE(blocking, cudaStreamCaptureModeGlobal, cudaMemsetAsync(device, 0, 8, nullptr));
    CAPTURE(blocking, cudaStreamCaptureModeRelaxed, cudaStreamQuery(nullptr));
    CAPTURE(blocking, cudaStreamCaptureModeRelaxed, cudaStreamSynchronize(nullptr));
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CAPTURE(blocking, cudaStreamCaptureModeRelaxed, cudaStreamIsCapturing(nullptr, &status));
    ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    std::thread{[] { ASK(cudaStreamEndCapture(stream, &graph)); }}.join();
    ASK(cudaStreamEndCapture(stream, &graph));
}

//! Begins on `stream`, draws `second` in, and puts work into it.
void drawIn()
{
    ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ASK(cudaEventRecord(untimed, stream));
    ASK(cudaStreamWaitEvent(second, untimed, 0));
    ASK(cudaMemsetAsync(device, 0, 8, second));
}

void captureJoins()
{
    section("several streams in a capture");
    drawIn();
    ASK(cudaStreamEndCapture(stream, &graph));
    drawIn();
    ASK(cudaEventQuery(untimed));
    ASK(cudaStreamEndCapture(stream, &graph));
    drawIn();
    ASK(cudaEventSynchronize(untimed));
    ASK(cudaStreamEndCapture(stream, &graph));
    drawIn();
    ASK(cudaStreamEndCapture(second, &graph));
    ASK(cudaStreamEndCapture(stream, &graph));
    drawIn();
    ASK(cudaEventRecord(untimed, second));
    ASK(cudaStreamWaitEvent(stream, untimed, 0));
    ASK(cudaStreamEndCapture(stream, &graph));
    ASK(cudaEventQuery(untimed));
    ASK(cudaStreamWaitEvent(second, untimed, 0));
    ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ASK(cudaStreamBeginCapture(second, cudaStreamCaptureModeRelaxed));
    ASK(cudaEventRecord(untimed, stream));
    ASK(cudaStreamWaitEvent(second, untimed, 0));
    ASK(cudaStreamEndCapture(stream, &graph));
    ASK(cudaStreamEndCapture(second, &graph));
}

void graphs()
{
    section("graphs");
    size_t nodes = 0;
    ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ASK(cudaLaunchHostFunc(stream, nothing, nullptr));
    ASK(cudaMemcpyAsync(device, pinned, 8, cudaMemcpyHostToDevice, stream));
    ASK(cudaStreamEndCapture(stream, &graph));
    ASK(cudaGraphGetNodes(graph, nullptr, &nodes));
    SAY(nodes);
    ASK(cudaGraphInstantiate(&executable, graph, 0));
    ASK(cudaGraphUpload(executable, stream));
    ASK(cudaGraphLaunch(executable, stream));
    ASK(cudaStreamSynchronize(stream));
    ASK(cudaGraphInstantiate(&executable, nullptr, 0));
    ASK(cudaGraphLaunch(nullptr, stream));
    ASK(cudaGraphDestroy(nullptr));
    ASK(cudaGraphExecDestroy(nullptr));
    ASK(cudaGraphCreate(&graph, 1));
    ASK(cudaGraphCreate(&graph, 0));
    ASK(cudaGraphInstantiate(&executable, graph, 0));
    ASK(cudaGraphLaunch(executable, stream));
    ASK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    ASK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    ASK(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    ASK(cudaStreamEndCapture(stream, &graph));
    ASK(cudaGraphGetNodes(graph, nullptr, &nodes));
    SAY(nodes);
    ASK(cudaGraphInstantiate(&executable, graph, 0));
    ASK(cudaGraphLaunch(executable, stream));
    ASK(cudaEventSynchronize(event));
}

void pools()
{
    section("pools");
    cudaMemPool_t pool = nullptr;
    cudaMemPool_t standard = nullptr;
    cudaMemPoolProps properties{};
    uint64_t value = 1;
    ASK(cudaMemPoolCreate(&pool, &properties));
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    ASK(cudaMemPoolCreate(&pool, &properties));
    ASK(cudaDeviceGetDefaultMemPool(&standard, 0));
    ASK(cudaMemPoolDestroy(standard));
    ASK(cudaMallocFromPoolAsync(&other, 100, nullptr, stream));
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value));
    value = 0;
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value));
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
    ASK(cudaFreeAsync(own, stream));
    ASK(cudaFreeAsync(nullptr, stream));
    ASK(cudaMallocAsync(&other, 100, stream));
    ASK(cudaFree(other));
    ASK(cudaMalloc(&other, 100));
    ASK(cudaFreeAsync(other, stream));
    ASK(cudaStreamSynchronize(stream));
}

void devices()
{
    section("devices");
    cudaDeviceProp properties;
    int value = 0;
    unsigned int flags = 0;
    char id[32];
    ASK(cudaSetDevice(99));
    ASK(cudaSetDevice(-1));
    ASK(cudaGetDevice(nullptr));
    ASK(cudaGetDeviceCount(nullptr));
    ASK(cudaGetDeviceProperties(&properties, 99));
    ASK(cudaGetDeviceProperties(nullptr, 0));
    ASK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100000), 0));
    ASK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
    ASK(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
    ASK(cudaDeviceGetPCIBusId(id, 3, 0));
    ASK(cudaDeviceGetPCIBusId(id, sizeof(id), 99));
    ASK(cudaDeviceGetByPCIBusId(&value, "0000:fe:00.0"));
    ASK(cudaDeviceGetByPCIBusId(&value, "nonsense"));
    ASK(cudaSetDeviceFlags(0x1000));
    ASK(cudaGetDeviceFlags(&flags));
    ASK(cudaDeviceCanAccessPeer(&value, 0, 0));
    SAY(value);
    ASK(cudaDeviceCanAccessPeer(&value, 0, 99));
    ASK(cudaDeviceEnablePeerAccess(0, 0));
    ASK(cudaDeviceEnablePeerAccess(99, 0));
    ASK(cudaDeviceDisablePeerAccess(0));
    ASK(cudaMemGetInfo(nullptr, nullptr));
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    ASK(cudaThreadExchangeStreamCaptureMode(&mode));
    SAY(mode);
    mode = static_cast<cudaStreamCaptureMode>(9);
    ASK(cudaThreadExchangeStreamCaptureMode(&mode));
    std::printf(
        "%s | %s\n", cudaGetErrorName(static_cast<cudaError_t>(-5)), cudaGetErrorString(static_cast<cudaError_t>(-5)));
}

void shared()
{
    section("shared memory");
    ASK(cudaStreamAttachMemAsync(nullptr, managed, 0, cudaMemAttachGlobal));
    ASK(cudaStreamAttachMemAsync(nullptr, managed, 0, 8));
    ASK(cudaStreamAttachMemAsync(nullptr, device, 0, cudaMemAttachGlobal));
#if CUDART_VERSION >= 13000
    cudaMemLocation const place{cudaMemLocationTypeDevice, 0};
    ASK(cudaMemPrefetchAsync(managed, 4096, place, 0, nullptr));
    ASK(cudaMemPrefetchAsync(managed, 0, place, 0, nullptr));
    ASK(cudaMemPrefetchAsync(managed, size_t{1} << 32, place, 0, nullptr));
    ASK(cudaMemPrefetchAsync(device, 16, place, 0, nullptr));
    ASK(cudaMemAdvise(managed, 16, cudaMemAdviseSetReadMostly, place));
    ASK(cudaMemAdvise(device, 16, cudaMemAdviseSetReadMostly, place));
#endif
}
} // namespace

int main()
{
    allocations();
    frees();
    registrations();
    pointers();
    copies();
    streams();
    events();
    captureStates();
    captureMistakes();
    captureJoins();
    graphs();
    pools();
    devices();
    shared();
    ASK(cudaDeviceReset());
    return 0;
}
