// Memory of the host by address: which allocations are live, what they are for, and how much there still is.
#pragma once

#include "base/result.h"

namespace tenon::host
{

enum class MemoryKind : uint8_t
{
    kUnknown,
    kDevice,
    kPinned,
    kManaged,
    kRegistered, //!< The program's own.
};

struct Memory
{
    void* base{nullptr};
    uint64_t bytes{0};
    MemoryKind kind{MemoryKind::kUnknown};
    uint32_t flags{0};
};

inline constexpr size_t kMemoryAlignment{256};

//! Null for no bytes; an error when there is not enough.
Result<void*> allocateMemory(uint64_t bytes, MemoryKind kind, uint32_t flags);
//! Waits for all streams first; in a stream's own thread the memory goes when their work is done. Null is allowed.
Result<Done> freeMemory(void* memory);
//! When the work that stands in the stream is done; captured, when the graph goes.
Result<Done> freeMemoryLater(void* memory, void* stream);
Result<Done> registerMemory(void* memory, uint64_t bytes, uint32_t flags);
//! Waits for all streams first, but not in a stream's own thread.
Result<Done> unregisterMemory(void* memory);
//! The allocation that holds the address; of kind kUnknown when none does.
Memory findMemory(void const* address);

struct MemoryLimits
{
    uint64_t free{0};
    uint64_t total{0};
};
//! Of the machine or of the control group, whichever is less.
MemoryLimits memoryLimits();

void lockMemoryForFork();
void unlockMemoryInParent();
void resetMemoryInChild();

} // namespace tenon::host
