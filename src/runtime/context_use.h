// ContextUse: who has a context at a moment: one run, one call that changes what runs use, or what gives back.
#pragma once

#include <atomic>
#include <memory>

namespace tenon
{

class Frames;

class ContextUse
{
  public:
    struct Leave
    {
        void operator()(ContextUse* use) const;
    };
    //! Null: somebody has the context. Whoever has it lets it go with this.
    using Held = std::unique_ptr<ContextUse, Leave>;

    explicit ContextUse(Frames const& frames) noexcept
        : mFrames{frames}
    {
    }
    ContextUse(ContextUse const&) = delete;
    ContextUse& operator=(ContextUse const&) = delete;

    //! From the call of a run to its return, not while its work goes on. Waits for another thread's settling.
    Held takeToRun() noexcept;
    //! For a change. Waits for nothing: the caller may have a lock that settling needs.
    Held takeToChange() noexcept;
    bool isTaken() const noexcept
    {
        return mState.load(std::memory_order_acquire) != State::kFree;
    }
    //! Runs that are over give back what they used, now or, where somebody has the context, when they let it go.
    void settle();

  private:
    enum class State : uint8_t
    {
        kFree,
        kTaken,
        kSettling,
    };
    //! What it was before.
    State takeAs(State state) noexcept;

    Frames const& mFrames;
    std::atomic<State> mState{State::kFree};
    std::atomic<bool> mMustSettle{false};
};

} // namespace tenon
