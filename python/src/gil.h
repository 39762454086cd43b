// The interpreter's lock, taken and given back so that threads survive the interpreter's end. Python below 3.14 ends a
// thread that asks for the lock of an interpreter on its way out by unwinding its stack, which frames that let no
// exception through turn into the end of the process; such a thread stays where it is instead, as from 3.14 on.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <exception>
#include <pthread.h>
#include <unistd.h>

#include <optional>

namespace tenon::python
{

//! The way from native code into Python's. It closes when the interpreter is about to end: who is in comes out before,
//! and who comes later waits, but for the thread that ends the interpreter. Where that one still runs Python code, it
//! opens the gate while it waits in ours for the work of others; where it may wait for them elsewhere, they go in after
//! a second.
class __attribute__((visibility("hidden"))) Gate
{
  public:
    static bool isClosed() noexcept
    {
        return gIsClosed.load();
    }
    //! Whether somebody waits there who may never go on.
    static bool isInTheWay() noexcept
    {
        return gIsClosed.load() && gWaiting.load() > 0;
    }
    //! Without the interpreter's lock, as those who are in need it to come out; not longer than a second in all.
    static void close() noexcept
    {
        if (!isCloser())
            gCloser = pthread_self();
        gIsClosed = true;
        for (; gInside.load() > 0 && gPatience > 0; --gPatience)
            usleep(1000);
    }
    //! Whether it was closed, and is for the caller to close again. With the interpreter's lock.
    static bool open() noexcept
    {
        if (!gIsClosed.load() || !isCloser() || isFinalizing())
            return false;
        gIsClosed = false;
        return true;
    }
    //! The child of a fork may go on in the place of its parent, without the other threads.
    static void reset() noexcept
    {
        gIsClosed = false;
        gInside = gDepth > 0 ? 1 : 0;
        gWaiting = 0;
    }
    static void enter() noexcept
    {
        if (gDepth++ > 0)
            return;
        for (;;)
        {
            gInside.fetch_add(1);
            if (!gIsClosed.load() || isCloser())
                return;
            gInside.fetch_sub(1);
            if (!waitForOpening())
                continue;
            gInside.fetch_add(1);
            return;
        }
    }
    static void leave() noexcept
    {
        if (--gDepth == 0)
            gInside.fetch_sub(1);
    }
    //! From the end of the exit handlers on.
    static bool isFinalizing() noexcept
    {
#if PY_VERSION_HEX >= 0x030D0000
        return Py_IsFinalizing() != 0;
#else
        return _Py_IsFinalizing() != 0;
#endif
    }
    //! Whether the interpreter has gone, for all but the thread that has ended it.
    static bool isBehindTheEnd() noexcept
    {
        return gIsClosed.load() && Py_IsInitialized() == 0 && !isCloser();
    }
    //! The interpreter has no use for this thread any more.
    [[noreturn]] static void stay() noexcept
    {
        gWaiting.fetch_add(1);
        for (;;)
            pause();
    }

  private:
    //! Until the gate is open; true: it is closed for long, and Python code still runs, which may wait for this thread.
    static bool waitForOpening() noexcept
    {
        auto const goesIn = [] { return gPatienceHere <= 0 && Py_IsInitialized() != 0 && !isFinalizing(); };
        gWaiting.fetch_add(1);
        for (; gIsClosed.load() && !goesIn(); --gPatienceHere)
            usleep(1000);
        gWaiting.fetch_sub(1);
        return gIsClosed.load() && goesIn();
    }
    static bool isCloser() noexcept
    {
        return pthread_equal(pthread_self(), gCloser) != 0;
    }

    inline static std::atomic<bool> gIsClosed{false};
    inline static std::atomic<int32_t> gInside{0}; //!< Threads.
    inline static std::atomic<int32_t> gWaiting{0};
    inline static int32_t gPatience{1000}; //!< The closer's, in milliseconds.
    inline static pthread_t gCloser{};
    inline static thread_local int32_t gDepth{0};
    inline static thread_local int32_t gPatienceHere{1000}; //!< Milliseconds left of it: a thread waits that long once.
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
    catch (...)
    {
        if (std::current_exception() == nullptr) // A forced unwinding is no exception of the language.
            Gate::stay();
        throw;
    }
}

//! Holds the lock as long as it lives, whoever had it before.
class __attribute__((visibility("hidden"))) WithGil
{
  public:
    WithGil()
        : mHasEntered{PyGILState_Check() == 0} // Who has the lock may not stay with it.
    {
        if (Gate::isBehindTheEnd()) // Where every thread is said to have the lock.
            Gate::stay();
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
        : mHasOpened{Gate::open()},
          mState{PyEval_SaveThread()}
    {
    }
    ~WithoutGil()
    {
        if (mHasOpened)
            Gate::close();
        takeOrStay([this] { PyEval_RestoreThread(mState); });
    }
    WithoutGil(WithoutGil const&) = delete;
    WithoutGil& operator=(WithoutGil const&) = delete;

  private:
    bool mHasOpened;
    PyThreadState* mState;
};

} // namespace tenon::python
