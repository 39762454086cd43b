// ThreadText: a text of each thread, for as long as the thread has objects of its own.
#pragma once

#include <string>

namespace tenon
{

//! `Owner`: whose text it is.
template <typename Owner>
class ThreadText
{
  public:
    //! Null once it is gone: destructors of static objects run behind those of the main thread's own.
    static std::string* get() noexcept
    {
        return gIsGone ? nullptr : &gHolder.text;
    }

  private:
    struct Holder
    {
        std::string text;
        ~Holder()
        {
            gIsGone = true;
        }
    };
    inline static thread_local bool gIsGone{false};
    inline static thread_local Holder gHolder;
};

} // namespace tenon
