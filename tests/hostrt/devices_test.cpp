// The device, errors, and calls that refuse, under CUDA's names.
#include "hostrt/checked.h"

#include <cuda_profiler_api.h>
#include <gmock/gmock.h>

#include <dlfcn.h>

#include <fstream>
#include <string>
#include <thread>

extern "C" void __cudaRegisterFunction(
    void**, char const*, char*, char const*, int, uint3*, uint3*, dim3*, dim3*, int*);
extern "C" cudaError_t cudaMallocArray(...);

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

std::string modelOfCpu()
{
    std::ifstream info{"/proc/cpuinfo"};
    for (std::string line; std::getline(info, line);)
        if (line.rfind("model name", 0) == 0)
            return line.substr(line.find(": ") + 2);
    return {};
}

TEST(HostrtDevice, oneDeviceNamedAfterTheCpu)
{
    int count = 0;
    CUDA_OK(cudaGetDeviceCount(&count));
    EXPECT_EQ(count, 1);
    CUDA_OK(cudaSetDevice(0));
    int device = -1;
    CUDA_OK(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(1));
    cudaDeviceProp properties{};
    CUDA_OK(cudaGetDeviceProperties(&properties, 0));
    EXPECT_EQ(properties.name, modelOfCpu());
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 1));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaGetDeviceProperties(nullptr, 0));
    cudaGetLastError();
}

TEST(HostrtDevice, attributesAndPropertiesAgree)
{
    cudaDeviceProp own{};
    CUDA_OK(cudaGetDeviceProperties(&own, 0));
    struct Pair
    {
        cudaDeviceAttr attribute;
        long long value;
    };
    Pair const pairs[]{{cudaDevAttrMultiProcessorCount, own.multiProcessorCount},
        {cudaDevAttrComputeCapabilityMajor, own.major}, {cudaDevAttrComputeCapabilityMinor, own.minor},
        {cudaDevAttrClockRate, own.clockRate}, {cudaDevAttrWarpSize, own.warpSize},
        {cudaDevAttrMaxThreadsPerBlock, own.maxThreadsPerBlock}, {cudaDevAttrMaxGridDimX, own.maxGridSize[0]},
        {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<long long>(own.sharedMemPerBlock)},
        {cudaDevAttrIntegrated, own.integrated}, {cudaDevAttrUnifiedAddressing, own.unifiedAddressing},
        {cudaDevAttrManagedMemory, own.managedMemory}, {cudaDevAttrL2CacheSize, own.l2CacheSize},
        {cudaDevAttrStreamPrioritiesSupported, own.streamPrioritiesSupported},
        {cudaDevAttrMemoryPoolsSupported, own.memoryPoolsSupported}, {cudaDevAttrEccEnabled, own.ECCEnabled}};
    for (Pair const& pair : pairs)
    {
        int value = -1;
        CUDA_OK(cudaDeviceGetAttribute(&value, pair.attribute, 0));
        EXPECT_EQ(value, pair.value) << pair.attribute;
    }
    int value = 0;
    EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, cudaDeviceAttr(100000), 0));
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 5));
    EXPECT_GE(own.multiProcessorCount, 1);
    EXPECT_LE(own.multiProcessorCount, static_cast<int>(std::thread::hardware_concurrency()));
    size_t free = 0;
    size_t total = 0;
    CUDA_OK(cudaMemGetInfo(&free, &total));
    EXPECT_EQ(own.totalGlobalMem, total);
    cudaGetLastError();
}

TEST(HostrtDevice, eachVersionOfTheLibraryHasItsLayout)
{
    struct Field
    {
        char const* version;
        size_t offset; // Of multiProcessorCount, which moved.
        size_t bytes;
        char const* name;
    };
    // In versions 11 and 12 clockRate and deviceOverlap stand before it.
    Field const fields[]{{"libcudart.so.12", 388, 728, "cudaGetDeviceProperties"},
        {"libcudart.so.12", 388, 1032, "cudaGetDeviceProperties_v2"},
        {"libcudart.so.13", 384, 1008, "cudaGetDeviceProperties"}};
    cudaDeviceProp own{};
    CUDA_OK(cudaGetDeviceProperties(&own, 0));
    for (Field const& field : fields)
    {
        auto const call =
            reinterpret_cast<cudaError_t (*)(void*, int)>(dlvsym(RTLD_DEFAULT, field.name, field.version));
        ASSERT_NE(call, nullptr) << field.name << field.version;
        std::vector<unsigned char> place(field.bytes + 64, 0xAB);
        CUDA_OK(call(place.data(), 0));
        EXPECT_STREQ(reinterpret_cast<char const*>(place.data()), own.name);
        int count = 0;
        std::copy_n(place.data() + field.offset, sizeof(count), reinterpret_cast<unsigned char*>(&count));
        EXPECT_EQ(count, own.multiProcessorCount) << field.name << field.version;
        EXPECT_THAT(std::vector<unsigned char>(place.end() - 64, place.end()), testing::Each(0xAB))
            << "writes no more than its layout";
    }
}

