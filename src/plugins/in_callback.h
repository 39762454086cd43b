// InCallback: which plugin the present thread is in, for a program that tells of a crash there.
#pragma once

#include "plugins/callbacks.h"

namespace tenon::plugins
{

//! Stands on the stack while a callback runs. Nothing but pointers, so that a signal handler may look at it.
class InCallback
{
  public:
    InCallback(Ask ask, Identity const& identity) noexcept
        : InCallback{callbackOf(ask, identity.generation), identity}
    {
    }
    //! `callback` and `identity` live as long as this.
    InCallback(char const* callback, Identity const& identity) noexcept;
    ~InCallback();
    InCallback(InCallback const&) = delete;
    InCallback& operator=(InCallback const&) = delete;

    //! Writes "enqueue of plugin 'CircPad' version '1'", as much as there is room for and a 0 behind it; the length, 0:
    //! the thread is in no callback. Allocates nothing and waits for nobody.
    static size_t describe(char* text, size_t room) noexcept;

  private:
    char const* mCallback;
    Identity const* mIdentity;
    InCallback const* mOuter; //!< A plugin may run an engine with plugins.
};

} // namespace tenon::plugins
