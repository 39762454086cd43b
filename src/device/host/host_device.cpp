// HostDevice: runs at once, on a stream's thread while the caller waits, or on a stream's thread later.
#include "device/host/host_device.h"

#include "device/host/events.h"
#include "device/host/host_kernel.h"
#include "device/host/stream_queue.h"
#include "device/host/streams.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>

namespace tenon
{

Result<Done> HostDevice::checkAddress(void const* address, AddressUse const& use) const
{
    auto const bytes = static_cast<uintptr_t>(std::max<int64_t>(use.elementBytes, 1));
    if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
        return badArgument("address {} is not a multiple of its element's {} bytes", address, bytes);
    return Done{};
}

void HostDevice::copyNow(void* to, void const* from, size_t bytes) noexcept
{
    std::memmove(to, from, bytes);
}

Result<Done> HostDevice::copy(void* to, void const* from, size_t bytes, void* stream)
{
    if (bytes == 0) // Else an address may be null.
        return Done{};
    if (stream == kApartStream || !TENON_TRY(host::hasWork(stream)))
    {
        copyNow(to, from, bytes);
        return Done{};
    }
    TENON_TRY(runInStream(stream, nullptr, [=, this](ContinueCheck const*) -> Result<Done> {
        copyNow(to, from, bytes);
        return Done{};
    }));
    return Done{};
}

Result<Done> HostDevice::copyToHost(void* to, void const* from, size_t bytes, void* stream)
{
    return copy(to, from, bytes, stream);
}

Result<Done> HostDevice::copyFromHost(void* to, void const* from, size_t bytes, void* stream)
{
    return copy(to, from, bytes, stream);
}

Result<Done> HostDevice::copyOnDevice(void* to, void const* from, size_t bytes, void* stream)
{
    return copy(to, from, bytes, stream);
}

std::unique_ptr<Fence> HostDevice::makeFence()
{
    return std::make_unique<HostFence>();
}

Result<void*> HostDevice::createStream()
{
    return host::createStream(host::StreamKind::kNonBlocking);
}

void HostDevice::destroyStream(void* stream) noexcept
{
    static_cast<void>(host::destroyStream(stream));
}

Result<Done> HostDevice::checkStream(void const* stream) const
{
    return host::checkStream(stream);
}

Result<void*> HostDevice::createEvent()
{
    return host::createEvent(false);
}

void HostDevice::destroyEvent(void* event) noexcept
{
    static_cast<void>(host::destroyEvent(event));
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

Result<Done> HostDevice::waitEvent(void* stream, void* event)
{
    return host::waitEvent(stream, event);
}

Result<bool> HostDevice::awaitEvent(void* event, ContinueCheck const* mayContinue)
{
    if (mayContinue != nullptr)
        return host::awaitEvent(event, *mayContinue);
    TENON_TRY(host::synchronizeEvent(event));
    return true;
}

bool HostDevice::isWorking() const noexcept
{
    return host::isWorking();
}

bool HostDevice::isCapturing(void const* stream) const noexcept
{
    return stream != kApartStream && host::isCapturing(stream);
}

Result<Done> HostDevice::runWhole(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    using Clock = std::chrono::steady_clock;
    Clock::time_point const begun = options.elapsed == nullptr ? Clock::time_point{} : Clock::now();
    Result<Done> done = runNow(launches, options, failure);
    if (options.elapsed != nullptr)
        *options.elapsed = std::chrono::duration<double, std::micro>{Clock::now() - begun}.count();
    if (!done)
        for (Launch const& launch : launches)
            hostPrepared(*launch.prepared).abandon();
    return done;
}

Result<RunEnd> HostDevice::run(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    if (options.stream != kApartStream && !host::isImmediate(options.stream))
    {
        if (options.keeper != nullptr && host::isCapturing(options.stream))
            return record(launches, options);
        if (options.fence == nullptr || host::isCapturing(options.stream))
            return runThere(launches, options, failure);
        TENON_TRY(runLater(static_cast<HostFence&>(*options.fence).begin(launches, options)));
        return RunEnd::kLater;
    }
    if (options.stream != kApartStream)
    {
        if (options.mayContinue == nullptr)
            TENON_TRY(host::startNow(options.stream));
        else if (!TENON_TRY(host::startNow(options.stream, *options.mayContinue)))
            return RunEnd::kDropped;
    }
    TENON_TRY(runWhole(launches, options, failure));
    return RunEnd::kDone;
}

namespace
{
//! Runs what nobody waits for; the listener hears of a failure before anybody finds the work done.
template <typename RunNow>
Result<Done> runAndTell(RunListener& listener, RunNow const& runNow)
{
    RunFailure failure;
    Result<Done> done = host::runFenced([&] { return runNow(failure); });
    if (done)
        return done;
    failure.error = std::move(done).error();
    return host::runFenced([&]() -> Result<Done> { return listener.failed(failure); });
}
} // namespace

Result<Done> HostDevice::runLater(HostFence::Part& part)
{
    // Two words, which std::function keeps without an allocation.
    Result<Done> submitted = host::submit(part.options.stream, [this, &part]() -> Result<Done> {
        Result<Done> done{Done{}};
        if (!part.fence->hasFailed())
            done = runAndTell(*part.options.listener,
                [&](RunFailure& failure) { return runWhole(part.launches, part.options, failure); });
        part.fence->end(part, !done);
        return done;
    });
    if (!submitted)
        part.fence->end(part, false);
    return submitted;
}

Result<RunEnd> HostDevice::record(std::span<Launch const> launches, RunOptions const& options)
{
    RunOptions later = options;
    later.mayContinue = nullptr; // Who would be asked will have returned.
    TENON_TRY(host::submit(options.stream, [this, launches, later]() -> Result<Done> {
        return runAndTell(*later.listener, [&](RunFailure& failure) { return runWhole(launches, later, failure); });
    }));
    return RunEnd::kLater;
}

Result<RunEnd> HostDevice::runThere(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    return runInStream(options.stream, options.mayContinue, [&](ContinueCheck const* mayContinue) {
        RunOptions there = options;
        there.mayContinue = mayContinue;
        return runWhole(launches, there, failure);
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

namespace host
{
namespace
{
std::atomic<bool> gAnswersCudaCalls{false};
}

void answerCudaCalls() noexcept
{
    gAnswersCudaCalls.store(true, std::memory_order_relaxed);
}

bool answersCudaCalls() noexcept
{
    return gAnswersCudaCalls.load(std::memory_order_relaxed);
}
} // namespace host

} // namespace tenon
