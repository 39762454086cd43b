// Waiting for what has no wait of its own that could end early, as an atomic.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tenon
{

//! Waits until `isDone` says so, as long as `goesOn`, asked every 20 ms, says yes; false: it said no. Late by an eighth
//! of the time at most.
template <typename IsDone, typename GoesOn>
bool pollWhile(IsDone const& isDone, GoesOn const& goesOn)
{
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kBetweenQuestions{20};
    constexpr Clock::duration kShortest{std::chrono::microseconds{5}};
    constexpr Clock::duration kLongest{std::chrono::milliseconds{1}};
    Clock::time_point const start = Clock::now();
    Clock::time_point asked = start;
    while (!isDone())
    {
        Clock::time_point const now = Clock::now();
        if (now - asked >= kBetweenQuestions)
        {
            if (!goesOn())
                return false;
            asked = now;
        }
        std::this_thread::sleep_for(std::clamp((now - start) / 8, kShortest, kLongest));
    }
    return true;
}

} // namespace tenon
