// Events of the host: each record is a mark that streams and threads wait for.
#include "device/host/events.h"

#include "base/polling.h"
#include "device/host/capture.h"
#include "device/host/stream_table.h"

#include <array>
#include <atomic>
#include <chrono>

namespace tenon::host
{

namespace
{
using Clock = std::chrono::steady_clock;

//! One record of an event. Those who wait hold it, so that neither a later record nor the event's end disturbs them.
struct Mark
{
    std::atomic<uint32_t> isDone{0};
    Clock::time_point at;

    void set() noexcept
    {
        at = Clock::now();
        isDone.store(1, std::memory_order_release);
        isDone.notify_all();
    }
    void wait() const noexcept
    {
        isDone.wait(0, std::memory_order_acquire);
    }
};

struct Event
{
    bool hasTiming{true};
    std::shared_ptr<Mark> last;             //!< Null: never recorded.
    std::shared_ptr<CapturePoint> captured; //!< The last record was in a capture.
};

//! All events of the process.
struct Events
{
    std::mutex mutex;
    std::unordered_map<void const*, std::unique_ptr<Event>> live;

    Result<Event*> find(void const* event)
    {
        auto const found = live.find(event);
        if (found == live.end())
            return badArgument("event {} is not one of Tenon's, or was destroyed", event);
        return found->second.get();
    }
};

Events& events() noexcept
{
    static auto* const all = new Events; // Never destroyed: streams may outlive static objects.
    return *all;
}

//! A new record of the event, done or not.
Result<std::shared_ptr<Mark>> newMark(void const* event)
{
    auto mark = std::make_shared<Mark>();
    std::shared_ptr<CapturePoint> before; // Goes after the lock.
    std::scoped_lock const lock{events().mutex};
    Event* const own = TENON_TRY(events().find(event));
    own->last = mark;
    before = std::exchange(own->captured, nullptr);
    return mark;
}

struct Record
{
    std::shared_ptr<Mark> last;
    std::shared_ptr<CapturePoint> captured;
};

Result<Record> lastRecord(void const* event)
{
    std::scoped_lock const lock{events().mutex};
    Event const* const own = TENON_TRY(events().find(event));
    return Record{own->last, own->captured};
}

//! The last record for a thread that waits or asks; null: none.
Result<std::shared_ptr<Mark>> waitable(void const* event)
{
    Record const record = TENON_TRY(lastRecord(event));
    if (record.captured == nullptr)
        return record.last;
    bool const isOpen = Captures::instance().invalidate(*record.captured);
    return captureError(isOpen ? CaptureProblem::kCapturedEvent : CaptureProblem::kOver,
        fmt::format("event {} was last recorded in a capture: nothing will mark it{}", event,
            isOpen ? "; the capture is no longer valid" : ""));
}

//! The queue when the stream captures now.
Result<std::shared_ptr<StreamQueue>> capturingQueue(void const* stream)
{
    if (isLegacy(stream) || isImmediate(stream) || !Captures::instance().isAny())
        return std::shared_ptr<StreamQueue>{};
    std::shared_ptr<StreamQueue> queue = TENON_TRY(findQueue(stream));
    if (!Captures::instance().isCapturing(*queue))
        return std::shared_ptr<StreamQueue>{};
    return queue;
}

Result<Done> recordInCapture(void* event, StreamQueue const& queue)
{
    std::shared_ptr<CapturePoint> point = TENON_TRY(Captures::instance().point(queue));
    std::scoped_lock const lock{events().mutex};
    std::swap(TENON_TRY(events().find(event))->captured, point); // The one before goes after the lock.
    return Done{};
}

Result<Done> waitInCapture(StreamQueue& queue, void* event, Record const& record)
{
    if (record.captured == nullptr)
    {
        if (record.last == nullptr)
            return Done{};
        Captures::instance().invalidate(queue);
        return captureError(CaptureProblem::kIsolation,
            fmt::format("stream {} is capturing and cannot wait for event {}, which was recorded outside of the "
                        "capture; the capture is no longer valid",
                static_cast<void const*>(&queue), event));
    }
    return Captures::instance().join(queue, *record.captured);
}

Result<Done> waitForLast(void* event)
{
    if (std::shared_ptr<Mark> const mark = TENON_TRY(lastRecord(event)).last; mark != nullptr)
        mark->wait();
    return Done{};
}
} // namespace

Result<void*> createEvent(bool hasTiming)
{
    auto event = std::make_unique<Event>();
    event->hasTiming = hasTiming;
    void* const handle = event.get();
    std::scoped_lock const lock{events().mutex};
    events().live.emplace(handle, std::move(event));
    return handle;
}

Result<Done> destroyEvent(void* event)
{
    std::unique_ptr<Event> last; // Destroyed without the lock: a capture's work may hold anything.
    std::scoped_lock const lock{events().mutex};
    TENON_TRY(events().find(event));
    last = std::move(events().live.extract(event).mapped());
    return Done{};
}

Result<Done> checkEvent(void const* event)
{
    std::scoped_lock const lock{events().mutex};
    TENON_TRY(events().find(event));
    return Done{};
}

Result<bool> hasTiming(void const* event)
{
    std::scoped_lock const lock{events().mutex};
    return TENON_TRY(events().find(event))->hasTiming;
}

Result<Done> markNow(void* event)
{
    TENON_TRY(newMark(event))->set();
    return Done{};
}

Result<Done> recordEvent(void* event, void* stream, EventUse use)
{
    TENON_TRY(checkEvent(event));
    if (std::shared_ptr<StreamQueue> const queue = TENON_TRY(capturingQueue(stream)); queue != nullptr)
    {
        if (use == EventUse::kInGraph)
            return submit(stream, [event] { return markNow(event); });
        return recordInCapture(event, *queue);
    }
    TENON_TRY(checkStream(stream));
    std::shared_ptr<Mark> mark = TENON_TRY(newMark(event));
    bool const isNow = isImmediate(stream); // Then the mark stands within other work, which goes on.
    Result<Done> const result = submit(stream, [mark, isNow]() -> Result<Done> {
        if (isNow)
            mark->set();
        else
            StreamQueue::endCurrent([&] { mark->set(); });
        return Done{};
    });
    if (!result)
        mark->set(); // Nobody will.
    return result;
}

Result<Done> waitEvent(void* stream, void* event, EventUse use)
{
    Record record = TENON_TRY(lastRecord(event));
    if (std::shared_ptr<StreamQueue> const queue = TENON_TRY(capturingQueue(stream)); queue != nullptr)
    {
        if (use == EventUse::kInGraph)
            return submit(stream, [event] { return waitForLast(event); });
        return waitInCapture(*queue, event, record);
    }
    TENON_TRY(checkStream(stream));
    if (record.captured != nullptr)
    {
        if (isImmediate(stream))
            return captureError(CaptureProblem::kCapturedEvent,
                fmt::format("stream {} cannot wait for event {}, which was last recorded in a capture",
                    static_cast<void const*>(stream), event));
        return Captures::instance().join(*TENON_TRY(findQueue(stream)), *record.captured);
    }
    if (record.last == nullptr || record.last->isDone.load(std::memory_order_acquire) != 0)
        return Done{};
    return submit(stream, [mark = std::move(record.last)]() -> Result<Done> {
        mark->wait();
        return Done{};
    });
}

Result<bool> isDone(void* event)
{
    std::shared_ptr<Mark> const mark = TENON_TRY(waitable(event));
    return mark == nullptr || mark->isDone.load(std::memory_order_acquire) != 0;
}

Result<Done> synchronizeEvent(void* event)
{
    if (std::shared_ptr<Mark> const mark = TENON_TRY(waitable(event)); mark != nullptr)
        mark->wait();
    return Done{};
}

Result<bool> awaitEvent(void* event, ContinueCheck const& mayContinue)
{
    Record const record = TENON_TRY(lastRecord(event));
    if (record.last == nullptr || record.captured != nullptr)
        return true;
    return pollWhile([&] { return record.last->isDone.load(std::memory_order_acquire) != 0; }, mayContinue);
}

Result<float> elapsedMilliseconds(void* start, void* end)
{
    std::array<Clock::time_point, 2> times;
    for (int i = 0; i < 2; ++i)
    {
        void* const event = i == 0 ? start : end;
        if (!TENON_TRY(hasTiming(event)))
            return badArgument("event {} was created without timing", event);
        std::shared_ptr<Mark> const mark = TENON_TRY(waitable(event));
        if (mark == nullptr)
            return badArgument("event {} was never recorded", event);
        if (mark->isDone.load(std::memory_order_acquire) == 0)
            return errorOf(ErrorCode::kINVALID_STATE, "event {} is not done yet", event);
        times[i] = mark->at;
    }
    return std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
}

void lockEventsForFork()
{
    events().mutex.lock();
}

void unlockEventsInParent()
{
    events().mutex.unlock();
}

void resetEventsInChild()
{
    for (auto& [handle, event] : events().live) // The work that would mark them is the parent's.
        if (event->last != nullptr && event->last->isDone.load(std::memory_order_acquire) == 0)
            event->last->set();
    std::construct_at(&events().mutex);
}

} // namespace tenon::host
