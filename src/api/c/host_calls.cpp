// C functions: streams, events and graphs of the host.
#include "api/c/host_status.h"
#include "base/thread_text.h"
#include "device/host/events.h"
#include "device/host/host_device.h"
#include "device/host/streams.h"

#include <memory>

namespace tenon::api
{

namespace
{
using LastProblem = ThreadText<struct HostProblem>;

TenonHostStatus statusOf(host::CaptureProblem problem) noexcept
{
    switch (problem)
    {
    case host::CaptureProblem::kNone: break;
    case host::CaptureProblem::kUnsupported: return TENON_HOST_CAPTURE_UNSUPPORTED;
    case host::CaptureProblem::kInvalidated: return TENON_HOST_CAPTURE_INVALIDATED;
    case host::CaptureProblem::kMerge: return TENON_HOST_CAPTURE_MERGE;
    case host::CaptureProblem::kUnmatched: return TENON_HOST_CAPTURE_UNMATCHED;
    case host::CaptureProblem::kUnjoined: return TENON_HOST_CAPTURE_UNJOINED;
    case host::CaptureProblem::kIsolation: return TENON_HOST_CAPTURE_ISOLATION;
    case host::CaptureProblem::kImplicit: return TENON_HOST_CAPTURE_IMPLICIT;
    case host::CaptureProblem::kCapturedEvent: return TENON_HOST_CAPTURED_EVENT;
    case host::CaptureProblem::kWrongThread: return TENON_HOST_CAPTURE_WRONG_THREAD;
    case host::CaptureProblem::kTwice: return TENON_HOST_TWICE;
    case host::CaptureProblem::kOver: return TENON_HOST_BAD_ARGUMENT;
    }
    return TENON_HOST_OK;
}

host::EventUse useOf(int32_t isInGraph) noexcept
{
    return isInGraph != 0 ? host::EventUse::kInGraph : host::EventUse::kOrder;
}

//! The program's work and what it needs, as long as a stream or a graph may still ask for it.
host::Work workOf(TenonHostWork work, void* user, TenonHostRelease release)
{
    std::shared_ptr<void> const kept{user, [release](void* own) {
                                         if (release != nullptr)
                                             release(own);
                                     }};
    return [work, kept]() -> Result<Done> {
        if (int32_t const status = work(kept.get()); status != 0)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "work of the program failed with {}", status);
        return Done{};
    };
}

//! A wait that asks the program whether to go on; false: it said no.
template <typename Wait>
TenonHostStatus awaiting(TenonContinueCheck mayContinue, void* user, Wait&& wait) noexcept
{
    if (mayContinue == nullptr)
        return problem(TENON_HOST_BAD_ARGUMENT, "there is nobody to ask whether to go on waiting: a pointer is null");
    return hostQuestion(
        TENON_HOST_BAD_HANDLE, [&]() -> Result<bool> { return wait([=] { return mayContinue(user) != 0; }); });
}

//! A live stream, so that whatever fails after this is not about the handle.
template <typename Work>
TenonHostStatus onStream(void* stream, Work&& work) noexcept
{
    TenonHostStatus const status = hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::checkStream(stream); });
    // Captures that the call is about to spoil are for the call itself to name.
    return status == TENON_HOST_OK || status == TENON_HOST_CAPTURE_IMPLICIT ? work() : status;
}
} // namespace

TenonHostStatus problem(TenonHostStatus status, std::string message) noexcept
{
    if (std::string* const text = LastProblem::get())
        *text = std::move(message);
    return status;
}

TenonHostStatus statusOf(Error error, TenonHostStatus rest) noexcept
{
    TenonHostStatus status = rest;
    if (error.code == ErrorCode::kFAILED_ALLOCATION)
        status = TENON_HOST_OUT_OF_MEMORY;
    if (error.code == ErrorCode::kINVALID_STATE)
        if (TenonHostStatus const capture = statusOf(host::takeCaptureProblem()); capture != TENON_HOST_OK)
            status = capture;
    return problem(status, std::move(error.message));
}

} // namespace tenon::api

