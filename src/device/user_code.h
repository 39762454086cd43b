// UserCode: which kernels' callbacks the present thread is in, so that nobody runs them from inside themselves.
#pragma once

#include "device/kernel.h"

namespace tenon
{

//! Stands on the stack while a thread is in a callback of the user's.
class UserCode
{
  public:
    explicit UserCode(Prepared const& kernel) noexcept
        : mKernel{&kernel},
          mOuter{gInnermost}
    {
        gInnermost = this;
    }
    ~UserCode()
    {
        gInnermost = mOuter;
    }
    UserCode(UserCode const&) = delete;
    UserCode& operator=(UserCode const&) = delete;

    //! Whether the thread is in a callback at all.
    static bool isAny() noexcept
    {
        return gInnermost != nullptr;
    }
    static bool isOf(Prepared const* kernel) noexcept
    {
        UserCode const* each = gInnermost;
        while (each != nullptr && each->mKernel != kernel)
            each = each->mOuter;
        return each != nullptr;
    }

  private:
    inline static thread_local UserCode const* gInnermost{nullptr};

    Prepared const* mKernel;
    UserCode const* mOuter; //!< One context may run another from inside a callback.
};

} // namespace tenon
