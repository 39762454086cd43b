// Captures and graphs of the host: work that streams record instead of doing it, to be repeated later.
#pragma once

#include "device/host/streams.h"

namespace tenon::host
{

//! Which threads may end a capture: the one that began it, or any (kRelaxed).
enum class CaptureMode : uint8_t
{
    kGlobal,
    kThreadLocal,
    kRelaxed,
};

enum class CaptureState : uint8_t
{
    kNone,
    kActive,
    kInvalid,
};

//! Which rule of captures an error is about.
enum class CaptureProblem : uint8_t
{
    kNone,
    kUnsupported,   //!< Not while capturing.
    kInvalidated,   //!< The capture was spoilt by an earlier mistake.
    kMerge,         //!< Two captures would become one.
    kUnmatched,     //!< Ended on another stream than it began on.
    kUnjoined,      //!< A stream that was drawn in was not joined again.
    kIsolation,     //!< Would depend on work outside of the capture.
    kImplicit,      //!< The legacy stream while a blocking stream is captured.
    kCapturedEvent, //!< The event was recorded in a capture: nothing to wait for.
    kWrongThread,
    kTwice, //!< Begun where one is under way, or ended where none is.
    kOver,  //!< The event was recorded in a capture that has ended.
};

//! Of the last error of this kind in the calling thread; kNone after it was asked for.
CaptureProblem takeCaptureProblem() noexcept;

//! From now on work for the stream is recorded.
Result<Done> beginCapture(void* stream, CaptureMode mode);
//! What was recorded, as a graph. The capture is over also when this fails, but for kUnmatched.
Result<void*> endCapture(void* stream);
struct CaptureInfo
{
    CaptureState state{CaptureState::kNone};
    uint64_t id{0};
};
Result<CaptureInfo> captureInfo(void const* stream);

Result<void*> createGraph();
Result<void*> cloneGraph(void const* graph);
Result<size_t> graphSize(void const* graph); //!< Steps.
Result<Done> destroyGraph(void* graph);
//! The graph in the form that can be launched.
Result<void*> instantiateGraph(void const* graph);
//! Launches from now on repeat this graph instead.
Result<Done> updateExecutable(void* executable, void const* graph);
Result<Done> destroyExecutable(void* executable);
Result<Done> checkExecutable(void const* executable);
//! Puts all steps into the stream, in order. A failing step does not keep later ones from running; the first failure
//! is the stream's. They begin when all earlier launches of the executable are done, on whatever stream; but a launch
//! that runs within other work is a part of that, and one into a capture a copy of the graph: these wait for none.
Result<Done> launchGraph(void* executable, void* stream);
//! Waits until those that were launched are over, as long as `mayContinue` says so; false: it said no. Within a
//! stream's work it waits for nobody.
Result<bool> awaitLaunches(void* executable, ContinueCheck const& mayContinue);

} // namespace tenon::host
