// Memory under CUDA's names: kinds, attributes, mistakes, pools.
#include "hostrt/checked.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>
#include <vector>

namespace tenon::test
{

namespace
{
cudaPointerAttributes attributesOf(void const* memory)
{
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
    return attributes;
}

// The place of shared memory, as each version of the runtime takes it.
#if CUDART_VERSION >= 13000
cudaMemLocation placeOf(int device)
{
    return {device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device < 0 ? 0 : device};
}
cudaError_t prefetch(void const* memory, size_t bytes, int device)
{
    return cudaMemPrefetchAsync(memory, bytes, placeOf(device), 0, nullptr);
}
cudaError_t advise(void const* memory, size_t bytes)
{
    return cudaMemAdvise(memory, bytes, cudaMemAdviseSetReadMostly, placeOf(0));
}
#else
cudaError_t prefetch(void const* memory, size_t bytes, int device)
{
    return cudaMemPrefetchAsync(memory, bytes, device, nullptr);
}
cudaError_t advise(void const* memory, size_t bytes)
{
    return cudaMemAdvise(memory, bytes, cudaMemAdviseSetReadMostly, 0);
}
#endif

TEST(HostrtMemory, pointerAttributesTellWhatMemoryWasFor)
{
    char own[64]{};
    char* device = nullptr;
    char* pinned = nullptr;
    char* managed = nullptr;
    CUDA_OK(cudaMalloc(&device, 1000));
    CUDA_OK(cudaMallocHost(&pinned, 1000));
    CUDA_OK(cudaMallocManaged(&managed, 1000));
    EXPECT_EQ(attributesOf(device).type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributesOf(device + 999).type, cudaMemoryTypeDevice) << "any address within";
    EXPECT_EQ(attributesOf(device + 999).devicePointer, device + 999);
    EXPECT_EQ(attributesOf(device).hostPointer, nullptr);
    EXPECT_EQ(attributesOf(pinned + 7).type, cudaMemoryTypeHost);
    EXPECT_EQ(attributesOf(pinned + 7).hostPointer, pinned + 7);
    EXPECT_EQ(attributesOf(managed).type, cudaMemoryTypeManaged);
    EXPECT_EQ(attributesOf(own).type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(attributesOf(own).device, cudaInvalidDeviceId);
    CUDA_OK(cudaHostRegister(own, sizeof(own), cudaHostRegisterDefault));
    EXPECT_EQ(attributesOf(own + 8).type, cudaMemoryTypeHost);
    CUDA_OK(cudaHostUnregister(own));
    EXPECT_EQ(attributesOf(own).type, cudaMemoryTypeUnregistered);
    CUDA_OK(cudaFree(device));
    EXPECT_EQ(attributesOf(device).type, cudaMemoryTypeUnregistered);
    CUDA_OK(cudaFreeHost(pinned));
    CUDA_OK(cudaFree(managed));
}

TEST(HostrtMemory, allocationsAreAligned)
{
    for (size_t const bytes : {1, 255, 4096, 100003})
    {
        DeviceBytes const memory = deviceBytes(bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 256, 0U);
    }
    char* rows = nullptr;
    size_t pitch = 0;
    CUDA_OK(cudaMallocPitch(&rows, &pitch, 700, 3));
    EXPECT_EQ(pitch, 1024U);
    CUDA_OK(cudaMemset2D(rows, pitch, 3, 700, 3));
    CUDA_OK(cudaFree(rows));
    cudaPitchedPtr block{};
    CUDA_OK(cudaMalloc3D(&block, make_cudaExtent(100, 4, 5)));
    EXPECT_EQ(block.pitch, 512U);
    EXPECT_EQ(block.xsize, 100U);
    EXPECT_EQ(block.ysize, 4U);
    CUDA_OK(cudaMemset3D(block, 7, make_cudaExtent(100, 4, 5)));
    EXPECT_THAT(read(static_cast<char*>(block.ptr) + 512 * 19, 100), testing::Each(7));
    CUDA_OK(cudaFree(block.ptr));
}

TEST(HostrtMemory, nothingIsNull)
{
    void* memory = &memory;
    CUDA_OK(cudaMalloc(&memory, 0));
    EXPECT_EQ(memory, nullptr);
    CUDA_OK(cudaFree(nullptr));
    CUDA_OK(cudaFreeHost(nullptr));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMalloc(static_cast<void**>(nullptr), 8));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocManaged(&memory, 8, 0));
}

TEST(HostrtMemory, moreThanThereIsIsRefused)
{
    void* memory = nullptr;
    size_t free = 0;
    size_t total = 0;
    CUDA_OK(cudaMemGetInfo(&free, &total));
    EXPECT_GT(free, 0U);
    EXPECT_GE(total, free);
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&memory, total + (size_t{1} << 30)));
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&memory, SIZE_MAX - 7));
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaGetLastError());
    CUDA_OK(cudaMalloc(&memory, 16));
    CUDA_OK(cudaFree(memory));
}

