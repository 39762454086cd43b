// Captures: recording, drawing streams in, and the rules that spoil them.
#include "device/host/capture.h"

#include <algorithm>
#include <atomic>

namespace tenon::host
{

namespace
{
thread_local CaptureProblem tProblem{CaptureProblem::kNone};
thread_local GraphSteps const* tReplay{nullptr};
std::atomic<int32_t> gCapturing{0};         // Streams that capture.
std::atomic<int32_t> gCapturingBlocking{0}; // Those of them that are blocking.

//! Steps that go after the lock: what they hold may call streams and events when it is released. What such calls get
//! wrong is not what the caller hears of.
struct DeadSteps
{
    std::vector<Work> steps;

    ~DeadSteps()
    {
        CaptureProblem const own = takeCaptureProblem();
        steps.clear();
        tProblem = own;
    }
};

void merge(CaptureClock& into, CaptureClock const& from)
{
    for (auto const& [stream, steps] : from)
    {
        uint64_t& known = into[stream];
        known = std::max(known, steps);
    }
}
} // namespace

struct Capture
{
    uint64_t id{0};
    CaptureMode mode{CaptureMode::kGlobal};
    std::thread::id thread;
    StreamQueue const* origin{nullptr};
    bool isInvalid{false};
    bool isOver{false};
    std::vector<Work> steps;
    std::map<StreamQueue const*, CaptureClock> known; //!< Per stream: what comes before its next step, itself included.
};

Error captureError(CaptureProblem problem, std::string message)
{
    tProblem = problem;
    return Error{ErrorCode::kINVALID_STATE, std::move(message)};
}

CaptureProblem takeCaptureProblem() noexcept
{
    return std::exchange(tProblem, CaptureProblem::kNone);
}

Captures& Captures::instance() noexcept
{
    static Captures* const all = new Captures; // Never destroyed: streams may outlive static objects.
    return *all;
}

bool Captures::isAny() const noexcept
{
    return gCapturing.load(std::memory_order_acquire) > 0;
}

bool Captures::isAnyBlocking() const noexcept
{
    return gCapturingBlocking.load(std::memory_order_acquire) > 0;
}

std::shared_ptr<Capture> Captures::find(StreamQueue const& queue) const
{
    auto const found = mStreams.find(&queue);
    return found == mStreams.end() ? nullptr : found->second;
}

void Captures::enter(StreamQueue const& queue, std::shared_ptr<Capture> capture)
{
    mStreams.emplace(&queue, std::move(capture));
    ++gCapturing;
    if (queue.kind() == StreamKind::kBlocking)
        ++gCapturingBlocking;
}

void Captures::leave(Capture const& capture)
{
    std::erase_if(mStreams, [&](auto const& each) {
        if (each.second.get() != &capture)
            return false;
        --gCapturing;
        if (each.first->kind() == StreamKind::kBlocking)
            --gCapturingBlocking;
        return true;
    });
}

std::vector<Work> Captures::over(Capture& capture)
{
    leave(capture);
    capture.isOver = true;
    return std::exchange(capture.steps, {});
}

bool Captures::isCapturing(StreamQueue const& queue) const
{
    if (!isAny())
        return false;
    std::scoped_lock const lock{mMutex};
    return mStreams.contains(&queue);
}

CaptureInfo Captures::info(StreamQueue const& queue) const
{
    std::scoped_lock const lock{mMutex};
    std::shared_ptr<Capture> const capture = find(queue);
    if (capture == nullptr)
        return {};
    return {capture->isInvalid ? CaptureState::kInvalid : CaptureState::kActive, capture->id};
}

Result<Done> Captures::begin(StreamQueue& queue, CaptureMode mode)
{
    std::scoped_lock const lock{mMutex};
    if (find(queue) != nullptr)
        return captureError(
            CaptureProblem::kTwice, fmt::format("stream {} is capturing already", static_cast<void const*>(&queue)));
    auto capture = std::make_shared<Capture>();
    capture->id = mNextId++;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = &queue;
    capture->known[&queue][&queue] = 0;
    enter(queue, std::move(capture));
    return Done{};
}

Result<std::shared_ptr<GraphSteps>> Captures::end(StreamQueue& queue)
{
    DeadSteps dead;
    std::scoped_lock const lock{mMutex};
    std::shared_ptr<Capture> const capture = find(queue);
    void const* const handle = &queue;
    if (capture == nullptr)
        return captureError(CaptureProblem::kTwice, fmt::format("stream {} is not capturing", handle));
    if (capture->mode != CaptureMode::kRelaxed && capture->thread != std::this_thread::get_id())
    {
        dead.steps = over(*capture);
        return captureError(CaptureProblem::kWrongThread,
            fmt::format("the capture on stream {} was begun by another thread, in a mode that asks for the same one to "
                        "end it",
                handle));
    }
    if (capture->origin != &queue)
    {
        capture->isInvalid = true;
        return captureError(CaptureProblem::kUnmatched,
            fmt::format("stream {} was drawn into a capture that began on stream {}; end it there", handle,
                static_cast<void const*>(capture->origin)));
    }
    dead.steps = over(*capture);
    if (capture->isInvalid)
        return captureError(CaptureProblem::kInvalidated,
            fmt::format(
                "the capture on stream {} was invalidated by a call that is not possible while capturing", handle));
    CaptureClock const& before = capture->known[&queue];
    auto graph = std::make_shared<GraphSteps>();
    for (auto& [stream, known] : capture->known)
    {
        auto const joined = before.find(stream);
        if (joined == before.end() || joined->second < known[stream])
            return captureError(CaptureProblem::kUnjoined,
                fmt::format("stream {} was drawn into the capture on stream {} and not joined again: record an event "
                            "in it and let stream {} wait for that",
                    static_cast<void const*>(stream), handle, handle));
        graph->streams.push_back(stream);
        if (stream->isPerThread())
            graph->streams.push_back(reinterpret_cast<void const*>(uintptr_t{2}));
    }
    graph->steps = std::move(dead.steps);
    return graph;
}

Result<bool> Captures::record(StreamQueue const& queue, Work& work)
{
    std::scoped_lock const lock{mMutex};
    std::shared_ptr<Capture> const capture = find(queue);
    if (capture == nullptr)
        return false;
    if (capture->isInvalid)
        return captureError(CaptureProblem::kInvalidated,
            fmt::format("the capture on stream {} is no longer valid", static_cast<void const*>(&queue)));
    capture->steps.push_back(std::move(work));
    ++capture->known[&queue][&queue];
    return true;
}

Result<std::shared_ptr<CapturePoint>> Captures::point(StreamQueue const& queue)
{
    std::scoped_lock const lock{mMutex};
    std::shared_ptr<Capture> const capture = find(queue);
    if (capture == nullptr)
        return std::shared_ptr<CapturePoint>{};
    if (capture->isInvalid)
        return captureError(CaptureProblem::kInvalidated,
            fmt::format("the capture on stream {} is no longer valid", static_cast<void const*>(&queue)));
    return std::make_shared<CapturePoint>(CapturePoint{capture, capture->known[&queue]});
}

Result<Done> Captures::join(StreamQueue& queue, CapturePoint const& point)
{
    std::scoped_lock const lock{mMutex};
    void const* const handle = &queue;
    std::shared_ptr<Capture> const own = find(queue);
    if (point.capture->isOver)
    {
        if (own != nullptr)
            own->isInvalid = true;
        return captureError(CaptureProblem::kOver,
            fmt::format("stream {} cannot wait for an event that was last recorded in a capture that is over", handle));
    }
    if (own != nullptr && own != point.capture)
    {
        own->isInvalid = true;
        point.capture->isInvalid = true;
        return captureError(
            CaptureProblem::kMerge, fmt::format("stream {} is part of one capture and the event of another", handle));
    }
    if (point.capture->isInvalid)
        return captureError(CaptureProblem::kInvalidated, "the capture that the event belongs to is no longer valid");
    if (own == nullptr)
    {
        point.capture->known[&queue][&queue] = 0;
        enter(queue, point.capture);
    }
    merge(point.capture->known[&queue], point.before);
    return Done{};
}

void Captures::invalidate(StreamQueue const& queue)
{
    std::scoped_lock const lock{mMutex};
    if (std::shared_ptr<Capture> const capture = find(queue); capture != nullptr)
        capture->isInvalid = true;
}

bool Captures::invalidate(CapturePoint const& point)
{
    std::scoped_lock const lock{mMutex};
    point.capture->isInvalid = true;
    return !point.capture->isOver;
}

bool Captures::invalidateBlocking()
{
    if (gCapturingBlocking.load(std::memory_order_acquire) == 0)
        return false;
    std::scoped_lock const lock{mMutex};
    bool isAny{false};
    for (auto const& [queue, capture] : mStreams)
        if (queue->kind() == StreamKind::kBlocking)
        {
            capture->isInvalid = true;
            isAny = true;
        }
    return isAny;
}

void Captures::invalidateAll()
{
    std::scoped_lock const lock{mMutex};
    for (auto const& [queue, capture] : mStreams)
        capture->isInvalid = true;
}

void Captures::forget(StreamQueue const& queue)
{
    if (!isAny())
        return;
    DeadSteps dead;
    std::scoped_lock const lock{mMutex};
    std::shared_ptr<Capture> const capture = find(queue);
    if (capture == nullptr)
        return;
    capture->isInvalid = true;
    if (capture->origin == &queue)
    {
        dead.steps = over(*capture);
        return;
    }
    mStreams.erase(&queue);
    --gCapturing;
    if (queue.kind() == StreamKind::kBlocking)
        --gCapturingBlocking;
}

void Captures::lockForFork()
{
    mMutex.lock();
}

void Captures::unlockInParent()
{
    mMutex.unlock();
}

void Captures::unlockInChild()
{
    std::construct_at(&mMutex);
}

Replay::Replay(GraphSteps const& steps) noexcept
    : mBefore{std::exchange(tReplay, &steps)}
{
}

Replay::~Replay()
{
    tReplay = mBefore;
}

bool Replay::has(void const* stream) noexcept
{
    return tReplay != nullptr && std::ranges::find(tReplay->streams, stream) != tReplay->streams.end();
}

bool Replay::isAny() noexcept
{
    return tReplay != nullptr;
}

} // namespace tenon::host
