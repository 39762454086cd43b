// Copies and fills under CUDA's names: results, order, and what is done when a call returns.
#include "hostrt/checked.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace tenon::test
{

namespace
{
using Bytes = std::vector<unsigned char>;

TEST(HostrtCopies, thereAndBack)
{
    Bytes const data = randomBytes(10007, 1);
    DeviceBytes const one = deviceBytes(data.size());
    DeviceBytes const two = deviceBytes(data.size());
    CUDA_OK(cudaMemcpy(one.get(), data.data(), data.size(), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(two.get(), one.get(), data.size(), cudaMemcpyDeviceToDevice));
    Bytes back(data.size());
    CUDA_OK(cudaMemcpy(back.data(), two.get(), data.size(), cudaMemcpyDefault));
    EXPECT_EQ(back, data);
    Bytes again(data.size());
    CUDA_OK(cudaMemcpy(again.data(), back.data(), data.size(), cudaMemcpyHostToHost));
    EXPECT_EQ(again, data);
}

TEST(HostrtCopies, aCopyIsInTheOrderOfItsStream)
{
    OwnStream const stream;
    Bytes const data = randomBytes(4096, 2);
    DeviceBytes const device = deviceBytes(data.size());
    unsigned char* pinned = nullptr;
    CUDA_OK(cudaMallocHost(&pinned, data.size()));
    std::copy(data.begin(), data.end(), pinned);
    Gate gate;
    gate.hold(stream);
    CUDA_OK(cudaMemcpyAsync(device.get(), pinned, data.size(), cudaMemcpyHostToDevice, stream));
    EXPECT_THAT(Bytes(device.get(), device.get() + 16), testing::Each(0xCD)) << "held back with the stream";
    pinned[5] ^= 0xff; // Pinned memory is read when the copy comes to it.
    gate.open();
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(read(device.get(), data.size()), Bytes(pinned, pinned + data.size()));
    CUDA_OK(cudaFreeHost(pinned));
}

TEST(HostrtCopies, theProgramsOwnSourceCanBeChangedAtOnce)
{
    OwnStream const stream;
    Bytes const data = randomBytes(4096, 3);
    Bytes source = data;
    DeviceBytes const device = deviceBytes(data.size());
    Gate gate;
    gate.hold(stream);
    CUDA_OK(cudaMemcpyAsync(device.get(), source.data(), source.size(), cudaMemcpyHostToDevice, stream));
    std::fill(source.begin(), source.end(), 0xEE);
    source.clear();
    gate.open();
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(read(device.get(), data.size()), data);
}

//! Memory that work of a stream writes.
struct Written
{
    Bytes& memory;
    static void call(void* self)
    {
        Bytes& memory = static_cast<Written*>(self)->memory;
        std::fill(memory.begin(), memory.end(), 0x5A);
    }
};

TEST(HostrtCopies, aSourceThatTheStreamsOwnWorkWritesIsReadAfterThat)
{
    OwnStream const stream;
    Bytes source = randomBytes(4096, 9);
    Written written{source};
    DeviceBytes const device = deviceBytes(source.size());
    Gate gate;
    gate.hold(stream);
    CUDA_OK(cudaLaunchHostFunc(stream, &Written::call, &written)); // As a run whose output lies there.
    std::thread opening{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        gate.open();
    }};
    CUDA_OK(cudaMemcpyAsync(device.get(), source.data(), source.size(), cudaMemcpyDefault, stream));
    opening.join();
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_THAT(read(device.get(), source.size()), testing::Each(0x5A));
}

TEST(HostrtCopies, theProgramsOwnTargetIsFilledOnReturn)
{
    OwnStream const stream;
    Bytes const data = randomBytes(4096, 4);
    Bytes target(data.size());
    DeviceBytes const device = deviceBytes(data.size());
    CUDA_OK(cudaMemcpyAsync(device.get(), data.data(), data.size(), cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaMemcpyAsync(target.data(), device.get(), data.size(), cudaMemcpyDeviceToHost, stream));
    EXPECT_EQ(target, data) << "without a synchronize";
}

TEST(HostrtCopies, rowsOfDifferentPitch)
{
    constexpr size_t kWidth = 37;
    constexpr size_t kHeight = 11;
    Bytes const data = randomBytes(50 * kHeight, 5);
    unsigned char* device = nullptr;
    size_t pitch = 0;
    CUDA_OK(cudaMallocPitch(&device, &pitch, kWidth, kHeight));
    OwnStream const stream;
    CUDA_OK(cudaMemcpy2DAsync(device, pitch, data.data(), 50, kWidth, kHeight, cudaMemcpyHostToDevice, stream));
    Bytes back(64 * kHeight, 0xAB);
    CUDA_OK(cudaStreamSynchronize(stream));
    CUDA_OK(cudaMemcpy2D(back.data(), 64, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
    for (size_t row = 0; row < kHeight; ++row)
    {
        EXPECT_TRUE(std::equal(&back[row * 64], &back[row * 64] + kWidth, &data[row * 50])) << row;
        EXPECT_EQ(back[row * 64 + kWidth], 0xAB) << "between the rows";
    }
    EXPECT_CUDA(cudaErrorInvalidPitchValue,
        cudaMemcpy2D(back.data(), 10, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaFree(device));
    cudaGetLastError();
}

TEST(HostrtCopies, aPartOfABlock)
{
    constexpr size_t kX = 12;
    constexpr size_t kY = 5;
    constexpr size_t kZ = 4;
    Bytes data = randomBytes(kX * kY * kZ, 6);
    cudaPitchedPtr device{};
    CUDA_OK(cudaMalloc3D(&device, make_cudaExtent(kX, kY, kZ)));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(data.data(), kX, kX, kY);
    copy.dstPtr = device;
    copy.extent = make_cudaExtent(kX, kY, kZ);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA_OK(cudaMemcpy3D(&copy));
    Bytes part(3 * 2 * 2);
    copy.srcPtr = device;
    copy.srcPos = make_cudaPos(4, 1, 2);
    copy.dstPtr = make_cudaPitchedPtr(part.data(), 3, 3, 2);
    copy.extent = make_cudaExtent(3, 2, 2);
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA_OK(cudaMemcpy3DAsync(&copy, nullptr));
    for (size_t z = 0; z < 2; ++z)
        for (size_t y = 0; y < 2; ++y)
            for (size_t x = 0; x < 3; ++x)
                EXPECT_EQ(part[(z * 2 + y) * 3 + x], data[((z + 2) * kY + y + 1) * kX + x + 4]);
    CUDA_OK(cudaFree(device.ptr));
}

TEST(HostrtCopies, fills)
{
    OwnStream const stream;
    DeviceBytes const device = deviceBytes(1000);
    CUDA_OK(cudaMemset(device.get(), 1, 1000));
    CUDA_OK(cudaMemsetAsync(device.get() + 10, 2, 10, stream));
    CUDA_OK(cudaMemset2DAsync(device.get() + 100, 50, 3, 5, 4, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    Bytes const bytes = read(device.get(), 1000);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 2), 10);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 3), 20);
    EXPECT_EQ(bytes[100 + 50 * 3 + 4], 3);
    EXPECT_EQ(bytes[100 + 50 * 3 + 5], 1);
}

TEST(HostrtCopies, mistakesAreNamed)
{
    DeviceBytes const device = deviceBytes(16);
    Bytes data = randomBytes(16, 7);
    EXPECT_CUDA(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device.get(), data.data(), 16, cudaMemcpyKind(9)));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(device.get(), nullptr, 16, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaSuccess, cudaMemcpy(device.get(), nullptr, 0, cudaMemcpyHostToDevice));
    auto* const noStream = reinterpret_cast<cudaStream_t>(data.data());
    EXPECT_CUDA(cudaErrorInvalidResourceHandle,
        cudaMemcpyAsync(device.get(), data.data(), 16, cudaMemcpyHostToDevice, noStream));
    EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaMemsetAsync(device.get(), 1, 16, noStream));
    EXPECT_THAT(read(device.get(), 16), testing::Each(0xCD));
    cudaGetLastError();
}

TEST(HostrtCopies, betweenTheOneDeviceAndItself)
{
    Bytes const data = randomBytes(100, 8);
    DeviceBytes const one = deviceBytes(100);
    DeviceBytes const two = deviceBytes(100);
    CUDA_OK(cudaMemcpy(one.get(), data.data(), 100, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpyPeer(two.get(), 0, one.get(), 0, 100));
    EXPECT_EQ(read(two.get(), 100), data);
    EXPECT_CUDA(cudaErrorInvalidDevice, cudaMemcpyPeer(two.get(), 1, one.get(), 0, 100));
    cudaGetLastError();
}
} // namespace

} // namespace tenon::test
