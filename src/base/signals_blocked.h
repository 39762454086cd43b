// SignalsBlocked: for the time in which a thread of ours is started, which inherits what is blocked.
#pragma once

#include <csignal>
#include <initializer_list>

namespace tenon
{

//! Signals that others send go to the program's own threads; those that a thread raises by what it does stay with it.
class SignalsBlocked
{
  public:
    SignalsBlocked() noexcept
    {
        sigset_t others;
        sigfillset(&others);
        for (int const own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
            sigdelset(&others, own);
        pthread_sigmask(SIG_BLOCK, &others, &mBefore);
    }
    ~SignalsBlocked()
    {
        pthread_sigmask(SIG_SETMASK, &mBefore, nullptr);
    }
    SignalsBlocked(SignalsBlocked const&) = delete;
    SignalsBlocked& operator=(SignalsBlocked const&) = delete;

  private:
    sigset_t mBefore;
};

} // namespace tenon
