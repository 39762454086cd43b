// HeldBack: the innermost of each thread.
#include "base/held_back.h"

#include <utility>

namespace tenon
{

namespace
{
thread_local HeldBack* gInnermost{nullptr};
}

HeldBack::HeldBack() noexcept
    : mOuter{std::exchange(gInnermost, this)}
{
}

HeldBack::~HeldBack()
{
    gInnermost = mOuter;
    for (std::function<void()> const& tell : mTold)
        tell();
}

HeldBack* HeldBack::current() noexcept
{
    return gInnermost;
}

void HeldBack::add(std::function<void()> tell)
{
    mTold.push_back(std::move(tell));
}

} // namespace tenon
