// Streams of the host: in-order queues with a thread each, known by handles that programs pass as cudaStream_t.
#pragma once

#include "base/continue_check.h"
#include "base/result.h"

#include <memory>

namespace tenon::host
{

//! Work of a stream. A failure stays with the stream until its next synchronize or query.
using Work = std::function<Result<Done>()>;

//! Whether a stream takes part in the order of the legacy stream (handles 0 and 1).
enum class StreamKind : uint8_t
{
    kBlocking,
    kNonBlocking,
};

Result<void*> createStream(StreamKind kind, int32_t priority = 0);
//! The handle ends now, and the work that stands in the stream is still done: nobody waits for it here. What waits for
//! all streams waits for such, too; their failures are nobody's. A handle that is not live is an error.
Result<Done> destroyStream(void* stream);
//! Asked before the stream is used: 0, 1, 2 (a queue of each thread's own) and live handles are good; others are an
//! error that names the handle. 0 and 1 are an error, too, while a blocking stream captures, and spoil the capture.
Result<Done> checkStream(void const* stream);
Result<StreamKind> streamKind(void const* stream); //!< 0, 1 and 2 are blocking.
Result<int32_t> streamPriority(void const* stream);
//! A number that no other stream of the process has or had.
Result<uint64_t> streamId(void const* stream);

//! True when work for the stream runs in the calling thread at once: streams 0 and 1, and any stream for its own thread
//! (what a custom layer puts on its stream runs before the next step).
bool isImmediate(void const* stream) noexcept;
//! What work that isImmediate does first. On streams 0 and 1: waits for all work on blocking streams, but not in a
//! stream's own thread; an error while a blocking stream captures. Nothing on others.
Result<Done> startNow(void const* stream);
//! The same as long as `mayContinue` says so; false: it said no.
Result<bool> startNow(void const* stream, ContinueCheck const& mayContinue);

//! Runs the work in order: at once where isImmediate (after startNow; a failure is returned), recorded when the
//! stream is capturing, else later on the stream's thread.
Result<Done> submit(void* stream, Work work);
//! Waits for all work of the stream; returns a failure of it once. Not possible while capturing.
Result<Done> synchronize(void* stream);
//! Waits as synchronize() does, as long as `mayContinue` says so; false: it said no. Failures stay with the stream.
//! Where synchronize() has an error, because something captures, nothing is waited for.
Result<bool> await(void* stream, ContinueCheck const& mayContinue);
//! The same for every stream of the process.
bool awaitAll(ContinueCheck const& mayContinue);
//! False while work stands in the stream; a failure is returned once.
Result<bool> isIdle(void* stream);
//! Whether what is submitted now would wait for earlier work or be recorded. Takes no failure.
Result<bool> hasWork(void* stream);
bool isCapturing(void const* stream) noexcept;
//! Whether the calling thread does a stream's work.
bool isWorking() noexcept;
//! Waits for every stream of the process; returns the first failure found, once. In a stream's own thread it waits for
//! none. Not possible while any stream captures.
Result<Done> synchronizeAll();
//! Waits for every stream without taking failures, whatever captures; for what is about to free memory.
void drainAll() noexcept;
//! Keeps the object until all work is done that stands in any stream now; for who may not wait, as a stream's own
//! thread.
void keepUntilDrained(std::shared_ptr<void> const& object);

} // namespace tenon::host
