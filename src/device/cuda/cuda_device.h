// CudaDevice: one GPU of NVIDIA's through the driver's own calls: its primary context, which it shares with the CUDA
// runtime and with frameworks, and streams, events and memory of whoever uses that.
#pragma once

#include "device/cuda/cuda_fence.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/replays.h"
#include "device/cuda/stop_words.h"
#include "device/device.h"
#include "device/host/added_kernels.h"

#include <atomic>

namespace tenon
{

//! What the driver says of a model; plans are made for it.
struct CudaModel
{
    std::string name;
    int32_t major{0};
    int32_t minor{0};
    int32_t multiprocessors{1};
    int64_t memoryBytes{0};
    int64_t l2Bytes{0};
    int32_t sharedBytes{48 << 10}; //!< The most that one block may have.

    //! "sm_90"
    std::string architecture() const;
};
Result<CudaModel> cudaModel(cuda::DriverApi const& api, int32_t index);

class CudaDevice final : public Device
{
  public:
    //! Where it cannot be opened, every call says why.
    CudaDevice(cuda::DriverApi const& api, int32_t index);

    std::string_view name() const noexcept override
    {
        return "cuda";
    }
    std::string describe() const override;
    size_t alignment() const noexcept override;
    Result<Done> checkAddress(void const* address, AddressUse const& use) const override;
    void* allocate(size_t bytes) noexcept override;
    void release(void* memory) noexcept override;
    void* allocateHost(size_t bytes) noexcept override;
    void releaseHost(void* memory) noexcept override;
    Result<Done> copyToHost(void* to, void const* from, size_t bytes, void* stream) override;
    Result<Done> copyFromHost(void* to, void const* from, size_t bytes, void* stream) override;
    Result<Done> copyOnDevice(void* to, void const* from, size_t bytes, void* stream) override;
    bool usesHostMemory() const noexcept override
    {
        return false;
    }
    bool runsHostCode() const noexcept override
    {
        return false;
    }
    Result<std::unique_ptr<Kernel>> load(KernelSource const& source) const override;
    int32_t hostThreads() const noexcept override;
    std::unique_ptr<Fence> makeFence() override;
    Result<RunEnd> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override;
    Result<void*> createStream() override;
    void destroyStream(void* stream) noexcept override;
    Result<Done> checkStream(void const* stream) const override;
    Result<void*> createEvent() override;
    void destroyEvent(void* event) noexcept override;
    Result<Done> checkEvent(void const* event) const override;
    Result<Done> recordEvent(void* event, void* stream) override;
    Result<Done> waitEvent(void* stream, void* event) override;
    Result<bool> awaitEvent(void* event, ContinueCheck const* mayContinue) override;
    bool isWorking() const noexcept override;
    bool isCapturing(void const* stream) const noexcept override;

    //! Kernels of the backend, and those of the host for steps that are placed there.
    void add(std::span<CudaKernelEntry const> kernels);
    void addHostKernels(std::span<KernelEntry const> kernels);
    cuda::DriverApi const& api() const noexcept
    {
        return mApi;
    }
    CudaModel const& model() const noexcept
    {
        return mModel;
    }
    void* context() const noexcept
    {
        return mContext;
    }
    int32_t index() const noexcept
    {
        return mIndex;
    }
    cuda::Replays const& replays() const noexcept
    {
        return mReplays;
    }
    //! An error once the device cannot be used any more.
    Result<Done> alive() const;
    //! Takes note of an error after which nothing works, and hands it on.
    Error noted(cuda::Code code, std::string_view call) const;

  private:
    Result<Done> open(int32_t index);
    void* streamOf(void* stream) const noexcept;
    Result<Done> copy(void* to, void const* from, size_t bytes, void* stream);
    Result<Done> enqueue(std::span<Launch const> launches, void* stream, cuda::RunState& state, RunFailure& failure,
        StepRanges const* ranges = nullptr) const;
    //! Steps that have been launched like this before as one graph.
    Result<Done> enqueueReplayed(
        std::span<Launch const> launches, void* stream, cuda::RunState& state, RunFailure& failure) const;
    Result<Done> enqueueHostSteps(std::span<Launch const> launches, void* stream, cuda::RunState& state) const;
    Result<RunEnd> record(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure);
    Result<RunEnd> begin(std::span<Launch const> launches, RunOptions const& options, void* stream,
        cuda::CudaFence& fence, RunFailure& failure) const;
    Result<RunEnd> runAndWait(
        std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure);
    Result<RunEnd> runMeasured(
        std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure);
    Result<RunEnd> runObserved(
        std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure);
    Result<RunEnd> runTimed(
        std::span<Launch const> launches, RunOptions const& options, void* stream, RunFailure& failure);

    cuda::DriverApi const& mApi;
    int32_t mIndex;
    CudaModel mModel;
    void* mContext{nullptr};
    void* mApart{nullptr};
    mutable std::mutex mMutex; //!< Of the next two.
    mutable std::vector<CudaKernelEntry> mKernels;
    mutable std::optional<Error> mLost;
    mutable std::atomic<bool> mIsLost{false};
    AddedKernels mHostKernels;
    cuda::StopWords mStopWords;
    cuda::FencePool mFences;
    mutable cuda::Replays mReplays;
};

namespace cuda
{

//! The device's context is current while it lives, and what the thread had before is so again. Nothing that happens
//! meanwhile spoils captures of the thread's.
class Current
{
  public:
    explicit Current(CudaDevice const& device) noexcept;
    ~Current();
    Current(Current const&) = delete;
    Current& operator=(Current const&) = delete;

  private:
    DriverApi const& mApi;
    CudaDevice const* mOuter;
    bool mIsCurrent{false};
    bool mIsPushed{false};
    bool mIsRelaxed{false};
    CaptureMode mMode{kCaptureRelaxed};
};

} // namespace cuda
} // namespace tenon
