// Waiting for what has no wait of its own that could end early, as an atomic.
#pragma once

#include "base/continue_check.h"

#include <algorithm>
#include <thread>

namespace tenon
{

//! Waits until `isDone` says so, as long as `mayContinue`, asked every kCheckInterval, says yes; false: it said no.
//! Late by an eighth of the time at most.
template <typename IsDone>
bool pollWhile(IsDone const& isDone, ContinueCheck const& mayContinue)
{
    using Clock = std::chrono::steady_clock;
    constexpr Clock::duration kShortest{std::chrono::microseconds{5}};
    constexpr Clock::duration kLongest{std::chrono::milliseconds{1}};
    Clock::time_point const start = Clock::now();
    Clock::time_point asked = start;
    while (!isDone())
    {
        Clock::time_point const now = Clock::now();
        if (now - asked >= kCheckInterval)
        {
            if (!mayContinue())
                return false;
            asked = now;
        }
        std::this_thread::sleep_for(std::clamp((now - start) / 8, kShortest, kLongest));
    }
    return true;
}

} // namespace tenon
