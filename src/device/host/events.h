// Events of the host: fences in streams, known by handles that programs pass as cudaEvent_t.
#pragma once

#include "device/host/streams.h"

namespace tenon::host
{

Result<void*> createEvent(bool hasTiming = true);
Result<Done> destroyEvent(void* event);
//! Live handles; others are an error that names the handle.
Result<Done> checkEvent(void const* event);

//! Whether a graph keeps a record or a wait as a step on the event itself (kInGraph), or only for the order of the
//! streams that are captured. Outside of captures both are the same.
enum class EventUse : uint8_t
{
    kOrder,
    kInGraph,
};

//! Marks the present end of the stream's work.
Result<Done> recordEvent(void* event, void* stream, EventUse use = EventUse::kOrder);
//! Holds the stream until what the event marks now is done. An event recorded while a stream was captured draws
//! this stream into the same capture.
Result<Done> waitEvent(void* stream, void* event, EventUse use = EventUse::kOrder);
//! True when what it marks is done; so is an event that never was recorded.
Result<bool> isDone(void* event);
Result<Done> synchronizeEvent(void* event);
Result<bool> hasTiming(void const* event);
//! Waits as synchronizeEvent() does, as long as `mayContinue` says so; false: it said no.
Result<bool> awaitEvent(void* event, ContinueCheck const& mayContinue);
//! The event is done from now on, without regard to any stream: for who does the work that it stands behind.
Result<Done> markNow(void* event);
//! Between two events with timing, both done.
Result<float> elapsedMilliseconds(void* start, void* end);

} // namespace tenon::host
