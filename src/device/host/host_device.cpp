// HostDevice: runs at once, on a stream's thread while the caller waits, or on a stream's thread later.
#include "device/host/host_device.h"

#include "device/host/events.h"
#include "device/host/stream_queue.h"
#include "device/host/streams.h"

#include <atomic>
#include <cstring>
#include <future>

namespace tenon
{

void HostDevice::copyToHost(void* to, void const* from, size_t bytes)
{
    if (bytes > 0) // Else an address may be null.
        std::memcpy(to, from, bytes);
}

void HostDevice::copyFromHost(void* to, void const* from, size_t bytes)
{
    if (bytes > 0)
        std::memcpy(to, from, bytes);
}

void HostDevice::copyOnDevice(void* to, void const* from, size_t bytes, void*)
{
    if (bytes > 0)
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
    if (host::isImmediate(stream))
        return host::markNow(event); // The run that it is a part of has waited for what comes before.
    return host::recordEvent(event, stream);
}

bool HostDevice::isWorking() const noexcept
{
    return host::isWorking();
}

bool HostDevice::isCapturing(void const* stream) const noexcept
{
    return host::isCapturing(stream);
}

Result<RunEnd> HostDevice::run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    if (!host::isImmediate(options.stream))
        return options.ticket != nullptr ? runLater(launches, options) : runThere(launches, options, failure);
    if (options.mayContinue == nullptr)
        TENON_TRY(host::startNow(options.stream));
    else if (!TENON_TRY(host::startNow(options.stream, *options.mayContinue)))
        return RunEnd::kDropped;
    TENON_TRY(runNow(launches, options, failure));
    return RunEnd::kDone;
}

Result<Done> HostDevice::runApart(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    return runNow(launches, options, failure);
}

Result<RunEnd> HostDevice::runLater(std::span<Launch const> launches, RunOptions const& options)
{
    RunOptions later = options;
    later.mayContinue = nullptr; // Who asks will have returned.
    TENON_TRY(host::submit(options.stream, [this, launches, options = later]() -> Result<Done> {
        if (options.ticket->isGivenUp())
            return options.ticket->finished(nullptr);
        RunFailure failure;
        // Whatever happens, the ticket hears of the end.
        Result<Done> done = host::runFenced([&] { return runNow(launches, options, failure); });
        if (done)
            return options.ticket->finished(nullptr);
        failure.error = std::move(done).error();
        return options.ticket->finished(&failure);
    }));
    return RunEnd::kLater;
}

Result<RunEnd> HostDevice::runThere(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    return runInStream(options.stream, options.mayContinue, [&](ContinueCheck const* mayContinue) {
        RunOptions there = options;
        there.mayContinue = mayContinue;
        return runNow(launches, there, failure);
    });
}

namespace
{
//! What the caller and the stream's thread share, as either may be gone when the other looks.
struct Turn
{
    std::atomic<bool> isTaken{false}; //!< By the thread that works, or by the caller, who then needs the work no more.
    std::promise<void> over;
};
} // namespace

Result<RunEnd> runInStream(void* stream, ContinueCheck const* mayContinue,
    std::function<Result<Done>(ContinueCheck const* mayContinue)> const& work)
{
    if (host::isCapturing(stream))
        return errorOf(ErrorCode::kINVALID_STATE, "the caller would wait for a stream that is being captured");
    Result<Done> done{errorOf(ErrorCode::kINTERNAL_ERROR, "the work in the stream was dropped")};
    std::atomic<bool> isCancelled{false};
    ContinueCheck const mayContinueThere = [&] { return !isCancelled.load(); };
    auto const turn = std::make_shared<Turn>();
    std::future<void> const end = turn->over.get_future();
    bool const isNow = host::isImmediate(stream);
    TENON_TRY(host::submit(stream, [&, turn, isNow]() -> Result<Done> {
        if (turn->isTaken.exchange(true))
            return Done{}; // The caller has gone, and with it all that this would touch.
        done = host::runFenced(
            [&] { return work(mayContinue == nullptr ? nullptr : &mayContinueThere); }); // The caller waits.
        if (isNow)
            turn->over.set_value();
        else
            host::StreamQueue::endCurrent([&] { turn->over.set_value(); });
        return Done{}; // The caller takes the failure itself.
    }));
    if (mayContinue == nullptr)
        end.wait();
    else
        while (end.wait_for(kCheckInterval) == std::future_status::timeout)
            if (!isCancelled && !(*mayContinue)())
            {
                if (!turn->isTaken.exchange(true))
                    return RunEnd::kDropped;
                isCancelled = true;
            }
    if (!done)
        return std::move(done).error();
    return RunEnd::kDone;
}

} // namespace tenon
