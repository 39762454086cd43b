// Host handles: streams, events and graphs of include/tenon/host.h, destroyed when they are needed no more.
#pragma once

#include "tenon/host.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenon::trtexec
{

//! Throws std::runtime_error unless it is TENON_HOST_OK.
inline void requireOk(TenonHostStatus status, char const* what)
{
    if (status != TENON_HOST_OK)
        throw std::runtime_error(std::string{what} + ": " + tenonHostProblem());
}

template <TenonHostStatus (*kDestroy)(void*)>
class HostHandle
{
  public:
    explicit HostHandle(void* handle = nullptr)
        : mHandle{handle}
    {
    }
    HostHandle(HostHandle&& other) noexcept
        : mHandle{std::exchange(other.mHandle, nullptr)}
    {
    }
    HostHandle& operator=(HostHandle&& other) noexcept
    {
        std::swap(mHandle, other.mHandle);
        return *this;
    }
    ~HostHandle()
    {
        if (mHandle != nullptr)
            kDestroy(mHandle);
    }
    void* get() const
    {
        return mHandle;
    }

  private:
    void* mHandle;
};

using HostStream = HostHandle<tenonHostDestroyStream>;
using HostEvent = HostHandle<tenonHostDestroyEvent>;
using HostGraph = HostHandle<tenonHostDestroyGraph>;
using HostExecutable = HostHandle<tenonHostDestroyExecutable>;

inline HostStream makeStream()
{
    void* stream{nullptr};
    requireOk(tenonHostCreateStream(&stream, 0, 0), "no stream could be made");
    return HostStream{stream};
}

inline HostEvent makeEvent()
{
    void* event{nullptr};
    requireOk(tenonHostCreateEvent(&event, 1), "no event could be made");
    return HostEvent{event};
}

} // namespace tenon::trtexec
