// C functions: memory of the host, copies in the order of streams, and the machine as a device.
#include "api/c/host_status.h"
#include "base/cpus.h"
#include "base/isa.h"
#include "device/host/memory.h"
#include "device/host/streams.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

using namespace tenon;
using namespace tenon::api;

namespace
{
bool isEmpty(TenonHostExtent const& extent) noexcept
{
    return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

char* rowOf(TenonHostBlock const& block, uint64_t slice, uint64_t row) noexcept
{
    return static_cast<char*>(block.data) + slice * block.slice + row * block.pitch;
}

//! Calls `each` for every row.
template <typename Each>
void forRows(TenonHostExtent const& extent, Each&& each)
{
    for (uint64_t slice = 0; slice < extent.depth; ++slice)
        for (uint64_t row = 0; row < extent.height; ++row)
            each(slice, row);
}

TenonHostStatus checkBlock(TenonHostBlock const& block, TenonHostExtent const& extent)
{
    if (block.data == nullptr)
        return problem(TENON_HOST_BAD_ARGUMENT, "the memory of a copy is null");
    if (extent.height > 1 && block.pitch < extent.width)
        return problem(TENON_HOST_BAD_ARGUMENT,
            fmt::format("rows of {} bytes do not fit a pitch of {}", extent.width, block.pitch));
    return TENON_HOST_OK;
}

TenonHostStatus submitted(void* stream, host::Work work) noexcept
{
    TenonHostStatus const status = hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::checkStream(stream); });
    if (status != TENON_HOST_OK && status != TENON_HOST_CAPTURE_IMPLICIT)
        return status;
    return hostCall(TENON_HOST_FAILED, [&] { return host::submit(stream, std::move(work)); });
}

//! The highest clock that the system tells of, in kHz; 0: it does not.
int32_t clockKhz()
{
    if (std::ifstream file{"/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"}; file)
    {
        int32_t khz{0};
        if (file >> khz)
            return khz;
    }
    std::ifstream info{"/proc/cpuinfo"};
    for (std::string line; std::getline(info, line);)
        if (line.rfind("cpu MHz", 0) == 0)
            if (size_t const colon = line.find(": "); colon != std::string::npos)
                return static_cast<int32_t>(std::strtod(line.c_str() + colon + 2, nullptr) * 1000.0);
    return 0;
}

//! Of the last level that the system lists for the first CPU.
int32_t lastCacheBytes()
{
    int32_t bytes{0};
    for (int index = 0; index < 8; ++index)
    {
        std::ifstream file{fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index)};
        int32_t number{0};
        char unit{'K'};
        if (file >> number >> unit)
            bytes = std::max(bytes, number * (unit == 'M' ? 1 << 20 : 1 << 10));
    }
    return bytes;
}

TenonHostDevice describeMachine()
{
    TenonHostDevice device{};
    std::string const model = cpuModel();
    std::copy_n(model.data(), std::min(model.size(), sizeof(device.name) - 1), device.name);
    device.memoryBytes = host::memoryLimits().total;
    device.cores = usableCpus();
    device.clockKhz = clockKhz();
    device.lastCacheBytes = lastCacheBytes();
    return device;
}
} // namespace

TenonHostStatus tenonHostAllocate(void** memory, uint64_t bytes, int32_t kind, uint32_t flags) noexcept
{
    if (kind < TENON_HOST_DEVICE || kind > TENON_HOST_MANAGED)
        return problem(TENON_HOST_BAD_ARGUMENT, fmt::format("{} is no kind of memory", kind));
    return hostValue(memory, TENON_HOST_OUT_OF_MEMORY,
        [&] { return host::allocateMemory(bytes, static_cast<host::MemoryKind>(kind), flags); });
}

TenonHostStatus tenonHostFree(void* memory) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::freeMemory(memory); });
}

TenonHostStatus tenonHostFreeAsync(void* memory, void* stream) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::freeMemoryLater(memory, stream); });
}

TenonHostStatus tenonHostRegister(void* memory, uint64_t bytes, uint32_t flags) noexcept
{
    if (memory == nullptr || bytes == 0)
        return problem(TENON_HOST_BAD_ARGUMENT, "there is no memory to register");
    if (bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(memory))
        return problem(TENON_HOST_BAD_ARGUMENT, fmt::format("no memory has {} bytes from {} on", bytes, memory));
    return hostCall(TENON_HOST_TWICE, [&] { return host::registerMemory(memory, bytes, flags); });
}

TenonHostStatus tenonHostUnregister(void* memory) noexcept
{
    return hostCall(TENON_HOST_BAD_HANDLE, [&] { return host::unregisterMemory(memory); });
}

void tenonHostFind(void const* address, TenonHostMemory* memory) noexcept
{
    host::Memory const found = host::findMemory(address);
    *memory = {found.base, found.bytes, static_cast<TenonHostKind>(found.kind), found.flags};
}

void tenonHostMemoryInfo(uint64_t* free, uint64_t* total) noexcept
{
    host::MemoryLimits limits;
    hostValue(&limits, TENON_HOST_SYSTEM, [] { return Result<host::MemoryLimits>{host::memoryLimits()}; });
    *free = limits.free;
    *total = limits.total;
}

TenonHostStatus tenonHostCopy(void* to, void const* from, uint64_t bytes, void* stream) noexcept
{
    TenonHostExtent const extent{bytes, 1, 1};
    return tenonHostCopyBlock({to, bytes, bytes}, {const_cast<void*>(from), bytes, bytes}, extent, stream);
}

TenonHostStatus tenonHostCopyBlock(
    TenonHostBlock to, TenonHostBlock from, TenonHostExtent extent, void* stream) noexcept
{
    if (!isEmpty(extent))
        for (TenonHostBlock const& block : {to, from})
            if (TenonHostStatus const status = checkBlock(block, extent); status != TENON_HOST_OK)
                return status;
    return submitted(stream, [to, from, extent]() -> Result<Done> {
        if (!isEmpty(extent))
            forRows(extent, [&](uint64_t slice, uint64_t row) {
                std::memmove(rowOf(to, slice, row), rowOf(from, slice, row), extent.width);
            });
        return Done{};
    });
}

TenonHostStatus tenonHostFill(TenonHostBlock to, int32_t value, TenonHostExtent extent, void* stream) noexcept
{
    if (!isEmpty(extent))
        if (TenonHostStatus const status = checkBlock(to, extent); status != TENON_HOST_OK)
            return status;
    return submitted(stream, [to, value, extent]() -> Result<Done> {
        if (!isEmpty(extent))
            forRows(
                extent, [&](uint64_t slice, uint64_t row) { std::memset(rowOf(to, slice, row), value, extent.width); });
        return Done{};
    });
}

void tenonHostGetDevice(TenonHostDevice* device) noexcept
{
    static TenonHostDevice const machine = describeMachine();
    *device = machine;
}
