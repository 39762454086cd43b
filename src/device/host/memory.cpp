// Memory of the host: the table of live allocations, and what the system says is left.
#include "device/host/memory.h"

#include "device/host/stream_table.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>

namespace tenon::host
{

namespace
{
struct MemoryTable
{
    std::shared_mutex mutex;
    std::map<uintptr_t, Memory> live;
};

MemoryTable& table() noexcept
{
    static auto* const all = new MemoryTable; // Never destroyed: work of streams may free memory late.
    return *all;
}

struct Free
{
    void operator()(void* memory) const noexcept
    {
        std::free(memory);
    }
};

//! Where the allocation stands in the table, which the caller has locked.
Result<std::map<uintptr_t, Memory>::iterator> findAllocated(void* memory)
{
    auto const found = table().live.find(reinterpret_cast<uintptr_t>(memory));
    if (found == table().live.end() || found->second.kind == MemoryKind::kRegistered)
        return badArgument("{} is not the start of an allocation that is live", memory);
    return found;
}

Result<Done> checkAllocated(void* memory)
{
    std::shared_lock const lock{table().mutex};
    TENON_TRY(findAllocated(memory));
    return Done{};
}

//! Takes the allocation out of the table: it is the caller's to free.
Result<std::unique_ptr<void, Free>> take(void* memory)
{
    std::unique_lock const lock{table().mutex};
    table().live.erase(TENON_TRY(findAllocated(memory)));
    return std::unique_ptr<void, Free>{memory};
}

uint64_t numberIn(char const* path)
{
    std::ifstream file{path};
    uint64_t number{0};
    return file >> number ? number : std::numeric_limits<uint64_t>::max(); // "max", or no such file.
}

MemoryLimits limitsOfMachine()
{
    std::ifstream info{"/proc/meminfo"};
    MemoryLimits limits;
    std::string name;
    std::string rest;
    for (uint64_t kibibytes{0}; info >> name >> kibibytes; std::getline(info, rest))
    {
        if (name == "MemTotal:")
            limits.total = kibibytes * 1024;
        if (name == "MemAvailable:")
            limits.free = kibibytes * 1024;
    }
    return limits;
}
} // namespace

Result<void*> allocateMemory(uint64_t bytes, MemoryKind kind, uint32_t flags)
{
    if (bytes == 0)
        return nullptr;
    uint64_t const rounded = (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
    // The system promises more than it has; what can never be had is refused as a device would.
    bool const isTooMuch = rounded < bytes || (bytes > (uint64_t{1} << 28) && bytes > memoryLimits().total);
    void* const memory = isTooMuch ? nullptr : std::aligned_alloc(kMemoryAlignment, rounded);
    if (memory == nullptr)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "{} bytes of memory cannot be had", bytes);
    std::unique_lock const lock{table().mutex};
    table().live[reinterpret_cast<uintptr_t>(memory)] = Memory{memory, bytes, kind, flags};
    return memory;
}

Result<Done> freeMemory(void* memory)
{
    if (memory == nullptr)
        return Done{};
    drainAll();
    std::shared_ptr<void> const taken = TENON_TRY(take(memory));
    if (isWorking())
        keepUntilDrained(taken); // A stream's own thread has waited for nobody.
    return Done{};
}

Result<Done> freeMemoryLater(void* memory, void* stream)
{
    if (memory == nullptr)
        return Done{};
    TENON_TRY(checkStream(stream));
    TENON_TRY(checkAllocated(memory));
    // Freed with the work, or here when that is over already; not at all when the stream takes no work.
    auto const kept = std::make_shared<std::unique_ptr<void, Free>>();
    TENON_TRY(submit(stream, [kept]() -> Result<Done> { return Done{}; }));
    *kept = TENON_TRY(take(memory));
    return Done{};
}

Result<Done> registerMemory(void* memory, uint64_t bytes, uint32_t flags)
{
    if (memory == nullptr || bytes == 0)
        return badConfig("no memory to register");
    auto const begin = reinterpret_cast<uintptr_t>(memory);
    std::unique_lock const lock{table().mutex};
    auto const after = table().live.lower_bound(begin + bytes);
    if (after != table().live.begin())
        if (auto const& [base, before] = *std::prev(after); base + before.bytes > begin)
            return errorOf(ErrorCode::kINVALID_STATE, "{} overlaps memory that is in the table already", memory);
    table().live[begin] = Memory{memory, bytes, MemoryKind::kRegistered, flags};
    return Done{};
}

Result<Done> unregisterMemory(void* memory)
{
    drainAll();
    std::unique_lock const lock{table().mutex};
    auto const found = table().live.find(reinterpret_cast<uintptr_t>(memory));
    if (found == table().live.end() || found->second.kind != MemoryKind::kRegistered)
        return badArgument("{} is not the start of memory that was registered", memory);
    table().live.erase(found);
    return Done{};
}

Memory findMemory(void const* address)
{
    auto const at = reinterpret_cast<uintptr_t>(address);
    std::shared_lock const lock{table().mutex};
    auto const after = table().live.upper_bound(at);
    if (after == table().live.begin())
        return {};
    auto const& [base, memory] = *std::prev(after);
    return at < base + memory.bytes ? memory : Memory{};
}

MemoryLimits memoryLimits()
{
    MemoryLimits limits = limitsOfMachine();
    uint64_t const cap =
        std::min(numberIn("/sys/fs/cgroup/memory.max"), numberIn("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    if (cap >= limits.total)
        return limits;
    uint64_t const used =
        std::min(numberIn("/sys/fs/cgroup/memory.current"), numberIn("/sys/fs/cgroup/memory/memory.usage_in_bytes"));
    limits.total = cap;
    limits.free = std::min(limits.free, used < cap ? cap - used : 0);
    return limits;
}

void lockMemoryForFork()
{
    table().mutex.lock();
}

void unlockMemoryInParent()
{
    table().mutex.unlock();
}

void resetMemoryInChild()
{
    std::construct_at(&table().mutex);
}

} // namespace tenon::host
