// FakeAmx: the instructions of AMX on machines without them, so that the very kernels run that are made for it.
#pragma once

#include "base/isa.h"

namespace tenon::test
{

//! While one lives, activeIsa() is kAmxFp16, or kAmx on machines that have that, and kernels that are chosen by
//! measured rates are taken. Where the machine lacks AMX, the signal of an unknown instruction (SIGILL) is answered by
//! what the instruction does, for a register file per thread; slowly. AVX-512 must be there.
class FakeAmx
{
  public:
    FakeAmx();
    ~FakeAmx();
    FakeAmx(FakeAmx const&) = delete;
    FakeAmx& operator=(FakeAmx const&) = delete;

    //! Products of float16 take subnormal numbers for zeros, which the real ones do not.
    static void flushHalves(bool isOn) noexcept;
    //! Whether the machine lacks AMX.
    bool isNeeded() const noexcept
    {
        return mIsNeeded;
    }
    //! Instructions that were answered in all threads so far.
    static int64_t answered() noexcept;

  private:
    bool mIsNeeded{false};
};

} // namespace tenon::test
