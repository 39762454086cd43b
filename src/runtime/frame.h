// Frame: the pointers of all steps of one run, which must last until its work is over, however late that is.
#pragma once

#include "runtime/bindings.h"
#include "runtime/context_memory.h"

#include <mutex>

namespace tenon
{

struct ContextState;

//! A context has as many as it has runs under way.
struct Frame final : public RunListener
{
    explicit Frame(ContextState& context);
    ~Frame() override;

    std::vector<Launch> launches;
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
    std::vector<int64_t> produced;

    // ---- what the pointers were written for
    std::shared_ptr<PreparedRun const> run;
    std::shared_ptr<PreparedTail const> tail; //!< Of the last segment, which may go on; null where it is the first.
    std::vector<Span> registers;              //!< At that segment; unused where it is the first.
    std::vector<void*> io;                    //!< Where each I/O tensor is read or written.
    std::array<void*, kPlaceCount> arena{};
    std::array<void*, kPlaceCount> scratch{};
    void* stream{nullptr};

    // ---- in use by work that goes on, while the context may have exchanged them; given back by settle()
    ContextMemory::Lent memory;
    std::shared_ptr<StepObserver const> timer;
    std::vector<OwnValues> ownValues;
    std::unique_ptr<Fence> fence;
    //! Of a run that was captured: the recording keeps all that it needs, and the frame serves for it alone.
    std::shared_ptr<ContextState> capturedFrom;

    //! Before a new run whose work may go on.
    void start(std::shared_ptr<StepObserver const> timerOfRun);
    bool isUnderWay() const
    {
        return !fence->isOver();
    }
    //! Returns when no work uses the frame, or with false when `mayContinue`, if there is one, says no.
    bool wait(ContinueCheck const* mayContinue = nullptr) const
    {
        return fence->wait(mayContinue);
    }
    //! Gives back what the run used, if it is over.
    void settle();
    //! No logger hears of the run when this has returned; the recorder, which is referred to, still does.
    void silence();

    Error failed(RunFailure const& failure) override;

  private:
    void setLog(Log const& log);

    ContextState& mContext;          //!< Waits for its frames before it goes, or is kept by `capturedFrom`.
    std::recursive_mutex mReporting; //!< While a failure is reported: the user's logger may destroy the context.
    Log mLog;                        //!< As it was when the run began.
};

//! What a recording holds of a run that was captured. The frame's end is the context's and its memory's, so that it
//! comes where such may be released, wherever the recording's does.
std::shared_ptr<void const> keeperOf(std::shared_ptr<Frame> frame);

//! What the user is told of a run that failed: the layer, and the class of errors that only running shows (B8).
Error failedRun(EngineState const& engine, RunFailure failure);
//! Every byte of a failed run's outputs becomes 0xFF, NaN or −1, so that nobody takes what they held for results; not
//! on devices whose memory is not the host's, and not where the memory is an input's, too.
void poisonOutputs(EngineState const& engine, std::span<void* const> io, std::span<Span const> registers);

} // namespace tenon
