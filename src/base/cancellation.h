// Cancellation points: how a long computation that nobody waits on from within hears that its user gave it up.
#pragma once

#include "base/continue_check.h"

namespace tenon
{

//! Thrown by a cancellation point. No std::exception: what makes an error of those must let it pass.
struct Cancelled
{
};

//! While it lives, cancellation points on this thread ask the check, every kCheckInterval at most; scopes nest, and the
//! innermost one is asked.
class CancellationScope
{
  public:
    explicit CancellationScope(ContinueCheck mayContinue);
    ~CancellationScope();
    CancellationScope(CancellationScope const&) = delete;
    CancellationScope& operator=(CancellationScope const&) = delete;

  private:
    ContinueCheck mMayContinue;
    PacedCheck mCheck;
    PacedCheck* mOuter;
};

//! Throws Cancelled when the scope's check said no. Stands in loops that may take long; costs some nanoseconds.
void cancellationPoint();

//! memcpy with cancellation points: some hundred megabytes take longer than a user who gave up should wait.
void copyCancellably(void* to, void const* from, size_t bytes);

//! The same for loops over elements, of which one asks for many.
class CancellationCounter
{
  public:
    void next()
    {
        if (--mLeft == 0)
        {
            mLeft = kEach;
            cancellationPoint();
        }
    }

  private:
    static constexpr uint32_t kEach{1024};
    uint32_t mLeft{kEach};
};

} // namespace tenon
