// HostDevice: what devices have in common whose kernels run on the host and whose streams are the host's queues.
#pragma once

#include "device/device.h"
#include "device/host/host_fence.h"

namespace tenon
{

class HostDevice : public Device
{
  public:
    static constexpr size_t kUserAlignment{16}; //!< What malloc and NumPy give.

    size_t userAlignment() const noexcept override
    {
        return kUserAlignment;
    }
    bool runsHostCode() const noexcept override
    {
        return true;
    }
    bool usesHostMemory() const noexcept override
    {
        return true;
    }
    Result<Done> checkAddress(void const* address, AddressUse const& use) const override;
    Result<Done> copyToHost(void* to, void const* from, size_t bytes, void* stream) final;
    Result<Done> copyFromHost(void* to, void const* from, size_t bytes, void* stream) final;
    Result<Done> copyOnDevice(void* to, void const* from, size_t bytes, void* stream) final;
    std::unique_ptr<Fence> makeFence() final;
    Result<RunEnd> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) override;
    Result<void*> createStream() override;
    void destroyStream(void* stream) noexcept final;
    Result<Done> checkStream(void const* stream) const final;
    Result<void*> createEvent() final;
    void destroyEvent(void* event) noexcept final;
    Result<Done> checkEvent(void const* event) const final;
    Result<Done> recordEvent(void* event, void* stream) final;
    Result<Done> waitEvent(void* stream, void* event) final;
    Result<bool> awaitEvent(void* event, ContinueCheck const* mayContinue) final;
    bool isWorking() const noexcept final;
    bool isCapturing(void const* stream) const noexcept final;

  protected:
    //! The steps, on the calling thread and those that help it.
    virtual Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) = 0;
    //! One of the addresses may be the host's.
    virtual void copyNow(void* to, void const* from, size_t bytes) noexcept;

  private:
    Result<Done> copy(void* to, void const* from, size_t bytes, void* stream);
    //! The same as runNow; steps of a run that ends early give back what they hold.
    Result<Done> runWhole(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure);
    Result<Done> runLater(HostFence::Part& part);
    Result<RunEnd> record(std::span<Launch const> launches, RunOptions const& options);
    Result<RunEnd> runThere(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure);
};

//! Does the work in its turn in the stream while the caller waits. `mayContinue`, when there is one, is asked on the
//! caller's thread: until the turn has come its no drops the work, later what the work gets in its place says no, too.
Result<RunEnd> runInStream(void* stream, ContinueCheck const* mayContinue,
    std::function<Result<Done>(ContinueCheck const* mayContinue)> const& work);

namespace host
{
//! From now on what this program takes for the CUDA runtime is the host: its streams and memory are no GPU's.
void answerCudaCalls() noexcept;
bool answersCudaCalls() noexcept;
} // namespace host

} // namespace tenon
