// HostDevice: runs at once, on a stream's thread while the caller waits, or on a stream's thread later.
#include "device/host/host_device.h"

#include "device/host/events.h"
#include "device/host/streams.h"

#include <atomic>
#include <cstring>

namespace tenon
{

void HostDevice::copyToHost(void* to, void const* from, size_t bytes)
{
    std::memcpy(to, from, bytes);
}

void HostDevice::copyFromHost(void* to, void const* from, size_t bytes)
{
    std::memcpy(to, from, bytes);
}

void HostDevice::copyOnDevice(void* to, void const* from, size_t bytes, void*)
{
    std::memmove(to, from, bytes); // The run that wrote the source has been waited for, and with it all before.
}

Result<Done> HostDevice::checkStream(void const* stream) const
{
    return host::checkStream(stream);
}

Result<Done> HostDevice::checkEvent(void const* event) const
{
    return host::checkEvent(event);
}

Result<Done> HostDevice::recordEvent(void* event, void* stream)
{
    return host::recordEvent(event, stream);
}

bool HostDevice::isCapturing(void const* stream) const noexcept
{
    return host::isCapturing(stream);
}

Result<RunEnd> HostDevice::run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    if (!host::isImmediate(options.stream))
        return options.ticket != nullptr ? runLater(launches, options) : runThere(launches, options, failure);
    host::waitForBlocking();
    TENON_TRY(runNow(launches, options, failure));
    return RunEnd::kDone;
}

Result<RunEnd> HostDevice::runLater(std::span<Launch const> launches, RunOptions const& options)
{
    TENON_TRY(host::submit(options.stream, [this, launches, options]() -> Result<Done> {
        if (options.ticket->isGivenUp())
            return options.ticket->finished(nullptr);
        RunFailure failure;
        Result<Done> done = runNow(launches, options, failure);
        if (done)
            return options.ticket->finished(nullptr);
        failure.error = std::move(done).error();
        return options.ticket->finished(&failure);
    }));
    return RunEnd::kLater;
}

Result<RunEnd> HostDevice::runThere(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    if (isCapturing(options.stream))
        return errorOf(ErrorCode::kINVALID_STATE, "the caller would wait for a stream that is being captured");
    Result<Done> done{Done{}};
    auto const isOver = std::make_shared<std::atomic<bool>>(false); // Told after the caller may have gone on.
    TENON_TRY(host::submit(options.stream, [&, isOver]() -> Result<Done> {
        done = runNow(launches, options, failure);
        isOver->store(true, std::memory_order_release);
        isOver->notify_one();
        return Done{}; // The caller takes the failure itself.
    }));
    isOver->wait(false, std::memory_order_acquire);
    TENON_TRY(std::move(done));
    return RunEnd::kDone;
}

} // namespace tenon