using namespace tenon;
using namespace tenon::api;

char const* tenonHostProblem() noexcept
{
    std::string const* const text = LastProblem::get();
    return text == nullptr ? "" : text->c_str();
}

TenonHostStatus tenonHostCreateStream(void** stream, int32_t isBlocking, int32_t priority) noexcept
{
    auto const kind = isBlocking != 0 ? host::StreamKind::kBlocking : host::StreamKind::kNonBlocking;
    return hostValue(stream, TENON_HOST_SYSTEM, [&] { return host::createStream(kind, priority); });
}

TenonHostStatus tenonHostDestroyStream(void* stream) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::destroyStream(stream); });
}

TenonHostStatus tenonHostGetStream(void* stream, TenonHostStream* properties) noexcept
{
    return hostValue(properties, TENON_HOST_BAD_HANDLE, [&]() -> Result<TenonHostStream> {
        TenonHostStream answer{};
        answer.isBlocking = TENON_TRY(host::streamKind(stream)) == host::StreamKind::kBlocking ? 1 : 0;
        answer.priority = TENON_TRY(host::streamPriority(stream));
        answer.id = TENON_TRY(host::streamId(stream));
        host::CaptureInfo const capture = TENON_TRY(host::captureInfo(stream));
        answer.isCapturing = static_cast<int32_t>(capture.state);
        answer.captureId = capture.id;
        return answer;
    });
}

TenonHostStatus tenonHostSynchronizeStream(void* stream) noexcept
{
    return onStream(stream, [&] { return hostCall(TENON_HOST_FAILED, [&] { return host::synchronize(stream); }); });
}

TenonHostStatus tenonHostAwaitStream(void* stream, TenonContinueCheck mayContinue, void* user) noexcept
{
    return awaiting(mayContinue, user, [&](ContinueCheck const& asked) { return host::await(stream, asked); });
}

TenonHostStatus tenonHostAwaitAll(TenonContinueCheck mayContinue, void* user) noexcept
{
    return awaiting(mayContinue, user, [&](ContinueCheck const& asked) { return host::awaitAll(asked); });
}

TenonHostStatus tenonHostQueryStream(void* stream) noexcept
{
    return onStream(stream, [&] { return hostQuestion(TENON_HOST_FAILED, [&] { return host::isIdle(stream); }); });
}

TenonHostStatus tenonHostSynchronizeAll() noexcept
{
    return hostCall(TENON_HOST_FAILED, [] { return host::synchronizeAll(); });
}

void tenonHostAnswersCudaCalls() noexcept
{
    host::answerCudaCalls();
}

void tenonHostDrainAll() noexcept
{
    host::drainAll();
}

TenonHostStatus tenonHostSubmit(void* stream, TenonHostWork work, void* user, TenonHostRelease release) noexcept
{
    return hostCall(TENON_HOST_FAILED, [&]() -> Result<Done> {
        host::Work own = workOf(work, user, release); // First: `release` is called whatever happens.
        if (work == nullptr)
            return badArgument("there is no work: a pointer is null");
        return host::submit(stream, std::move(own));
    });
}

TenonHostStatus tenonHostCreateEvent(void** event, int32_t hasTiming) noexcept
{
    return hostValue(event, TENON_HOST_SYSTEM, [&] { return host::createEvent(hasTiming != 0); });
}

TenonHostStatus tenonHostDestroyEvent(void* event) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::destroyEvent(event); });
}

TenonHostStatus tenonHostRecordEvent(void* event, void* stream, int32_t isInGraph) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::recordEvent(event, stream, useOf(isInGraph)); });
}

TenonHostStatus tenonHostWaitEvent(void* stream, void* event, int32_t isInGraph) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::waitEvent(stream, event, useOf(isInGraph)); });
}

