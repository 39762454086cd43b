// SignalsBlocked: for the start of threads of ours, which inherit it: signals go to the program's own threads.
#pragma once

#include <csignal>

namespace tenon
{

class SignalsBlocked
{
  public:
    SignalsBlocked() noexcept
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &mBefore);
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
