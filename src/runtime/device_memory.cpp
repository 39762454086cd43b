// DeviceMemory: allocation and release.
#include "runtime/device_memory.h"

#include "base/explanation.h"

namespace tenon
{

namespace
{
void* allocateFrom(MemorySource const& source, uint64_t bytes) noexcept
{
    if (source.place == Place::kHost)
        return source.device->allocateHost(bytes);
    if (source.allocator == nullptr)
        return source.device->allocate(bytes);
    forgetExplanation();
    return source.allocator->allocateAsync(
        bytes, source.device->alignment(), 0U, static_cast<cudaStream_t>(source.stream));
}
} // namespace

Result<DeviceMemory> DeviceMemory::allocate(MemorySource source, int64_t bytes, std::string_view what)
{
    DeviceMemory memory;
    memory.mSource = source;
    if (bytes < 0)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "{} bytes for {}: more than can be counted", bytes, what);
    if (bytes == 0)
        return memory;
    memory.mData = allocateFrom(source, static_cast<uint64_t>(bytes));
    memory.mBytes = bytes;
    if (memory.mData == nullptr)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "no {} bytes for {} on {}: {}", bytes, what,
            source.device->name(),
            source.place == Place::kHost      ? "the host has none"
                : source.allocator == nullptr ? "the device gave none"
                                              : "the allocator of the user gave none" + because());
    forgetExplanation();
    if (source.place == Place::kHost)
        return memory;
    if (reinterpret_cast<uintptr_t>(memory.mData) % source.device->alignment() != 0)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "the allocator of the user gave {} for {}, not aligned to {}",
            memory.mData, what, source.device->alignment());
    return memory;
}

void DeviceMemory::release() noexcept
{
    if (mData == nullptr)
        return;
    if (mSource.place == Place::kHost)
        mSource.device->releaseHost(mData);
    else if (mSource.allocator == nullptr)
        mSource.device->release(mData);
    else
    {
        mSource.allocator->deallocateAsync(mData, static_cast<cudaStream_t>(mSource.stream));
        forgetExplanation(); // Nothing fails with it.
    }
    mData = nullptr;
    mBytes = 0;
}

} // namespace tenon
