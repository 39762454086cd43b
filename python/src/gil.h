// The interpreter's lock, taken and given back so that threads survive the interpreter's end. Python below 3.14 ends a
// thread that asks for the lock of an interpreter on its way out by unwinding its stack, which frames that let no
// exception through turn into the end of the process; such a thread stays where it is instead, as from 3.14 on.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <optional>

namespace tenon::python
{

//! The way from native code into Python's. It closes when the interpreter is about to end: who is in comes out before,
//! and who comes later stays where it is, but for the thread that ends the interpreter.
class __attribute__((visibility("hidden"))) Gate
{
  public:
    //! Whether a thread that came too late, or not out in time, will never go on.
    static bool somebodyStays() noexcept
    {
        return gStaying.load() > 0;
    }
    static bool isClosed() noexcept
    {
        return gIsClosed.load();
    }
    //! Without the interpreter's lock, as those who are in need it to come out; not longer than some seconds.
    static void close() noexcept
    {
        constexpr int32_t kMostWaits{5000};
        gCloser = pthread_self();
        gIsClosed = true;
        for (int32_t i = 0; i < kMostWaits && gInside.load() > 0; ++i)
            usleep(1000);
    }
    //! The child of a fork may go on in the place of its parent, without the other threads.
    static void reopen() noexcept
    {
        gIsClosed = false;
        gInside = gDepth > 0 ? 1 : 0;
        gStaying = 0;
    }
    static void enter() noexcept
    {
        if (gDepth++ > 0)
            return;
        gInside.fetch_add(1);
        if (!gIsClosed.load() || pthread_equal(pthread_self(), gCloser) != 0)
            return;
        gInside.fetch_sub(1);
        stay();
    }
    static void leave() noexcept
    {
        if (--gDepth == 0)
            gInside.fetch_sub(1);
    }
    [[noreturn]] static void stay() noexcept
    {
        gStaying.fetch_add(1);
        for (;;)
            pause();
    }

  private:
    inline static std::atomic<bool> gIsClosed{false};
    inline static std::atomic<int32_t> gInside{0}; //!< Threads.
    inline static std::atomic<int32_t> gStaying{0};
    inline static pthread_t gCloser{};
    inline static thread_local int32_t gDepth{0};
};

//! Calls `take`, which asks for the lock, at once or in Python's code, and does not return when the interpreter has no
//! use for this thread any more.
template <typename Take>
void takeOrStay(Take&& take)
{
    try
    {
        take();
    }
    catch (abi::__forced_unwind const&)
    {
        Gate::stay();
    }
}

//! Holds the lock as long as it lives, whoever had it before.
class __attribute__((visibility("hidden"))) WithGil
{
  public:
    WithGil()
        : mHasEntered{PyGILState_Check() == 0} // Who has the lock may not stay with it.
    {
        if (mHasEntered)
            Gate::enter();
        takeOrStay([this] { mHeld.emplace(); });
    }
    ~WithGil()
    {
        mHeld.reset();
        if (mHasEntered)
            Gate::leave();
    }
    WithGil(WithGil const&) = delete;
    WithGil& operator=(WithGil const&) = delete;

  private:
    bool mHasEntered;
    std::optional<pybind11::gil_scoped_acquire> mHeld;
};

//! Others may have the lock as long as it lives.
class WithoutGil
{
  public:
    WithoutGil() noexcept
        : mState{PyEval_SaveThread()}
    {
    }
    ~WithoutGil()
    {
        takeOrStay([this] { PyEval_RestoreThread(mState); });
    }
    WithoutGil(WithoutGil const&) = delete;
    WithoutGil& operator=(WithoutGil const&) = delete;

  private:
    PyThreadState* mState;
};

} // namespace tenon::python
