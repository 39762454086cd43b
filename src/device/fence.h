// Fence: the end of work that a device goes on with after the call that began it has returned.
#pragma once

#include "base/continue_check.h"
#include "base/result.h"

namespace tenon
{

struct RunFailure
{
    int32_t step{-1}; //!< Position in the plan; −1: no step's.
    Error error;
};

//! Made by a device, for its own runs, one after the other. Must outlive the work that was begun with it.
class Fence
{
  public:
    virtual ~Fence() = default;
    //! Nothing that was begun with it goes on. So it is before the first run, and in a child of the process that began
    //! one.
    virtual bool isOver() const = 0;
    //! Returns when it is over, or with false when `mayContinue`, if there is one, says no.
    virtual bool wait(ContinueCheck const* mayContinue) const = 0;
};

//! Hears how work failed that goes on after its call.
class RunListener
{
  public:
    virtual ~RunListener() = default;
    //! Called once for a run, on any thread, as soon as the device knows, and before the fence is over. It may report
    //! the failure and write over results on the host; it releases nothing, waits for nothing and calls no device. What
    //! it answers stays with the stream until the next synchronize or query.
    virtual Error failed(RunFailure const& failure) = 0;
};

} // namespace tenon