TenonHostStatus tenonHostQueryEvent(void* event) noexcept
{
    return hostQuestion(TENON_HOST_BAD_HANDLE, [&] { return host::isDone(event); });
}

TenonHostStatus tenonHostSynchronizeEvent(void* event) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::synchronizeEvent(event); });
}

TenonHostStatus tenonHostAwaitEvent(void* event, TenonContinueCheck mayContinue, void* user) noexcept
{
    return awaiting(mayContinue, user, [&](ContinueCheck const& asked) { return host::awaitEvent(event, asked); });
}

TenonHostStatus tenonHostElapsed(float* milliseconds, void* start, void* end) noexcept
{
    TenonHostStatus const status =
        hostValue(milliseconds, TENON_HOST_BAD_HANDLE, [&] { return host::elapsedMilliseconds(start, end); });
    if (status != TENON_HOST_BAD_HANDLE)
        return status;
    for (void* const event : {start, end}) // Alive and timed, but not done yet?
    {
        Result<bool> const timed = host::hasTiming(event);
        Result<bool> const done = host::isDone(event);
        if (timed && *timed && done && !*done)
            return TENON_HOST_NOT_READY;
    }
    return status;
}

TenonHostStatus tenonHostBeginCapture(void* stream, int32_t mode) noexcept
{
    if (mode < TENON_HOST_CAPTURE_GLOBAL || mode > TENON_HOST_CAPTURE_RELAXED)
        return problem(TENON_HOST_BAD_ARGUMENT, fmt::format("{} is no mode of captures", mode));
    return hostCall(
        TENON_HOST_BAD_HANDLE, [&] { return host::beginCapture(stream, static_cast<host::CaptureMode>(mode)); });
}

TenonHostStatus tenonHostEndCapture(void* stream, void** graph) noexcept
{
    return hostValue(graph, TENON_HOST_BAD_HANDLE, [&] { return host::endCapture(stream); });
}

TenonHostStatus tenonHostCreateGraph(void** graph) noexcept
{
    return hostValue(graph, TENON_HOST_SYSTEM, [] { return host::createGraph(); });
}

TenonHostStatus tenonHostCloneGraph(void** graph, void* original) noexcept
{
    return hostValue(graph, TENON_HOST_BAD_HANDLE, [&] { return host::cloneGraph(original); });
}

TenonHostStatus tenonHostGraphSize(void* graph, uint64_t* steps) noexcept
{
    return hostValue(steps, TENON_HOST_BAD_HANDLE, [&] { return host::graphSize(graph); });
}

TenonHostStatus tenonHostDestroyGraph(void* graph) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::destroyGraph(graph); });
}

TenonHostStatus tenonHostInstantiateGraph(void** executable, void* graph) noexcept
{
    return hostValue(executable, TENON_HOST_BAD_HANDLE, [&] { return host::instantiateGraph(graph); });
}

TenonHostStatus tenonHostUpdateExecutable(void* executable, void* graph) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::updateExecutable(executable, graph); });
}

TenonHostStatus tenonHostCheckExecutable(void* executable) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::checkExecutable(executable); });
}

TenonHostStatus tenonHostDestroyExecutable(void* executable) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::destroyExecutable(executable); });
}

TenonHostStatus tenonHostAwaitLaunches(void* executable, TenonContinueCheck mayContinue, void* user) noexcept
{
    return awaiting(
        mayContinue, user, [&](ContinueCheck const& asked) { return host::awaitLaunches(executable, asked); });
}

TenonHostStatus tenonHostLaunchGraph(void* executable, void* stream) noexcept
{
    TenonHostStatus const status = tenonHostCheckExecutable(executable);
    if (status != TENON_HOST_OK)
        return status;
    return onStream(
        stream, [&] { return hostCall(TENON_HOST_FAILED, [&] { return host::launchGraph(executable, stream); }); });
}
