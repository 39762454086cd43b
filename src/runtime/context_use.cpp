// ContextUse: one word that threads change.
#include "runtime/context_use.h"

#include "runtime/frames.h"

#include <thread>
#include <utility>

namespace tenon
{

namespace
{
//! What the thread settles: the memory that it gives back there may be an allocator's that asks for a run.
thread_local ContextUse const* gSettled{nullptr};
} // namespace

ContextUse::State ContextUse::takeAs(State state) noexcept
{
    State before{State::kFree};
    mState.compare_exchange_strong(before, state);
    return before;
}

ContextUse::Held ContextUse::takeToRun() noexcept
{
    State before = takeAs(State::kTaken);
    for (; before == State::kSettling && gSettled != this; before = takeAs(State::kTaken))
        std::this_thread::yield();
    return Held{before == State::kFree ? this : nullptr};
}

ContextUse::Held ContextUse::takeToChange() noexcept
{
    return Held{takeAs(State::kTaken) == State::kFree ? this : nullptr};
}

void ContextUse::Leave::operator()(ContextUse* use) const
{
    use->mState = State::kFree;
    if (use->mMustSettle)
        use->settle();
}

//! Whoever has the context either sees in Leave what is asked here, or has let it go before this asks.
void ContextUse::settle()
{
    mMustSettle = true;
    while (mMustSettle && takeAs(State::kSettling) == State::kFree)
    {
        mMustSettle = false;
        ContextUse const* const before = std::exchange(gSettled, this);
        mFrames.settle();
        gSettled = before;
        mState = State::kFree;
    }
}

} // namespace tenon
