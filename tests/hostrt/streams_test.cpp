// Streams, events, captures and graphs under CUDA's names.
#include "hostrt/checked.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tenon::test
{

namespace
{
using namespace std::chrono_literals;
using testing::ElementsAre;

//! Host functions that note a number.
struct Note
{
    std::vector<int>* notes;
    int number;
    static void call(void* self)
    {
        auto const& own = *static_cast<Note*>(self);
        own.notes->push_back(own.number);
    }
};

TEST(HostrtStreams, hostFunctionsRunInOrder)
{
    OwnStream const stream;
    std::vector<int> notes;
    Note one{&notes, 1};
    Note two{&notes, 2};
    CUDA_OK(cudaLaunchHostFunc(stream, &Note::call, &one));
    CUDA_OK(cudaLaunchHostFunc(stream, &Note::call, &two));
    CUDA_OK(cudaLaunchHostFunc(stream, &Note::call, &one));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_THAT(notes, ElementsAre(1, 2, 1));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, nullptr, nullptr));
    cudaGetLastError();
}

TEST(HostrtStreams, callbacksHearTheirStream)
{
    OwnStream const stream;
    struct Heard
    {
        cudaStream_t stream{nullptr};
        cudaError_t status{cudaErrorUnknown};
    } heard;
    auto const callback = [](cudaStream_t own, cudaError_t status, void* user) {
        *static_cast<Heard*>(user) = {own, status};
    };
    CUDA_OK(cudaStreamAddCallback(stream, callback, &heard, 0));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(heard.stream, static_cast<cudaStream_t>(stream));
    EXPECT_EQ(heard.status, cudaSuccess);
}

TEST(HostrtStreams, queryAndSynchronize)
{
    OwnStream const stream;
    Gate gate;
    gate.hold(stream);
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
    gate.open();
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaStreamQuery(stream));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(&gate)));
    cudaGetLastError();
}

TEST(HostrtStreams, aStreamIsDestroyedWhileItsWorkWaits)
{
    cudaStream_t stream = nullptr;
    CUDA_OK(cudaStreamCreate(&stream));
    Gate gate;
    gate.hold(stream);
    std::vector<int> notes;
    Note one{&notes, 1};
    CUDA_OK(cudaLaunchHostFunc(stream, &Note::call, &one));
    alarm(120); // Where this waits it never ends.
    CUDA_OK(cudaStreamDestroy(stream));
    alarm(0);
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamQuery(stream));
    gate.open();
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_THAT(notes, ElementsAre(1));
    cudaGetLastError();
}

TEST(HostrtStreams, stream0WaitsForBlockingStreams)
{
    OwnStream const blocking{cudaStreamDefault};
    DeviceBytes const device = deviceBytes(4);
    Gate gate;
    gate.hold(blocking);
    CUDA_OK(cudaMemsetAsync(device.get(), 9, 4, blocking));
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(nullptr));
    std::thread opener{[&] {
        std::this_thread::sleep_for(20ms);
        gate.open();
    }};
    EXPECT_THAT(read(device.get(), 4), testing::Each(9)); // A synchronous copy is one of stream 0.
    opener.join();
    cudaGetLastError();
}

TEST(HostrtStreams, propertiesAreKept)
{
    int least = -1;
    int greatest = -1;
    CUDA_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT_EQ(least, greatest) << "priorities have no effect";
    cudaStream_t stream = nullptr;
    CUDA_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -3));
    int priority = -1;
    unsigned int flags = 0;
    unsigned long long id = 0;
    unsigned long long other = 0;
    int device = -1;
    CUDA_OK(cudaStreamGetPriority(stream, &priority));
    CUDA_OK(cudaStreamGetFlags(stream, &flags));
    CUDA_OK(cudaStreamGetId(stream, &id));
    CUDA_OK(cudaStreamGetId(nullptr, &other));
    CUDA_OK(cudaStreamGetDevice(stream, &device));
    EXPECT_EQ(priority, least);
    EXPECT_EQ(flags, static_cast<unsigned int>(cudaStreamNonBlocking));
    EXPECT_NE(id, other);
    EXPECT_EQ(device, 0);
    CUDA_OK(cudaStreamDestroy(stream));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamGetFlags(stream, &flags));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 8));
    cudaGetLastError();
}

TEST(HostrtEvents, timeBetweenTwo)
{
    OwnStream const stream;
    OwnEvent const start;
    OwnEvent const end{cudaEventBlockingSync};
    Gate gate;
    auto const begin = std::chrono::steady_clock::now();
    CUDA_OK(cudaEventRecord(start, stream));
    CUDA_OK(cudaEventSynchronize(start)); // The stream's thread may be late.
    gate.hold(stream);
    CUDA_OK(cudaEventRecord(end, stream));
    EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(end));
    float time = 0.0F;
    EXPECT_CUDA(cudaErrorNotReady, cudaEventElapsedTime(&time, start, end));
    std::this_thread::sleep_for(30ms);
    gate.open();
    CUDA_OK(cudaEventSynchronize(end));
    std::chrono::duration<float, std::milli> const most = std::chrono::steady_clock::now() - begin;
    CUDA_OK(cudaEventElapsedTime(&time, start, end));
    EXPECT_GE(time, 30.0F);
    EXPECT_LE(time, most.count());
    OwnEvent const untimed{cudaEventDisableTiming};
    OwnEvent const never;
    CUDA_OK(cudaEventRecord(untimed, stream));
    CUDA_OK(cudaEventQuery(never));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, start, untimed));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, start, never));
    cudaGetLastError();
}

