// WaitWord: a number that threads wait on, first by spinning, then asleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tenon
{

using SpinTime = std::chrono::microseconds;

//! Whether spinning was worth it for a thread: after each time that it spun in vain it spins briefly only, the next 2,
//! 4 … 64 times.
class SpinHistory
{
  public:
    SpinTime next(SpinTime most) noexcept;
    void ended(bool inTime) noexcept;

  private:
    static constexpr SpinTime kShort{1};
    static constexpr int32_t kMaxFailures{6};
    int32_t mFailures{0};
    int32_t mToSkip{0};
    bool mIsLong{true};
};

//! One thread at a time sets it; any number wait. Who sets it touches it still when the waiting go on: it must last
//! until that call has returned, too.
class alignas(64) WaitWord
{
  public:
    uint32_t value() const noexcept
    {
        return mValue.load(std::memory_order_acquire);
    }
    //! Returns when the value is not `old`, having spun for `spin` at most.
    void waitWhile(uint32_t old, SpinTime spin, SpinHistory& history) noexcept;
    void set(uint32_t value) noexcept;
    //! Those who sleep do not hear of it: they go on when it is set again, or at wake().
    void setQuietly(uint32_t value) noexcept
    {
        mValue.store(value, std::memory_order_release);
    }
    //! By any thread: those who sleep look at the value again.
    void wake() noexcept;
    //! False: the time is over and the value still the old one.
    bool spinWhile(uint32_t old, SpinTime spin) const noexcept;

  private:
    std::atomic<uint32_t> mValue{0};
    std::atomic<int32_t> mSleepers{0};
};

} // namespace tenon
