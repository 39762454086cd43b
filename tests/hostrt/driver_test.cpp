// The driver's names: what host code asks of them, beside the runtime, whose state is the same.
#include "hostrt/checked.h"

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

namespace tenon::test
{

namespace
{
std::string nameOf(CUresult result)
{
    char const* name{nullptr};
    return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "a number without a name";
}

#define DRIVER_OK(call)                                                                                                \
    if (CUresult const driverResult = (call); driverResult != CUDA_SUCCESS)                                            \
    FAIL() << #call << ": " << nameOf(driverResult)

CUdeviceptr addressOf(void* memory)
{
    return reinterpret_cast<CUdeviceptr>(memory);
}

template <typename T>
T attributeOf(CUdeviceptr memory, CUpointer_attribute attribute)
{
    T value{};
    EXPECT_EQ(cuPointerGetAttribute(&value, attribute, memory), CUDA_SUCCESS) << attribute;
    return value;
}

//! Work in a thread of its own, which knows no context.
template <typename Work>
void inAThread(Work work)
{
    std::thread{work}.join();
}
} // namespace

TEST(HostrtDriver, aThreadHasAContextWhenItWasGivenOneOrHasCalledTheRuntime)
{
    DRIVER_OK(cuInit(0));
    EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    inAThread([] {
        CUdeviceptr memory{0};
        CUcontext context{nullptr};
        DRIVER_OK(cuCtxGetCurrent(&context));
        EXPECT_EQ(context, nullptr);
        EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
        DRIVER_OK(cuDevicePrimaryCtxRetain(&context, 0));
        DRIVER_OK(cuCtxSetCurrent(context));
        DRIVER_OK(cuMemAlloc(&memory, 16));
        DRIVER_OK(cuMemFree(memory));
        DRIVER_OK(cuCtxSetCurrent(nullptr));
        EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
        DRIVER_OK(cuDevicePrimaryCtxRelease(0));
    });
    inAThread([] {
        CUcontext context{nullptr};
        CUcontext primary{nullptr};
        void* memory{nullptr};
        CUDA_OK(cudaMalloc(&memory, 16));
        DRIVER_OK(cuCtxGetCurrent(&context));
        DRIVER_OK(cuDevicePrimaryCtxRetain(&primary, 0));
        EXPECT_EQ(context, primary) << "that of the runtime";
        DRIVER_OK(cuDevicePrimaryCtxRelease(0));
        CUDA_OK(cudaFree(memory));
    });
}

TEST(HostrtDriver, contextsStandOnTopOfEachOther)
{
    DRIVER_OK(cuInit(0));
    inAThread([] {
        CUcontext primary{nullptr};
        CUcontext made{nullptr};
        CUcontext found{nullptr};
        DRIVER_OK(cuDevicePrimaryCtxRetain(&primary, 0));
        DRIVER_OK(cuCtxPushCurrent(primary));
#if CUDA_VERSION >= 13000
        DRIVER_OK(cuCtxCreate(&made, nullptr, CU_CTX_SCHED_SPIN, 0));
        EXPECT_EQ(cuCtxCreate(&found, nullptr, 0, 1), CUDA_ERROR_INVALID_DEVICE);
#else
        DRIVER_OK(cuCtxCreate(&made, CU_CTX_SCHED_SPIN, 0));
        EXPECT_EQ(cuCtxCreate(&found, 0, 1), CUDA_ERROR_INVALID_DEVICE);
#endif
        unsigned int flags{0};
        DRIVER_OK(cuCtxGetFlags(&flags));
        EXPECT_EQ(flags, CU_CTX_SCHED_SPIN);
        EXPECT_NE(made, primary);
        DRIVER_OK(cuCtxPopCurrent(&found));
        EXPECT_EQ(found, made);
        DRIVER_OK(cuCtxGetCurrent(&found));
        EXPECT_EQ(found, primary);
        DRIVER_OK(cuCtxDestroy(made));
        EXPECT_EQ(cuCtxPushCurrent(made), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_EQ(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT) << "that is released, not destroyed";
        DRIVER_OK(cuCtxPopCurrent(nullptr));
        EXPECT_EQ(cuCtxPopCurrent(&found), CUDA_ERROR_INVALID_CONTEXT);
        DRIVER_OK(cuDevicePrimaryCtxRelease(0));
    });
}

TEST(HostrtDriver, aContextThatAnotherThreadHasDestroyedIsToldSo)
{
    DRIVER_OK(cuInit(0));
    inAThread([] {
        CUcontext made{nullptr};
#if CUDA_VERSION >= 13000
        DRIVER_OK(cuCtxCreate(&made, nullptr, 0, 0));
#else
        DRIVER_OK(cuCtxCreate(&made, 0, 0));
#endif
        inAThread([made] { DRIVER_OK(cuCtxDestroy(made)); });
        CUdeviceptr memory{0};
        EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    });
}

TEST(HostrtDriver, memoryIsThatOfTheRuntime)
{
    CUDA_OK(cudaFree(nullptr)); // As programs make the primary context.
    std::vector<unsigned char> const bytes = randomBytes(1000, 3);
    void* fromRuntime{nullptr};
    CUDA_OK(cudaMalloc(&fromRuntime, bytes.size()));
    DRIVER_OK(cuMemcpyHtoD(addressOf(fromRuntime), bytes.data(), bytes.size()));
    CUdeviceptr fromDriver{0};
    DRIVER_OK(cuMemAlloc(&fromDriver, bytes.size()));
    DRIVER_OK(cuMemcpyDtoD(fromDriver, addressOf(fromRuntime), bytes.size()));
    std::vector<unsigned char> back(bytes.size());
    CUDA_OK(cudaMemcpy(back.data(), reinterpret_cast<void*>(fromDriver), back.size(), cudaMemcpyDeviceToHost));
    EXPECT_EQ(back, bytes);
    EXPECT_EQ(cuMemcpyHtoD(fromDriver + 1, bytes.data(), bytes.size()), CUDA_ERROR_INVALID_VALUE) << "one too many";
    CUDA_OK(cudaFree(reinterpret_cast<void*>(fromDriver)));
    DRIVER_OK(cuMemFree(addressOf(fromRuntime)));
    EXPECT_EQ(cuMemFree(addressOf(fromRuntime)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemAlloc(&fromDriver, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(HostrtDriver, attributesOfPointersTellWhatMemoryWasFor)
{
    CUDA_OK(cudaFree(nullptr));
    CUdeviceptr device{0};
    CUdeviceptr managed{0};
    void* pinned{nullptr};
    DRIVER_OK(cuMemAlloc(&device, 1000));
    DRIVER_OK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    DRIVER_OK(cuMemAllocHost(&pinned, 1000));
    EXPECT_EQ(attributeOf<unsigned int>(device, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(attributeOf<unsigned int>(managed, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(attributeOf<unsigned int>(addressOf(pinned), CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_HOST);
    EXPECT_TRUE(attributeOf<bool>(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED));
    EXPECT_FALSE(attributeOf<bool>(device, CU_POINTER_ATTRIBUTE_IS_MANAGED));
    EXPECT_EQ(attributeOf<int>(device + 999, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
    EXPECT_EQ(attributeOf<CUdeviceptr>(device + 999, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR), device);
    EXPECT_EQ(attributeOf<size_t>(device + 999, CU_POINTER_ATTRIBUTE_RANGE_SIZE), 1000);
    EXPECT_EQ(attributeOf<void*>(addressOf(pinned), CU_POINTER_ATTRIBUTE_HOST_POINTER), pinned);
    void* host{nullptr};
    EXPECT_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, device), CUDA_ERROR_INVALID_VALUE);
    int own{0};
    EXPECT_EQ(cuPointerGetAttribute(&own, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addressOf(&own)), CUDA_ERROR_INVALID_VALUE)
        << "memory that is not known";
    CUdeviceptr base{0};
    size_t size{0};
    DRIVER_OK(cuMemGetAddressRange(&base, &size, managed + 12));
    EXPECT_EQ(base, managed);
    EXPECT_EQ(size, 1000);
    EXPECT_EQ(cuMemGetAddressRange(&base, &size, addressOf(&own)), CUDA_ERROR_NOT_FOUND);
    DRIVER_OK(cuMemFree(device));
    DRIVER_OK(cuMemFree(managed));
    DRIVER_OK(cuMemFreeHost(pinned));
}

TEST(HostrtDriver, manyAttributesAtOnceAreZeroWhereTheMemoryHasNone)
{
    CUDA_OK(cudaFree(nullptr));
    unsigned int type{77};
    int device{77};
    auto start = reinterpret_cast<void*>(77);
    bool isManaged{true};
    std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    std::array<void*, 4> places{&type, &device, &start, &isManaged};
    DRIVER_OK(cuPointerGetAttributes(4, attributes.data(), places.data(), addressOf(&type)));
    EXPECT_EQ(type, 0);
    EXPECT_EQ(device, -2);
    EXPECT_EQ(start, nullptr);
    EXPECT_FALSE(isManaged);
    void* memory{nullptr};
    CUDA_OK(cudaMallocManaged(&memory, 64));
    DRIVER_OK(cuPointerGetAttributes(4, attributes.data(), places.data(), addressOf(memory)));
    EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(start, memory);
    EXPECT_TRUE(isManaged);
    CUDA_OK(cudaFree(memory));
}

TEST(HostrtDriver, fillsWriteElementsOfOneTwoAndFourBytes)
{
    CUDA_OK(cudaFree(nullptr));
    CUdeviceptr memory{0};
    DRIVER_OK(cuMemAlloc(&memory, 100));
    std::array<unsigned char, 100> found{};
    DRIVER_OK(cuMemsetD8(memory, 0xAB, 100));
    DRIVER_OK(cuMemsetD16(memory, 0x1234, 10));
    DRIVER_OK(cuMemsetD32(memory + 40, 0x12345678, 15));
    DRIVER_OK(cuMemcpyDtoH(found.data(), memory, 100));
    for (size_t i = 0; i < 100; ++i)
    {
        static constexpr std::array<unsigned char, 4> kWords{0x78, 0x56, 0x34, 0x12};
        unsigned char const expected = i < 20 ? (i % 2 == 0 ? 0x34 : 0x12) : i < 40 ? 0xAB : kWords[i % 4];
        ASSERT_EQ(found[i], expected) << i;
    }
    EXPECT_EQ(cuMemsetD32(memory + 40, 0, 16), CUDA_ERROR_INVALID_VALUE) << "one too many";
    EXPECT_EQ(cuMemsetD16(memory + 1, 0, 1), CUDA_ERROR_INVALID_VALUE) << "between two elements";
    EXPECT_EQ(cuMemsetD32(addressOf(found.data()), 0, 1), CUDA_ERROR_INVALID_VALUE) << "not the device's";
    DRIVER_OK(cuMemFree(memory));
}

TEST(HostrtDriver, streamsAndEventsAreThoseOfTheRuntime)
{
    CUDA_OK(cudaFree(nullptr));
    CUstream stream{nullptr};
    CUevent event{nullptr};
    DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DRIVER_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    std::atomic<bool> mayGoOn{false};
    auto const wait = [](void* user) {
        while (!*static_cast<std::atomic<bool>*>(user))
            std::this_thread::yield();
    };
    DRIVER_OK(cuLaunchHostFunc(stream, wait, &mayGoOn));
    DRIVER_OK(cuEventRecord(event, stream));
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(event));
    mayGoOn = true;
    CUDA_OK(cudaStreamSynchronize(stream));
    DRIVER_OK(cuEventQuery(event));
    unsigned int flags{0};
    DRIVER_OK(cuStreamGetFlags(stream, &flags));
    EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING);
    DRIVER_OK(cuEventDestroy(event));
    DRIVER_OK(cuStreamDestroy(stream));
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST(HostrtDriver, capturedWorkIsRepeated)
{
    CUDA_OK(cudaFree(nullptr));
    CUstream stream{nullptr};
    CUgraph graph{nullptr};
    CUgraphExec executable{nullptr};
    DRIVER_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    int count{0};
    DRIVER_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    DRIVER_OK(cuLaunchHostFunc(
        stream, [](void* user) { ++*static_cast<int*>(user); }, &count));
    CUstreamCaptureStatus status{};
    DRIVER_OK(cuStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    DRIVER_OK(cuStreamEndCapture(stream, &graph));
    EXPECT_EQ(count, 0);
    DRIVER_OK(cuGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; ++i)
        DRIVER_OK(cuGraphLaunch(executable, stream));
    DRIVER_OK(cuStreamSynchronize(stream));
    EXPECT_EQ(count, 3);
    DRIVER_OK(cuGraphExecDestroy(executable));
    DRIVER_OK(cuGraphDestroy(graph));
    DRIVER_OK(cuStreamDestroy(stream));
}

TEST(HostrtDriver, mistakesAreNotTheRuntimesLastError)
{
    CUDA_OK(cudaFree(nullptr));
    static_cast<void>(cudaGetLastError());
    EXPECT_EQ(cuMemFree(12345), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CUDA(cudaSuccess, cudaPeekAtLastError());
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(reinterpret_cast<void*>(12345)));
    CUdeviceptr memory{0};
    DRIVER_OK(cuMemAlloc(&memory, 8));
    DRIVER_OK(cuMemFree(memory));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
}

TEST(HostrtDriver, theDeviceIsTheRuntimes)
{
    DRIVER_OK(cuInit(0));
    cudaDeviceProp properties;
    CUDA_OK(cudaGetDeviceProperties(&properties, 0));
    char name[256];
    DRIVER_OK(cuDeviceGetName(name, sizeof name, 0));
    EXPECT_STREQ(name, properties.name);
    DRIVER_OK(cuDeviceGetName(name, 5, 0));
    EXPECT_EQ(std::string{properties.name}.substr(0, 4), name);
    size_t bytes{0};
    DRIVER_OK(cuDeviceTotalMem(&bytes, 0));
    EXPECT_EQ(bytes, properties.totalGlobalMem);
    int major{0};
    DRIVER_OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    EXPECT_EQ(major, properties.major);
    CUuuid uuid{};
    DRIVER_OK(cuDeviceGetUuid(&uuid, 0));
    EXPECT_EQ(std::memcmp(uuid.bytes, properties.uuid.bytes, sizeof uuid.bytes), 0);
    CUdevice device{7};
    DRIVER_OK(cuDeviceGet(&device, 0));
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
}

TEST(HostrtDriver, callsAreFoundByNameInTheVersionAskedFor)
{
    void* function{nullptr};
    CUdriverProcAddressQueryResult found{};
    auto const addressFor = [&](char const* call, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) {
        EXPECT_EQ(cuGetProcAddress(call, &function, version, flags, &found), CUDA_SUCCESS);
        return function;
    };
    EXPECT_EQ(addressFor("cuMemAlloc", 12000), reinterpret_cast<void*>(&cuMemAlloc));
    EXPECT_EQ(addressFor("cuInit", 12000), reinterpret_cast<void*>(&cuInit));
    EXPECT_NE(addressFor("cuCtxCreate", 12090), addressFor("cuCtxCreate", 13000));
    EXPECT_NE(addressFor("cuStreamQuery", 12000),
        addressFor("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
    EXPECT_EQ(addressFor("cuNobodyKnows", 12000), nullptr);
    EXPECT_EQ(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT_EQ(addressFor("cudaMalloc", 12000), nullptr) << "the runtime's";
    EXPECT_EQ(cuGetProcAddress("cuNobodyKnows", &function, 12000, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}

TEST(HostrtDriver, whatNeedsAGpuSaysSoByName)
{
    void* function{nullptr};
    ASSERT_EQ(cuGetProcAddress("cuModuleLoadData", &function, 12000, 0, nullptr), CUDA_SUCCESS);
    testing::internal::CaptureStderr();
    void* module{nullptr};
    EXPECT_EQ(reinterpret_cast<CUresult (*)(void**, void const*)>(function)(&module, "ptx"), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
        "tenon_hostrt: cuModuleLoadData: needs a GPU; Tenon's host run-time does not have it\n");
}

TEST(HostrtDriver, everyResultHasItsNameAndASentence)
{
    for (CUresult const result : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_INITIALIZED,
             CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_SUPPORTED})
    {
        char const* text{nullptr};
        EXPECT_EQ(cuGetErrorString(result, &text), CUDA_SUCCESS);
        EXPECT_STRNE(text, "unrecognized error code") << nameOf(result);
    }
    EXPECT_EQ(nameOf(CUDA_ERROR_NOT_INITIALIZED), "CUDA_ERROR_NOT_INITIALIZED");
    char const* text{"something"};
    EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(text, nullptr);
}

} // namespace tenon::test
