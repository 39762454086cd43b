// FakeAmx: the instructions of AMX on machines without them, so that the very kernels run that are made for it.
#pragma once

#include "base/isa.h"

namespace tenon::test
{

//! While one lives, activeIsa() is kAmx. Where the machine lacks it, the signal of an unknown instruction (SIGILL) is
//! answered by what the instruction does, for a register file per thread; slowly. AVX-512 must be there.
class FakeAmx
{
  public:
    FakeAmx();
    ~FakeAmx();
    FakeAmx(FakeAmx const&) = delete;
    FakeAmx& operator=(FakeAmx const&) = delete;

    //! Instructions that were answered in all threads so far.
    static int64_t answered() noexcept;
};

} // namespace tenon::test