TEST(HostrtEvents, aStreamWaitsForAnother)
{
    OwnStream const first;
    OwnStream const second;
    OwnEvent const event{cudaEventDisableTiming};
    std::vector<int> notes;
    Note one{&notes, 1};
    Note two{&notes, 2};
    Gate gate;
    gate.hold(first);
    CUDA_OK(cudaLaunchHostFunc(first, &Note::call, &one));
    CUDA_OK(cudaEventRecord(event, first));
    CUDA_OK(cudaStreamWaitEvent(second, event));
    CUDA_OK(cudaLaunchHostFunc(second, &Note::call, &two));
    std::this_thread::sleep_for(5ms);
    EXPECT_TRUE(notes.empty());
    gate.open();
    CUDA_OK(cudaStreamSynchronize(second));
    EXPECT_THAT(notes, ElementsAre(1, 2));
}

TEST(HostrtEvents, mistakesAreNamed)
{
    cudaEvent_t event = nullptr;
    EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x40));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr));
    CUDA_OK(cudaEventCreate(&event));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaEventRecordWithFlags(event, nullptr, 7));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamWaitEvent(nullptr, event, 7));
    CUDA_OK(cudaEventDestroy(event));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventSynchronize(event));
    cudaGetLastError();
}

TEST(HostrtGraphs, aCaptureIsRepeated)
{
    OwnStream const stream;
    DeviceBytes const from = deviceBytes(8);
    DeviceBytes const to = deviceBytes(8);
    std::vector<int> notes;
    Note one{&notes, 1};
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id));
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    EXPECT_NE(id, 0U);
    CUDA_OK(cudaMemcpyAsync(to.get(), from.get(), 8, cudaMemcpyDeviceToDevice, stream));
    CUDA_OK(cudaLaunchHostFunc(stream, &Note::call, &one));
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    EXPECT_TRUE(notes.empty());
    size_t nodes = 0;
    CUDA_OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 2U);
    cudaGraphExec_t executable = nullptr;
    CUDA_OK(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaGraphUpload(executable, stream));
    for (int const value : {5, 6})
    {
        CUDA_OK(cudaMemset(from.get(), value, 8));
        CUDA_OK(cudaGraphLaunch(executable, stream));
        CUDA_OK(cudaStreamSynchronize(stream));
        EXPECT_THAT(read(to.get(), 8), testing::Each(value)) << "reads the memory again at each launch";
    }
    EXPECT_THAT(notes, ElementsAre(1, 1));
    CUDA_OK(cudaGraphExecDestroy(executable));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphLaunch(executable, stream));
    cudaGetLastError();
}

TEST(HostrtGraphs, anExecutableTakesANewGraph)
{
    OwnStream const stream;
    std::vector<int> notes;
    Note note[2]{{&notes, 1}, {&notes, 2}};
    cudaGraph_t graphs[2]{};
    for (int i = 0; i < 2; ++i)
    {
        CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        CUDA_OK(cudaLaunchHostFunc(stream, &Note::call, &note[i]));
        CUDA_OK(cudaStreamEndCapture(stream, &graphs[i]));
    }
    cudaGraphExec_t executable = nullptr;
    CUDA_OK(cudaGraphInstantiate(&executable, graphs[0]));
    CUDA_OK(cudaGraphLaunch(executable, stream));
    cudaGraphExecUpdateResultInfo result{};
    CUDA_OK(cudaGraphExecUpdate(executable, graphs[1], &result));
    EXPECT_EQ(result.result, cudaGraphExecUpdateSuccess);
    CUDA_OK(cudaGraphLaunch(executable, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_THAT(notes, ElementsAre(1, 2));
    for (cudaGraph_t const graph : graphs)
        CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaGraphExecDestroy(executable));
}

TEST(HostrtGraphs, S8_memoryCanBeAllocatedInACaptureOfAnyMode)
{
    for (auto const mode :
        {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed})
    {
        OwnStream const stream{cudaStreamDefault};
        CUDA_OK(cudaStreamBeginCapture(stream, mode));
        unsigned char* allocated = nullptr;
        void* pinned = nullptr;
        CUDA_OK(cudaMalloc(&allocated, 8));
        DeviceBytes const memory{allocated};
        CUDA_OK(cudaMallocHost(&pinned, 8));
        CUDA_OK(cudaMemsetAsync(allocated, 5, 8, stream));
        CUDA_OK(cudaMemcpyAsync(pinned, allocated, 8, cudaMemcpyDefault, stream));
        cudaGraph_t graph = nullptr;
        CUDA_OK(cudaStreamEndCapture(stream, &graph));
        cudaGraphExec_t executable = nullptr;
        CUDA_OK(cudaGraphInstantiate(&executable, graph));
        CUDA_OK(cudaMemset(allocated, 7, 8));
        CUDA_OK(cudaGraphLaunch(executable, stream));
        CUDA_OK(cudaStreamSynchronize(stream));
        EXPECT_THAT(read(allocated, 8), testing::Each(5)) << "mode " << mode;
        EXPECT_THAT(read(pinned, 8), testing::Each(5)) << "mode " << mode;
        CUDA_OK(cudaGraphExecDestroy(executable));
        CUDA_OK(cudaGraphDestroy(graph));
        CUDA_OK(cudaFreeHost(pinned));
    }
}

TEST(HostrtGraphs, whatSpoilsACapture)
{
    OwnStream const stream;
    OwnStream const blocking{cudaStreamDefault};
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(stream, 0, 8, stream));
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    EXPECT_EQ(graph, nullptr);
    DeviceBytes const memory = deviceBytes(8);
    CUDA_OK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal));
    EXPECT_CUDA(cudaErrorStreamCaptureImplicit, cudaMemset(memory.get(), 0, 8));
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(blocking, &graph));
    EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
    EXPECT_CUDA(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    cudaGetLastError();
}
} // namespace

} // namespace tenon::test