TEST(HostrtMemory, rowsWhoseSizeNoNumberHasAreRefused)
{
    char* rows = nullptr;
    size_t pitch = 0;
    constexpr size_t kLarge{size_t{1} << 40};
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocPitch(&rows, &pitch, kLarge, size_t{1} << 30))
        << "a multiple of 2^64";
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocPitch(&rows, &pitch, SIZE_MAX - 7, 1));
    EXPECT_EQ(rows, nullptr);
    cudaPitchedPtr block{};
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc3D(&block, make_cudaExtent(64, kLarge, kLarge)));
    EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc3D(&block, make_cudaExtent(kLarge, 1 << 15, 1 << 15)));
    EXPECT_EQ(block.ptr, nullptr);
    CUDA_OK(cudaMallocPitch(&rows, &pitch, 513, 0));
    EXPECT_EQ(pitch, 1024U);
    cudaGetLastError();
}

TEST(HostrtMemory, mistakesAreNamed)
{
    char own[64]{};
    char* device = nullptr;
    char* pinned = nullptr;
    CUDA_OK(cudaMalloc(&device, 64));
    CUDA_OK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped | cudaHostAllocPortable));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(own));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(device + 8));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(pinned)) << "it takes cudaFreeHost";
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(device));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaHostAlloc(&pinned, 64, 0x100));
    EXPECT_CUDA(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
    CUDA_OK(cudaHostRegister(own, 64, cudaHostRegisterMapped));
    EXPECT_CUDA(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own + 32, 8, 0));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(own + 64, SIZE_MAX, 0));
    CUDA_OK(cudaHostUnregister(own));
    CUDA_OK(cudaFree(device));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(device)) << "twice";
    CUDA_OK(cudaFreeHost(pinned));
    cudaGetLastError();
}

TEST(HostrtMemory, mappedMemoryHasTheSameAddressEverywhere)
{
    int* pinned = nullptr;
    int* device = nullptr;
    CUDA_OK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped | cudaHostAllocWriteCombined));
    CUDA_OK(cudaHostGetDevicePointer(&device, pinned, 0));
    EXPECT_EQ(device, pinned);
    unsigned int flags = 0;
    CUDA_OK(cudaHostGetFlags(&flags, pinned));
    EXPECT_EQ(flags, static_cast<unsigned int>(cudaHostAllocMapped | cudaHostAllocWriteCombined));
    CUDA_OK(cudaFreeHost(pinned));
    int own = 0;
    EXPECT_CUDA(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, &own, 0));
}

TEST(HostrtMemory, freeWaitsForWorkThatMayUseTheMemory)
{
    OwnStream const stream;
    DeviceBytes source = deviceBytes(1 << 20);
    unsigned char* target = nullptr;
    CUDA_OK(cudaMalloc(&target, 1 << 20));
    Gate gate;
    gate.hold(stream);
    CUDA_OK(cudaMemcpyAsync(target, source.get(), 1 << 20, cudaMemcpyDeviceToDevice, stream));
    std::thread opening{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
        gate.open();
    }};
    CUDA_OK(cudaFree(target));
    CUDA_OK(cudaStreamQuery(stream));
    opening.join();
}

TEST(HostrtMemory, unregisterWaitsForWorkThatMayUseTheMemory)
{
    OwnStream const stream;
    constexpr size_t kBytes{1 << 20};
    DeviceBytes const source = deviceBytes(kBytes);
    std::vector<unsigned char> own(kBytes);
    CUDA_OK(cudaHostRegister(own.data(), kBytes, cudaHostRegisterDefault));
    Gate gate;
    gate.hold(stream);
    CUDA_OK(cudaMemcpyAsync(own.data(), source.get(), kBytes, cudaMemcpyDeviceToHost, stream));
    std::thread opening{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
        gate.open();
    }};
    CUDA_OK(cudaHostUnregister(own.data()));
    CUDA_OK(cudaStreamQuery(stream));
    opening.join();
    EXPECT_THAT(own, testing::Each(0xCD));
}

TEST(HostrtMemory, memoryInTheOrderOfAStream)
{
    OwnStream const stream;
    float* memory = nullptr;
    CUDA_OK(cudaMallocAsync(&memory, 1 << 16, stream));
    CUDA_OK(cudaMemsetAsync(memory, 0x3f, 1 << 16, stream));
    std::array<unsigned char, 4> first{};
    CUDA_OK(cudaMemcpyAsync(first.data(), memory, 4, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaFreeAsync(memory, stream));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeAsync(memory, stream)) << "twice";
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaFreeAsync(memory, reinterpret_cast<cudaStream_t>(&first)));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_THAT(first, testing::Each(0x3f));
    cudaGetLastError();
}

uint64_t usedOf(cudaMemPool_t pool)
{
    uint64_t used = 0;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
    return used;
}

