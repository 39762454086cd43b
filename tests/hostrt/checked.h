// What tests of the CUDA names share: calls that must succeed, memory that is freed, work that waits.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#define CUDA_OK(call) ASSERT_EQ((call), cudaSuccess) << cudaGetErrorString(cudaPeekAtLastError())
#define EXPECT_CUDA(error, call) EXPECT_EQ((call), error)

namespace tenon::test
{
// The calls below are others where the program asks for default streams per thread: so are these functions.
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
inline namespace per_thread
#else
inline namespace legacy
#endif
{

inline std::vector<unsigned char> randomBytes(size_t count, unsigned int seed)
{
    std::mt19937 source{seed};
    std::vector<unsigned char> bytes(count);
    for (unsigned char& byte : bytes)
        byte = static_cast<unsigned char>(source());
    return bytes;
}

struct Release
{
    void operator()(void* memory) const
    {
        EXPECT_EQ(cudaFree(memory), cudaSuccess);
    }
};

//! Device memory that starts with a pattern, never zeros.
using DeviceBytes = std::unique_ptr<unsigned char, Release>;
inline DeviceBytes deviceBytes(size_t count)
{
    unsigned char* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, count), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory, 0xCD, count), cudaSuccess);
    return DeviceBytes{memory};
}

inline std::vector<unsigned char> read(void const* memory, size_t count)
{
    std::vector<unsigned char> bytes(count);
    EXPECT_EQ(cudaMemcpy(bytes.data(), memory, count, cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes;
}

class OwnStream
{
  public:
    explicit OwnStream(unsigned int flags = cudaStreamNonBlocking)
    {
        EXPECT_EQ(cudaStreamCreateWithFlags(&mStream, flags), cudaSuccess);
    }
    ~OwnStream()
    {
        cudaStreamSynchronize(mStream); // The work may use what the test has.
        EXPECT_EQ(cudaStreamDestroy(mStream), cudaSuccess);
    }
    OwnStream(OwnStream const&) = delete;
    OwnStream& operator=(OwnStream const&) = delete;
    operator cudaStream_t() const
    {
        return mStream;
    }

  private:
    cudaStream_t mStream{nullptr};
};

class OwnEvent
{
  public:
    explicit OwnEvent(unsigned int flags = cudaEventDefault)
    {
        EXPECT_EQ(cudaEventCreateWithFlags(&mEvent, flags), cudaSuccess);
    }
    ~OwnEvent()
    {
        EXPECT_EQ(cudaEventDestroy(mEvent), cudaSuccess);
    }
    OwnEvent(OwnEvent const&) = delete;
    OwnEvent& operator=(OwnEvent const&) = delete;
    operator cudaEvent_t() const
    {
        return mEvent;
    }

  private:
    cudaEvent_t mEvent{nullptr};
};

//! Holds a stream until it is opened.
class Gate
{
  public:
    void hold(cudaStream_t stream)
    {
        EXPECT_EQ(cudaLaunchHostFunc(stream, &Gate::pass, this), cudaSuccess);
    }
    void open()
    {
        std::scoped_lock const lock{mMutex};
        mIsOpen = true;
        mChanged.notify_all();
    }

  private:
    static void pass(void* self)
    {
        auto& own = *static_cast<Gate*>(self);
        std::unique_lock lock{own.mMutex};
        own.mChanged.wait(lock, [&] { return own.mIsOpen; });
    }

    std::mutex mMutex;
    std::condition_variable mChanged;
    bool mIsOpen{false};
};

} // inline namespace
} // namespace tenon::test
