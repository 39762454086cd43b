// Frame: the pointers of all steps of one run, which must last until its work is over, however late that is.
#pragma once

#include "runtime/device_memory.h"
#include "runtime/engine_state.h"

#include <atomic>

namespace tenon
{

struct ContextState;

//! Values of a shape tensor, in the form of its type.
using OwnValues = std::shared_ptr<std::vector<std::byte> const>;

//! A context has as many as it has runs under way.
struct Frame final : public RunTicket
{
    explicit Frame(ContextState& context);
    ~Frame() override;

    std::vector<Launch> launches;
    std::vector<void const*> inputs;
    std::vector<void*> outputs;
    std::vector<int64_t> produced;

    // ---- what the pointers were written for ------------------------------------------------------------------------
    std::shared_ptr<PreparedRun const> run;
    std::vector<std::shared_ptr<PreparedTail const>> tails; //!< By segment; [0] is unused.
    std::vector<void*> io;                                  //!< Where each I/O tensor is read or written.
    void* arena{nullptr};
    void* scratch{nullptr};
    void* stream{nullptr};

    // ---- memory in use by work that goes on, which the context may have exchanged ----------------------------------
    std::shared_ptr<DeviceMemory> arenaMemory;
    std::shared_ptr<DeviceMemory> scratchMemory;
    std::shared_ptr<StepObserver const> timer;
    std::vector<OwnValues> ownValues;
    Log log;                               //!< As it was when the run began.
    std::shared_ptr<ContextState> context; //!< While the run is under way: its handle may go meanwhile.
    //! Set for a run that was captured: the recording keeps all that it needs, and the frame serves for it alone.
    std::shared_ptr<ContextState> capturedFrom;

    //! Before a new run whose work may go on: one part is the caller's, until it has launched all others.
    void start(std::shared_ptr<StepObserver const> timerOfRun);
    //! The frame serves a recording from now on, and nothing else.
    void startCapture();
    //! Before launches that finished will be called for, or that a PartOfFrame stands for until they are.
    void addPart() noexcept;
    void partIsOver() noexcept;
    bool isUnderWay() const noexcept;
    //! Returns when no work uses the frame, or with false when `mayContinue`, if there is one, says no.
    bool wait(ContinueCheck const* mayContinue = nullptr) const;

    bool isGivenUp() const noexcept override;
    Result<Done> finished(RunFailure const* failure) override;

  private:
    ContextState& mContext; //!< Kept by `context` or `capturedFrom` wherever work goes on.
    std::atomic<int32_t> mParts{0};
    int32_t mGeneration{0}; //!< Of the process that started the run: in a child of it nothing goes on.
    std::atomic<bool> mHasFailed{false};
};

//! A part that is over at the end of the scope, whatever ends it, unless others took it.
class PartOfFrame
{
  public:
    explicit PartOfFrame(Frame& frame) noexcept
        : mFrame{&frame}
    {
    }
    ~PartOfFrame()
    {
        if (mFrame != nullptr)
            mFrame->partIsOver();
    }
    PartOfFrame(PartOfFrame const&) = delete;
    PartOfFrame& operator=(PartOfFrame const&) = delete;

    void leave() noexcept
    {
        mFrame = nullptr;
    }

  private:
    Frame* mFrame;
};

//! What the user is told of a run that failed: the layer, and the class of errors that only running shows (B8).
Error failedRun(EngineState const& engine, RunFailure failure);
//! Every byte of a failed run's outputs becomes 0xFF, NaN or −1, so that nobody takes what they held for results; not
//! on devices whose memory is not the host's, and not where the memory is an input's, too.
void poisonOutputs(EngineState const& engine, std::span<void* const> io, std::span<Span const> registers);

} // namespace tenon
