// A program that asks for default streams per thread: the header's names lead to the other calls.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "hostrt/checked.h"

#include <thread>

namespace tenon::test
{

namespace
{
TEST(HostrtPerThread, stream0IsEachThreadsOwn)
{
    unsigned long long here = 0;
    unsigned long long named = 0;
    unsigned long long there = 0;
    CUDA_OK(cudaStreamGetId(nullptr, &here));
    CUDA_OK(cudaStreamGetId(cudaStreamPerThread, &named));
    std::thread{[&] { EXPECT_EQ(cudaStreamGetId(nullptr, &there), cudaSuccess); }}.join();
    EXPECT_EQ(here, named);
    EXPECT_NE(here, there);
}

TEST(HostrtPerThread, workOnStream0IsAsynchronousAndInOrder)
{
    DeviceBytes const device = deviceBytes(64);
    Gate gate;
    gate.hold(nullptr);
    CUDA_OK(cudaMemsetAsync(device.get(), 5, 64));
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(nullptr));
    EXPECT_EQ(device.get()[3], 0xCD);
    std::thread{[] { EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << "another stream"; }}.join();
    gate.open();
    EXPECT_EQ(read(device.get(), 64), std::vector<unsigned char>(64, 5)) << "the copy is of the same stream";
    cudaGetLastError();
}

TEST(HostrtPerThread, stream0CanBeCaptured)
{
    DeviceBytes const device = deviceBytes(8);
    CUDA_OK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal));
    CUDA_OK(cudaMemsetAsync(device.get(), 7, 8));
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamEndCapture(nullptr, &graph));
    EXPECT_EQ(read(device.get(), 8), std::vector<unsigned char>(8, 0xCD));
    cudaGraphExec_t executable = nullptr;
    CUDA_OK(cudaGraphInstantiate(&executable, graph));
    CUDA_OK(cudaGraphLaunch(executable, nullptr));
    EXPECT_EQ(read(device.get(), 8), std::vector<unsigned char>(8, 7));
    CUDA_OK(cudaGraphExecDestroy(executable));
    CUDA_OK(cudaGraphDestroy(graph));
}
} // namespace

} // namespace tenon::test
