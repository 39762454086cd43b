// HostDevice: what devices have in common whose memory is the host's and whose streams are the host's queues.
#pragma once

#include "device/device.h"

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
    void copyToHost(void* to, void const* from, size_t bytes) override;
    void copyFromHost(void* to, void const* from, size_t bytes) override;
    void copyOnDevice(void* to, void const* from, size_t bytes, void* stream) override;
    Result<RunEnd> run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) final;
    Result<Done> runApart(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) final;
    Result<Done> checkStream(void const* stream) const override;
    Result<Done> checkEvent(void const* event) const override;
    Result<Done> recordEvent(void* event, void* stream) override;
    bool isWorking() const noexcept override;
    bool isCapturing(void const* stream) const noexcept override;

  protected:
    //! The steps, on the calling thread and those that help it.
    virtual Result<Done> runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure) = 0;

  private:
    Result<RunEnd> runLater(std::span<Launch const> launches, RunOptions const& options);
    Result<RunEnd> runThere(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure);
};

//! Does the work in its turn in the stream while the caller waits. `mayContinue`, when there is one, is asked on the
//! caller's thread: until the turn has come its no drops the work, later what the work gets in its place says no, too.
Result<RunEnd> runInStream(void* stream, ContinueCheck const* mayContinue,
    std::function<Result<Done>(ContinueCheck const* mayContinue)> const& work);

} // namespace tenon
