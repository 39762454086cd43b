// BlockedStream: a stream that a test holds up.
#pragma once

#include "NvInferRuntime.h"
#include "tenon/host.h"

#include <future>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

namespace apitest
{

//! A stream whose work waits until it is let go.
class BlockedStream
{
  public:
    BlockedStream()
    {
        EXPECT_EQ(tenonHostCreateStream(&mHandle, 0, 0), TENON_HOST_OK);
    }
    BlockedStream(BlockedStream const&) = delete;
    BlockedStream& operator=(BlockedStream const&) = delete;
    ~BlockedStream()
    {
        letGo();
        tenonHostSynchronizeStream(mHandle);
        EXPECT_EQ(tenonHostDestroyStream(mHandle), TENON_HOST_OK);
    }
    void hold()
    {
        mGate.emplace();
        auto const wait = [](void* opened) -> int32_t {
            static_cast<std::shared_future<void>*>(opened)->wait();
            return 0;
        };
        auto* const opened = new std::shared_future<void>{mGate->get_future().share()};
        auto const release = [](void* future) { delete static_cast<std::shared_future<void>*>(future); };
        EXPECT_EQ(tenonHostSubmit(mHandle, wait, opened, release), TENON_HOST_OK);
    }
    void letGo()
    {
        if (mGate)
            mGate->set_value();
        mGate.reset();
    }
    bool isIdle() const
    {
        return tenonHostQueryStream(mHandle) != TENON_HOST_NOT_READY;
    }
    void synchronize() const
    {
        EXPECT_EQ(tenonHostSynchronizeStream(mHandle), TENON_HOST_OK) << tenonHostProblem();
    }
    cudaStream_t handle() const
    {
        return static_cast<cudaStream_t>(mHandle);
    }

  private:
    void* mHandle{nullptr};
    std::optional<std::promise<void>> mGate;
};

} // namespace apitest
