// Frames: the frames of a context, of which each serves one run at a time, and what their work leaves behind.
#pragma once

#include "runtime/frame.h"

#include <atomic>

namespace tenon
{

class Frames
{
  public:
    explicit Frames(ContextState& context);

    //! One that no work uses. Waits for the oldest when very many are under way, but not in a stream's work. Null:
    //! `mayContinue` ended the waiting.
    std::shared_ptr<Frame> takeFree(ContinueCheck const* mayContinue);
    //! One of a recording's own.
    std::shared_ptr<Frame> takeRecording();

    bool areUnderWay() const;
    //! False: `mayContinue` ended the waiting.
    bool wait(ContinueCheck const* mayContinue = nullptr) const;
    //! For the run that this timer was given to.
    void awaitTimed(StepObserver const& timer) const;
    //! No logger hears of runs under way and recordings when this has returned.
    void silence() const;
    //! Runs that are over give back what they used, such as memory that the context has exchanged meanwhile.
    void settle() const;

    // ---- From any thread.
    //! Of captures.
    int32_t recordings() const noexcept
    {
        return mRecordings.load();
    }
    void dropRecording() noexcept
    {
        mRecordings.fetch_sub(1);
    }
    //! A run has failed after its call had returned.
    void noteFailure() noexcept
    {
        mHasFailed.store(true);
    }
    //! Once.
    bool takeFailure() noexcept
    {
        return mHasFailed.exchange(false);
    }

  private:
    //! The i-th, from the one that was taken longest ago.
    Frame& at(size_t i) const
    {
        return *mAll[(mOldest + i) % mAll.size()];
    }
    size_t findIdle(size_t count) const;
    std::shared_ptr<Frame> takeAt(size_t i);
    void dropIdle(size_t count, size_t& kept);

    ContextState& mContext;
    std::vector<std::shared_ptr<Frame>> mAll; //!< A ring in the order that they were taken in.
    size_t mOldest{0};
    std::vector<std::weak_ptr<Frame>> mRecorded;
    std::atomic<bool> mHasFailed{false};
    std::atomic<int32_t> mRecordings{0};
};

} // namespace tenon
