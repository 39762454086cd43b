// HeldBack: messages that wait until their thread may call whoever is told.
#pragma once

#include <functional>
#include <vector>

namespace tenon
{

//! While it lives, what this thread has to tell through any Log waits; then it is told, in order.
class HeldBack
{
  public:
    HeldBack() noexcept;
    ~HeldBack();
    HeldBack(HeldBack const&) = delete;
    HeldBack& operator=(HeldBack const&) = delete;

    //! Null: nothing waits in this thread.
    static HeldBack* current() noexcept;
    void add(std::function<void()> tell);

  private:
    std::vector<std::function<void()>> mTold;
    HeldBack* mOuter;
};

} // namespace tenon
