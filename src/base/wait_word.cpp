// WaitWord: a futex with a count of those who sleep, so that setting it is no system call while all are awake.
#include "base/wait_word.h"

#include <algorithm>
#include <climits>
#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tenon
{

namespace
{
constexpr int32_t kPausesPerLook{16}; //!< Around half a µs: a hand-over between hot threads takes less.

void callFutex(std::atomic<uint32_t>& word, int operation, uint32_t value) noexcept
{
    static_assert(sizeof(word) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
    syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}
} // namespace

// Where others use the CPUs, too, a thread that spins may keep away the very thread that it waits for: measured beside
// 14 busy processes on two CPUs, a hand-over took 14 µs asleep and four times the spin time otherwise.
SpinTime SpinHistory::next(SpinTime most) noexcept
{
    mIsLong = mToSkip == 0;
    if (mIsLong)
        return most;
    --mToSkip;
    return std::min(most, kShort);
}

void SpinHistory::ended(bool inTime) noexcept
{
    if (!mIsLong)
        return;
    mFailures = inTime ? 0 : std::min(mFailures + 1, kMaxFailures);
    mToSkip = inTime ? 0 : 1 << mFailures;
}

// A thread counts itself before it looks at the value for the last time, and who sets the value looks at the count
// after: in one order of all these operations, at least one of the two sees the other.
void WaitWord::waitWhile(uint32_t old, SpinTime spin, SpinHistory& history) noexcept
{
    if (value() != old)
        return;
    bool const inTime = spinWhile(old, history.next(spin));
    history.ended(inTime);
    if (inTime)
        return;
    mSleepers.fetch_add(1, std::memory_order_seq_cst);
    while (mValue.load(std::memory_order_seq_cst) == old)
        callFutex(mValue, FUTEX_WAIT, old);
    mSleepers.fetch_sub(1, std::memory_order_relaxed);
}

bool WaitWord::spinWhile(uint32_t old, SpinTime spin) const noexcept
{
    using SteadyClock = std::chrono::steady_clock;
    if (value() != old)
        return true;
    for (SteadyClock::time_point end{}; spin > SpinTime::zero();)
    {
        for (int32_t i = 0; i < kPausesPerLook; ++i)
        {
            _mm_pause();
            if (value() != old)
                return true;
        }
        SteadyClock::time_point const now = SteadyClock::now();
        if (end == SteadyClock::time_point{})
            end = now + spin;
        else if (now >= end)
            break;
    }
    return false;
}

void WaitWord::set(uint32_t value) noexcept
{
    mValue.store(value, std::memory_order_seq_cst);
    if (mSleepers.load(std::memory_order_seq_cst) > 0)
        callFutex(mValue, FUTEX_WAKE, INT_MAX);
}

// The order that set() has by its value: what was set quietly before comes first.
void WaitWord::wake() noexcept
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (mSleepers.load(std::memory_order_seq_cst) > 0)
        callFutex(mValue, FUTEX_WAKE, INT_MAX);
}

} // namespace tenon
