// The streams of this process by handle: for the parts of the host's run-time, not for its users.
#pragma once

#include "device/host/handle_table.h"
#include "device/host/stream_queue.h"

namespace tenon::host
{

inline constexpr uintptr_t kLegacyStream{1};
inline constexpr uintptr_t kPerThreadStream{2};

//! 0 and 1.
inline bool isLegacy(void const* stream) noexcept
{
    return reinterpret_cast<uintptr_t>(stream) <= kLegacyStream;
}

HandleTable<StreamQueue>& streamTable() noexcept;
//! The queue of a handle beyond 1; for 2 the calling thread's own, made at first use.
Result<std::shared_ptr<StreamQueue>> findQueue(void const* stream);
//! An error while a blocking stream captures, whose capture it invalidates.
Result<Done> useLegacy();

//! Held around fork() by fork.cpp.
void lockEventsForFork();
void unlockEventsInParent();
void resetEventsInChild();
void lockGraphsForFork();
void unlockGraphsInParent();
void resetGraphsInChild();

} // namespace tenon::host