TEST(HostrtDevice, busIdsThereAndBack)
{
    char id[32];
    int device = -1;
    CUDA_OK(cudaDeviceGetPCIBusId(id, sizeof(id), 0));
    CUDA_OK(cudaDeviceGetByPCIBusId(&device, id));
    EXPECT_EQ(device, 0);
    EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(id, 3, 0));
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceGetByPCIBusId(&device, "0000:ff:00.0"));
    cudaGetLastError();
}

TEST(HostrtDevice, versionsAreThoseThatWereAskedFor)
{
    int driver = 0;
    int runtime = 0;
    CUDA_OK(cudaDriverGetVersion(&driver));
    CUDA_OK(cudaRuntimeGetVersion(&runtime));
    EXPECT_GE(driver, runtime);
    EXPECT_GE(runtime, CUDART_VERSION);
    auto const old =
        reinterpret_cast<cudaError_t (*)(int*)>(dlvsym(RTLD_DEFAULT, "cudaRuntimeGetVersion", "libcudart.so.12"));
    ASSERT_NE(old, nullptr);
    CUDA_OK(old(&runtime));
    EXPECT_EQ(runtime / 1000, 12);
}

TEST(HostrtDevice, flagsAndModes)
{
    unsigned int flags = 0;
    CUDA_OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    CUDA_OK(cudaGetDeviceFlags(&flags));
    EXPECT_EQ(flags & cudaDeviceScheduleMask, static_cast<unsigned int>(cudaDeviceScheduleBlockingSync));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaSetDeviceFlags(0x1000));
    CUDA_OK(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
    CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
    int can = -1;
    CUDA_OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT_EQ(can, 0);
    CUDA_OK(cudaProfilerStart());
    CUDA_OK(cudaProfilerStop());
    cudaGetLastError();
}

TEST(HostrtErrors, theLastOneIsKeptPerThread)
{
    cudaGetLastError();
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(9));
    CUDA_OK(cudaSetDevice(0));
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaPeekAtLastError()) << "success does not hide it";
    std::thread{[] { EXPECT_CUDA(cudaSuccess, cudaPeekAtLastError()); }}.join();
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetLastError());
    EXPECT_CUDA(cudaSuccess, cudaGetLastError());
}

TEST(HostrtErrors, haveNamesAndTexts)
{
    EXPECT_STREQ(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady");
    EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
    EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    EXPECT_STREQ(cudaGetErrorString(cudaError_t(-5)), "unrecognized error code");
}

TEST(HostrtKernels, aLaunchIsRefusedByName)
{
    static char const kernel{0};
    char name[]{"scaleRows"};
    __cudaRegisterFunction(nullptr, &kernel, name, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    testing::internal::CaptureStderr();
    EXPECT_CUDA(cudaErrorNotSupported, cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, nullptr));
    EXPECT_CUDA(cudaErrorNotSupported, cudaLaunchKernel(&kernel, dim3(1), dim3(1), nullptr, 0, nullptr));
    std::string const said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("cudaLaunchKernel"));
    EXPECT_THAT(said, HasSubstr("scaleRows"));
    EXPECT_THAT(said, HasSubstr("no GPU"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << "said once";
    EXPECT_CUDA(cudaErrorNotSupported, cudaGetLastError());
    cudaFuncAttributes attributes{};
    testing::internal::CaptureStderr();
    EXPECT_CUDA(cudaErrorNotSupported, cudaFuncGetAttributes(&attributes, &kernel));
    EXPECT_CUDA(cudaErrorNotSupported, cudaMallocArray(nullptr, nullptr, size_t{1}, size_t{1}, 0U));
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cudaMallocArray: needs a GPU"));
    cudaGetLastError();
}
} // namespace

} // namespace tenon::test
