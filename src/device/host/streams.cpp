// Streams of the host by their handles: the rules of the legacy stream, of a stream's own thread and of captures.
#include "device/host/streams.h"

#include "device/host/capture.h"
#include "device/host/stream_table.h"

#include <algorithm>

namespace tenon::host
{

namespace
{
[[nodiscard]] Error notLive(void const* stream)
{
    return badArgument("stream {} is not one of Tenon's: it is neither 0, 1 or 2 nor a stream that exists now", stream);
}

//! Of a queue that was retired.
void end(StreamQueue& queue) noexcept
{
    if (queue.close())
        streamTable().bury(&queue);
}

//! The queue behind handle 2; ends with its thread.
class PerThreadQueue
{
  public:
    ~PerThreadQueue()
    {
        if (mQueue == nullptr)
            return;
        streamTable().retire(mQueue.get());
        Captures::instance().forget(*mQueue);
        mQueue->drain();
        end(*mQueue);
    }
    std::shared_ptr<StreamQueue> const& get()
    {
        if (mQueue == nullptr)
        {
            mQueue = std::make_shared<StreamQueue>(StreamKind::kBlocking, 0, true);
            streamTable().add(mQueue);
        }
        return mQueue;
    }

  private:
    std::shared_ptr<StreamQueue> mQueue;
};

bool isPerThread(void const* stream) noexcept
{
    return reinterpret_cast<uintptr_t>(stream) == kPerThreadStream;
}

Result<Done> failureOf(StreamQueue& queue)
{
    std::optional<Error> failure = queue.takeFailure();
    if (failure)
        return std::move(*failure);
    return Done{};
}

//! Whether the calling thread does work of streams, which never waits for other work: a stream's own thread, or one
//! that has launched a graph on stream 0.
bool doesWork() noexcept
{
    return StreamQueue::current() != nullptr || Replay::isAny();
}

//! An error for calls that would wait for a stream that captures.
Result<Done> mayWait(StreamQueue const& queue)
{
    Captures& captures = Captures::instance();
    if (!captures.isCapturing(queue))
        return Done{};
    captures.invalidate(queue);
    return captureError(CaptureProblem::kUnsupported,
        fmt::format(
            "stream {} is capturing: its work is recorded, so that there is nothing to wait for; the capture is "
            "no longer valid",
            static_cast<void const*>(&queue)));
}

//! For all work on blocking streams, but not in a stream's own thread. Cheap when there is none. False:
//! `mayContinue`, if there is one, said no.
bool waitForBlocking(ContinueCheck const* mayContinue)
{
    if (StreamQueue::blockingPending() == 0 || doesWork())
        return true;
    for (std::shared_ptr<StreamQueue> const& queue : streamTable().all())
    {
        if (queue->kind() != StreamKind::kBlocking)
            continue;
        if (mayContinue == nullptr)
            queue->drain();
        else if (!queue->drainWhile(*mayContinue))
            return false;
    }
    return true;
}

bool isBlockingIdle() noexcept
{
    if (StreamQueue::blockingPending() == 0 || doesWork())
        return true;
    return std::ranges::all_of(streamTable().all(),
        [](auto const& queue) { return queue->kind() != StreamKind::kBlocking || queue->isIdle(); });
}
} // namespace

HandleTable<StreamQueue>& streamTable() noexcept
{
    static auto* const table = new HandleTable<StreamQueue>; // Never destroyed: streams may outlive static objects.
    return *table;
}

Result<std::shared_ptr<StreamQueue>> findQueue(void const* stream)
{
    if (isPerThread(stream))
    {
        StreamQueue* const current = StreamQueue::current();
        if (current != nullptr && current->isPerThread())
            return current->shared_from_this();
        thread_local PerThreadQueue own;
        return own.get();
    }
    // Work may still use the stream that it runs on when somebody destroys that meanwhile: what was submitted runs.
    if (StreamQueue* const current = StreamQueue::current(); current != nullptr && current == stream)
        return current->shared_from_this();
    std::shared_ptr<StreamQueue> queue = streamTable().find(stream);
    if (queue == nullptr)
        return notLive(stream);
    return queue;
}

Result<Done> useLegacy()
{
    if (!Captures::instance().invalidateBlocking())
        return Done{};
    return captureError(CaptureProblem::kImplicit,
        "stream 0 cannot be used while a blocking stream captures: it would depend on that stream's work; the capture "
        "is no longer valid");
}

Result<void*> createStream(StreamKind kind, int32_t priority)
{
    return streamTable().add(std::make_shared<StreamQueue>(kind, priority, false));
}

Result<Done> destroyStream(void* stream)
{
    if (reinterpret_cast<uintptr_t>(stream) <= kPerThreadStream)
        return badArgument("stream {} exists always: it cannot be destroyed", stream);
    std::shared_ptr<StreamQueue> const queue = streamTable().retire(stream);
    if (queue == nullptr)
        return notLive(stream);
    Captures::instance().forget(*queue);
    end(*queue);
    return Done{};
}

Result<Done> checkStream(void const* stream)
{
    if (isLegacy(stream))
        return useLegacy();
    if (isPerThread(stream) || isImmediate(stream) || streamTable().has(stream))
        return Done{};
    return notLive(stream);
}

Result<StreamKind> streamKind(void const* stream)
{
    if (isLegacy(stream))
        return StreamKind::kBlocking;
    return TENON_TRY(findQueue(stream))->kind();
}

Result<int32_t> streamPriority(void const* stream)
{
    if (isLegacy(stream))
        return 0;
    return TENON_TRY(findQueue(stream))->priority();
}

Result<uint64_t> streamId(void const* stream)
{
    if (isLegacy(stream))
        return uint64_t{kLegacyStream};
    return TENON_TRY(findQueue(stream))->id();
}

bool isImmediate(void const* stream) noexcept
{
    if (isLegacy(stream))
        return true;
    StreamQueue const* const current = StreamQueue::current();
    if (current != nullptr && (current == stream || (isPerThread(stream) && current->isPerThread())))
        return true;
    return Replay::has(stream);
}

Result<Done> startNow(void const* stream)
{
    if (!isLegacy(stream))
        return Done{};
    TENON_TRY(useLegacy());
    waitForBlocking(nullptr);
    return Done{};
}

Result<bool> startNow(void const* stream, ContinueCheck const& mayContinue)
{
    if (!isLegacy(stream))
        return true;
    TENON_TRY(useLegacy());
    return waitForBlocking(&mayContinue);
}

Result<Done> submit(void* stream, Work work)
{
    if (isImmediate(stream))
    {
        TENON_TRY(startNow(stream));
        return runFenced(work);
    }
    std::shared_ptr<StreamQueue> const queue = TENON_TRY(findQueue(stream));
    Captures& captures = Captures::instance();
    if (captures.isAny() && TENON_TRY(captures.record(*queue, work)))
        return Done{};
    return queue->push(std::move(work));
}

Result<Done> synchronize(void* stream)
{
    if (isImmediate(stream))
        return startNow(stream);
    std::shared_ptr<StreamQueue> const queue = TENON_TRY(findQueue(stream));
    TENON_TRY(mayWait(*queue));
    queue->drain();
    return failureOf(*queue);
}

Result<bool> await(void* stream, ContinueCheck const& mayContinue)
{
    Captures const& captures = Captures::instance();
    if (!isLegacy(stream))
    {
        if (isImmediate(stream))
            return true;
        std::shared_ptr<StreamQueue> const queue = TENON_TRY(findQueue(stream));
        return captures.isCapturing(*queue) || queue->drainWhile(mayContinue);
    }
    return captures.isAnyBlocking() || waitForBlocking(&mayContinue);
}

bool awaitAll(ContinueCheck const& mayContinue)
{
    if (Captures::instance().isAny() || doesWork())
        return true;
    for (std::shared_ptr<StreamQueue> const& queue : streamTable().all())
        if (!queue->drainWhile(mayContinue))
            return false;
    return true;
}

Result<bool> isIdle(void* stream)
{
    if (isLegacy(stream))
    {
        TENON_TRY(useLegacy());
        return isBlockingIdle();
    }
    if (isImmediate(stream))
        return true;
    std::shared_ptr<StreamQueue> const queue = TENON_TRY(findQueue(stream));
    TENON_TRY(mayWait(*queue));
    bool const idle = queue->isIdle();
    TENON_TRY(failureOf(*queue));
    return idle;
}

Result<bool> hasWork(void* stream)
{
    if (isLegacy(stream))
    {
        TENON_TRY(useLegacy());
        return !isBlockingIdle();
    }
    if (isImmediate(stream))
        return false;
    std::shared_ptr<StreamQueue> const queue = TENON_TRY(findQueue(stream));
    return Captures::instance().isCapturing(*queue) || !queue->isIdle();
}

bool isWorking() noexcept
{
    return doesWork();
}

bool isCapturing(void const* stream) noexcept
{
    if (isLegacy(stream) || isImmediate(stream) || !Captures::instance().isAny())
        return false;
    Result<std::shared_ptr<StreamQueue>> const queue = findQueue(stream);
    return queue && Captures::instance().isCapturing(**queue);
}

Result<Done> synchronizeAll()
{
    Captures& captures = Captures::instance();
    if (captures.isAny())
    {
        captures.invalidateAll();
        return captureError(CaptureProblem::kUnsupported,
            "the device cannot be waited for while a stream captures; the capture is no longer valid");
    }
    if (doesWork())
        return Done{};
    Result<Done> first = Done{};
    for (std::shared_ptr<StreamQueue> const& queue : streamTable().all())
    {
        queue->drain();
        Result<Done> own = failureOf(*queue);
        if (first && !own)
            first = std::move(own);
    }
    return first;
}

void drainAll() noexcept
{
    if (doesWork())
        return;
    for (std::shared_ptr<StreamQueue> const& queue : streamTable().all())
        queue->drain();
}

void keepUntilDrained(std::shared_ptr<void> const& object)
{
    for (std::shared_ptr<StreamQueue> const& queue : streamTable().all())
        queue->hold(object);
}

} // namespace tenon::host
