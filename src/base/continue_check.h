// ContinueCheck: the question whether to go on that a wait or a run asks whoever called it, so that it can end early.
#pragma once

#include <chrono>
#include <functional>

namespace tenon
{

//! Asked at most every kCheckInterval, on the thread that called; false ends the waiting or the run.
using ContinueCheck = std::function<bool()>;
inline constexpr std::chrono::milliseconds kCheckInterval{20};

//! Asks when it is time to, for work that comes by here often. Null: there is nobody to ask.
class PacedCheck
{
  public:
    using Clock = std::chrono::steady_clock;

    explicit PacedCheck(ContinueCheck const* mayContinue)
        : mMayContinue{mayContinue},
          mNext{mayContinue == nullptr ? Clock::time_point{} : Clock::now() + kCheckInterval}
    {
    }
    bool mustStop()
    {
        if (mMayContinue == nullptr || mHasStopped || Clock::now() < mNext)
            return mHasStopped;
        mHasStopped = !(*mMayContinue)();
        mNext = Clock::now() + kCheckInterval;
        return mHasStopped;
    }
    bool hasStopped() const noexcept
    {
        return mHasStopped;
    }

  private:
    ContinueCheck const* mMayContinue;
    Clock::time_point mNext;
    bool mHasStopped{false};
};

} // namespace tenon