TEST(HostrtMemory, cudaFreeTakesMemoryOffTheAccountOfItsPool)
{
    cudaMemPool_t pool = nullptr;
    CUDA_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t const before = usedOf(pool);
    OwnStream const stream;
    char* memory = nullptr;
    CUDA_OK(cudaMallocAsync(&memory, 1000, stream));
    EXPECT_EQ(usedOf(pool), before + 1000);
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(memory));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaFreeAsync(memory, reinterpret_cast<cudaStream_t>(&memory)));
    EXPECT_EQ(usedOf(pool), before + 1000) << "both refused it";
    CUDA_OK(cudaFree(memory));
    EXPECT_EQ(usedOf(pool), before);
    cudaGetLastError();
}

TEST(HostrtMemory, memoryThatCouldNotBeFreedStaysOnTheAccount)
{
    cudaMemPool_t pool = nullptr;
    CUDA_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t const before = usedOf(pool);
    OwnStream const stream;
    char* memory = nullptr;
    CUDA_OK(cudaMallocAsync(&memory, 1000, stream));
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaFreeAsync(memory, stream));
    EXPECT_EQ(usedOf(pool), before + 1000);
    cudaGraph_t graph = nullptr;
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaMemset(memory, 7, 1000)); // It is still there.
    CUDA_OK(cudaFreeAsync(memory, stream));
    EXPECT_EQ(usedOf(pool), before);
    cudaGetLastError();
}

TEST(HostrtMemory, aPoolThatIsGoneTakesBackWhatItGave)
{
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    OwnStream const stream;
    std::vector<void*> memories;
    for (int i = 0; i < 16; ++i)
    {
        cudaMemPool_t pool = nullptr; // Likely where the one before was.
        CUDA_OK(cudaMemPoolCreate(&pool, &properties));
        EXPECT_EQ(usedOf(pool), 0U);
        if (!memories.empty())
        {
            CUDA_OK(cudaFreeAsync(memories.back(), stream));
        }
        EXPECT_EQ(usedOf(pool), 0U) << "what another pool gave";
        CUDA_OK(cudaMallocFromPoolAsync(&memories.emplace_back(), 100, pool, stream));
        EXPECT_EQ(usedOf(pool), 100U);
        CUDA_OK(cudaMemPoolDestroy(pool));
    }
    CUDA_OK(cudaFree(memories.back()));
}

TEST(HostrtMemory, threadsThatPassAddressesOnKeepTheAccount)
{
    cudaMemPool_t pool = nullptr;
    CUDA_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t const before = usedOf(pool);
    std::vector<std::thread> threads;
    for (size_t thread = 0; thread < 4; ++thread)
        threads.emplace_back([thread] {
            for (int i = 0; i < 5000; ++i)
            {
                void* memory = nullptr;
                CUDA_OK(cudaMallocAsync(&memory, 4096, cudaStreamPerThread));
                CUDA_OK((i + thread) % 16 == 0 ? cudaFree(memory) : cudaFreeAsync(memory, nullptr));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(usedOf(pool), before);
}

TEST(HostrtMemory, poolsKeepAnAccount)
{
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    cudaMemPool_t pool = nullptr;
    CUDA_OK(cudaMemPoolCreate(&pool, &properties));
    uint64_t threshold = 12345;
    CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 0;
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    EXPECT_EQ(threshold, 12345U);
    OwnStream const stream;
    char* one = nullptr;
    char* two = nullptr;
    CUDA_OK(cudaMallocFromPoolAsync(&one, 1000, pool, stream));
    CUDA_OK(cudaMallocAsync(&two, 500, pool, stream));
    uint64_t used = 0;
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT_EQ(used, 1500U);
    CUDA_OK(cudaFreeAsync(one, stream));
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT_EQ(used, 500U);
    CUDA_OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    EXPECT_EQ(used, 1500U);
    cudaMemPool_t standard = nullptr;
    cudaMemPool_t present = nullptr;
    CUDA_OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    CUDA_OK(cudaDeviceSetMemPool(0, pool));
    CUDA_OK(cudaDeviceGetMemPool(&present, 0));
    EXPECT_EQ(present, pool);
    CUDA_OK(cudaDeviceSetMemPool(0, standard));
    CUDA_OK(cudaFreeAsync(two, stream));
    CUDA_OK(cudaMemPoolTrimTo(pool, 0));
    CUDA_OK(cudaMemPoolDestroy(pool));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPoolDestroy(standard));
    cudaGetLastError();
}

TEST(HostrtMemory, sharedMemoryTakesAdvice)
{
    char* managed = nullptr;
    CUDA_OK(cudaMallocManaged(&managed, 4096));
    CUDA_OK(prefetch(managed, 4096, 0));
    CUDA_OK(prefetch(managed, 100, cudaCpuDeviceId));
    CUDA_OK(advise(managed, 4096));
    CUDA_OK(cudaStreamAttachMemAsync(nullptr, managed, 0, cudaMemAttachGlobal));
    EXPECT_CUDA(cudaErrorInvalidValue, prefetch(managed, 5000, 0));
    DeviceBytes const device = deviceBytes(16);
    EXPECT_CUDA(cudaErrorInvalidValue, advise(device.get(), 16));
    CUDA_OK(cudaFree(managed));
    cudaGetLastError();
}
} // namespace

} // namespace tenon::test
