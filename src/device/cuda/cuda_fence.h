// CudaFence: an event behind a run, and what the steps of that run on the host have come to.
#pragma once

#include "device/cuda/stop_words.h"
#include "device/device.h"

#include <deque>
#include <mutex>

namespace tenon::cuda
{

struct RunState;

//! Steps of the host between two of the device, done by one callback of the driver's.
struct HostTurn
{
    RunState* state{nullptr};
    std::span<Launch const> launches;
    bool isFirst{false}; //!< Of a recording.
};

//! What the steps of one run share. Callbacks of the driver use it until the run is over.
struct RunState
{
    StopWord stop;
    RunListener* listener{nullptr};
    bool hasHostSteps{false};
    bool isRecorded{false}; //!< It begins anew with each launch of a graph.
    size_t turnsUsed{0};
    std::deque<HostTurn> turns; //!< Addresses stay; kept from run to run.
    //! Of the next two. The listener is told under it, and the user's logger behind it may ask for this very run.
    std::recursive_mutex mutex;
    bool hasFailed{false};
    RunFailure failure;

    //! Once a run; tells the listener, when there is one.
    void fail(RunFailure why);
    //! None while it has not failed.
    std::optional<RunFailure> failed();
};

//! The work of a HostTurn: called by the driver in the stream's order, where no call of CUDA is allowed.
void doHostTurn(void* turn);
//! Whether the thread is in one.
bool isInHostTurn() noexcept;

class CudaFence final : public Fence
{
  public:
    explicit CudaFence(CudaDevice const& device, StopWords& words);
    ~CudaFence() override;
    bool isOver() const override;
    bool wait(ContinueCheck const* mayContinue) const override;

    //! Before the run's first step is put into a stream.
    Result<RunState*> begin(RunOptions const& options);
    //! Behind its last one.
    Result<Done> mark(void* stream);
    RunState& state() const noexcept
    {
        return mState;
    }

  private:
    bool isOfParent() const noexcept;
    bool end(Code code) const;

    CudaDevice const& mDevice;
    StopWords& mWords;
    void* mEvent{nullptr};
    mutable RunState mState;
    mutable std::recursive_mutex mMutex; //!< Of what follows; held while a failure is told, as above.
    mutable bool mIsPending{false};
    void* mStream{nullptr}; //!< Of the last mark.
    int32_t mGeneration{0};
};

//! Fences of runs that are waited for.
class FencePool
{
  public:
    std::unique_ptr<CudaFence> take(CudaDevice const& device, StopWords& words);
    void giveBack(std::unique_ptr<CudaFence> fence);

  private:
    std::mutex mMutex;
    std::vector<std::unique_ptr<CudaFence>> mFree;
};

} // namespace tenon::cuda
