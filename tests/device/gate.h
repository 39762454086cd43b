// Gate: work that stands still until a test lets it go on.
#pragma once

#include "device/host/streams.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tenon::test
{

class Gate
{
  public:
    void open()
    {
        std::scoped_lock const lock{mMutex};
        mIsOpen = true;
        mChanged.notify_all();
    }
    void pass()
    {
        std::unique_lock lock{mMutex};
        mHasGuest = true;
        mChanged.notify_all();
        mChanged.wait(lock, [this] { return mIsOpen; });
    }
    //! Until somebody stands at it.
    void awaitGuest()
    {
        std::unique_lock lock{mMutex};
        mChanged.wait(lock, [this] { return mHasGuest; });
    }
    host::Work work()
    {
        return [this]() -> Result<Done> {
            pass();
            return Done{};
        };
    }

  private:
    std::mutex mMutex;
    std::condition_variable mChanged;
    bool mIsOpen{false};
    bool mHasGuest{false};
};

//! A stream that ends with the test, and its work before.
class OwnStream
{
  public:
    explicit OwnStream(host::StreamKind kind = host::StreamKind::kBlocking)
        : mHandle{*host::createStream(kind)}
    {
    }
    ~OwnStream()
    {
        if (mHandle != nullptr)
        {
            EXPECT_TRUE(host::await(mHandle, [] { return true; }));
            EXPECT_TRUE(host::destroyStream(mHandle));
        }
    }
    OwnStream(OwnStream const&) = delete;
    OwnStream& operator=(OwnStream const&) = delete;

    operator void*() const noexcept
    {
        return mHandle;
    }
    void* release() noexcept
    {
        return std::exchange(mHandle, nullptr);
    }

  private:
    void* mHandle;
};

//! Notes the order in which work ran.
class Diary
{
  public:
    host::Work entry(int number)
    {
        return [this, number]() -> Result<Done> {
            std::scoped_lock const lock{mMutex};
            mEntries.push_back(number);
            return Done{};
        };
    }
    std::vector<int> entries() const
    {
        std::scoped_lock const lock{mMutex};
        return mEntries;
    }

  private:
    mutable std::mutex mMutex;
    std::vector<int> mEntries;
};

inline host::Work failing(std::string message)
{
    return [message]() -> Result<Done> { return errorOf(ErrorCode::kFAILED_EXECUTION, "{}", message); };
}

inline void* handleOf(uintptr_t number)
{
    return reinterpret_cast<void*>(number);
}

} // namespace tenon::test
