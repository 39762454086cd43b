// What native code was handed by objects of Python classes: it reads without the interpreter's lock, while others ask
// the same object again.
#pragma once

#include <map>
#include <set>
#include <string>
#include <thread>

namespace tenon::python
{

//! Texts that stay as they are, as long as this does: one more is kept only when an answer is none of those before.
//! Asked with the GIL held.
class HandedOutTexts
{
  public:
    char const* give(std::string text)
    {
        return mTexts.insert(std::move(text)).first->c_str();
    }
    //! From now on nobody reads those of before.
    void clear() noexcept
    {
        mTexts.clear();
    }

  private:
    std::set<std::string> mTexts;
};

//! What each thread was answered last, for calls that come in two (a number, then the values) and for what is read at
//! once: an object may stand in several plugins, which several threads use. Asked with the GIL held.
template <typename T>
class LastOfThread
{
  public:
    T& get()
    {
        return mAnswers[std::this_thread::get_id()];
    }

  private:
    std::map<std::thread::id, T> mAnswers;
};

} // namespace tenon::python
