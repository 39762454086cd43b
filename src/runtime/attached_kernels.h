// AttachedKernels: the copies of kernels that keep state for one context, and what these have been told.
#pragma once

#include "runtime/context_allocator.h"
#include "runtime/engine_state.h"

namespace tenon
{

class AttachedKernels
{
  public:
    AttachedKernels(EngineState const& engine, Recorder recorder);

    //! Asks every kernel for its copy, once. A context whose memory the user gives waits until it has it (J8).
    Result<Done> attach();
    bool isAny() const noexcept
    {
        return !mAll.empty();
    }
    //! Null: the step has none.
    Attached* of(int32_t step) const
    {
        return mAll.empty() ? nullptr : mAll[asSize(step)].get();
    }
    //! The context's recorder, for custom layers to ask for.
    void setRecorder(Recorder recorder)
    {
        mRecorder.set(std::move(recorder));
    }
    //! An error in callbacks of their own, also where the run goes on in another thread.
    Result<Done> checkCaller() const;

    // ---- Extents and addresses. They hear of new ones before they run, and not without need (K3, L13).
    struct Segment
    {
        size_t index{0};
        PreparedTail const& tail;
        std::shared_ptr<PreparedTail const> const& kept; //!< The same; null for the first segment.
    };
    //! Tells those of the segment; `awaitRuns` is called before the first hears anything.
    template <typename Await>
    Result<Done> tell(std::shared_ptr<PreparedRun const> const& run, Segment const& segment,
        std::span<void* const> inputs, Await&& awaitRuns)
    {
        if (!isAny() || !hasNews(run, segment, inputs))
            return Done{};
        TENON_TRY(awaitRuns());
        return reshape(segment);
    }
    //! The run has succeeded: what they were told is what they know.
    void ranWith(std::shared_ptr<PreparedRun const> const& run, std::span<void* const> inputs);
    //! They know nothing: a run of theirs has failed.
    void forget() noexcept
    {
        mToldRun.reset();
    }

  private:
    //! Whether one of the segment's must be told. Decides for the run at its first segment.
    bool hasNews(std::shared_ptr<PreparedRun const> const& run, Segment const& segment, std::span<void* const> inputs);
    Result<Done> reshape(Segment const& segment);
    bool hears(int32_t step) const;

    EngineState const& mEngine;
    std::unique_ptr<ContextAllocator> mAllocator;
    RecorderSlot mRecorder;
    std::vector<std::unique_ptr<Attached>> mAll; //!< By step; empty: no step has any.
    bool mIsAttached{false};

    std::shared_ptr<PreparedRun const> mToldRun; //!< Null: all must be told.
    std::vector<void*> mToldInputs;
    std::vector<std::shared_ptr<PreparedTail const>> mToldTails; //!< By segment.
    bool mIsMoved{false};     //!< The run at hand has other extents or addresses than they know.
    bool mIsOther{false};     //!< Other extents.
    bool mIsOtherHere{false}; //!< In the segment at hand.
};

} // namespace tenon
