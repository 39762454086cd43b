// CudaFence: asking the event, and steps of the host.
#include "device/cuda/cuda_fence.h"

#include "base/fork.h"
#include "device/cuda/cuda_device.h"
#include "device/host/host_kernel.h"

#include <exception>
#include <thread>

namespace tenon::cuda
{

namespace
{
thread_local bool gIsInTurn{false};

Result<Done> doStep(Launch const& launch)
{
    try
    {
        return hostPrepared(*launch.prepared).runAlone(launch.call);
    }
    catch (std::exception const& problem) // The driver's thread would end the process.
    {
        return errorOf(ErrorCode::kFAILED_EXECUTION, "{}", problem.what());
    }
}
} // namespace

void RunState::fail(RunFailure why)
{
    std::scoped_lock const lock{mutex};
    if (hasFailed)
        return;
    hasFailed = true;
    failure = std::move(why);
    if (listener != nullptr)
        static_cast<void>(listener->failed(failure));
}

std::optional<RunFailure> RunState::failed()
{
    std::scoped_lock const lock{mutex};
    return hasFailed ? std::optional{failure} : std::nullopt;
}

void doHostTurn(void* data)
{
    HostTurn const& turn = *static_cast<HostTurn const*>(data);
    RunState& state = *turn.state;
    if (turn.isFirst)
    {
        std::scoped_lock const lock{state.mutex};
        state.hasFailed = false;
        *state.stop.host = 0;
    }
    if (*state.stop.host != 0)
        return;
    gIsInTurn = true;
    for (Launch const& launch : turn.launches)
    {
        Result<Done> done = doStep(launch);
        if (done)
            continue;
        *state.stop.host = 1;
        state.fail({launch.step, std::move(done).error()});
        break;
    }
    gIsInTurn = false;
}

bool isInHostTurn() noexcept
{
    return gIsInTurn;
}

CudaFence::CudaFence(CudaDevice const& device, StopWords& words)
    : mDevice{device},
      mWords{words}
{
    Current const current{device};
    mState.stop = words.take(device);
    if (device.api().cuEventCreate(&mEvent, kEventDisableTiming) != kSuccess)
        mEvent = nullptr;
}

CudaFence::~CudaFence()
{
    Current const current{mDevice};
    if (mEvent != nullptr)
        static_cast<void>(mDevice.api().cuEventDestroy_v2(mEvent));
    mWords.giveBack(mState.stop);
}

bool CudaFence::isOfParent() const noexcept
{
    return mGeneration != forkGeneration();
}

//! True, always: the run is over, well or not.
bool CudaFence::end(Code code) const
{
    std::scoped_lock const lock{mMutex};
    if (!mIsPending)
        return true;
    if (code != kSuccess)
    {
        Current const current{mDevice};
        mState.fail({-1, mDevice.noted(code, "cuEventQuery")});
        static_cast<void>(mDevice.api().cuStreamSynchronize(mStream)); // Steps of the host may still come.
    }
    mIsPending = false;
    return true;
}

bool CudaFence::isOver() const
{
    {
        std::scoped_lock const lock{mMutex};
        if (!mIsPending || isOfParent())
            return true;
    }
    Current const current{mDevice};
    Code const code = mDevice.api().cuEventQuery(mEvent);
    return code != kNotReady && end(code);
}

bool CudaFence::wait(ContinueCheck const* mayContinue) const
{
    if (isOver())
        return true;
    if (mayContinue == nullptr)
    {
        Current const current{mDevice};
        return end(mDevice.api().cuEventSynchronize(mEvent));
    }
    for (PacedCheck check{mayContinue}; !isOver();)
    {
        if (check.mustStop())
            return isOver();
        std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
    return true;
}

Result<RunState*> CudaFence::begin(RunOptions const& options)
{
    if (mEvent == nullptr) // Once more: making the fence could tell nobody.
        if (Code const code = mDevice.api().cuEventCreate(&mEvent, kEventDisableTiming); code != kSuccess)
        {
            mEvent = nullptr;
            return mDevice.noted(code, "cuEventCreate");
        }
    if (mState.stop.host == nullptr)
        mState.stop = mWords.take(mDevice);
    mGeneration = forkGeneration();
    mState.listener = options.listener;
    if (!options.isContinued)
    {
        mState.hasHostSteps = false;
        mState.turnsUsed = 0;
        std::scoped_lock const lock{mState.mutex};
        mState.hasFailed = false;
        if (mState.stop.host != nullptr)
            *mState.stop.host = 0;
    }
    return &mState;
}

Result<Done> CudaFence::mark(void* stream)
{
    std::scoped_lock const lock{mMutex};
    if (Code const code = mDevice.api().cuEventRecord(mEvent, stream); code != kSuccess)
    {
        static_cast<void>(mDevice.api().cuStreamSynchronize(stream)); // Else nobody would know when it is over.
        return mDevice.noted(code, "cuEventRecord");
    }
    mStream = stream;
    mIsPending = true;
    return Done{};
}

std::unique_ptr<CudaFence> FencePool::take(CudaDevice const& device, StopWords& words)
{
    {
        std::scoped_lock const lock{mMutex};
        if (!mFree.empty())
        {
            std::unique_ptr<CudaFence> fence = std::move(mFree.back());
            mFree.pop_back();
            return fence;
        }
    }
    return std::make_unique<CudaFence>(device, words);
}

void FencePool::giveBack(std::unique_ptr<CudaFence> fence)
{
    std::scoped_lock const lock{mMutex};
    mFree.push_back(std::move(fence));
}

} // namespace tenon::cuda
