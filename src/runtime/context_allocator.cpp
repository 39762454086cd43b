// ContextAllocator: blocks by address.
#include "runtime/context_allocator.h"

#include "base/explanation.h"

#include <exception>

namespace tenon
{

ContextAllocator::ContextAllocator(MemorySource source)
    : mSource{source}
{
}

void* ContextAllocator::allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags) noexcept
{
    bool const isPowerOfTwo = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (size == 0 || size > static_cast<uint64_t>(INT64_MAX) / 4 || (alignment != 0 && !isPowerOfTwo)
        || alignment > (uint64_t{1} << 30))
        return nullptr;
    try
    {
        uint64_t const given = mSource.device->alignment();
        uint64_t const extra = alignment > given ? alignment : 0;
        auto memory = DeviceMemory::allocate(mSource, static_cast<int64_t>(size + extra), "a custom layer");
        if (!memory)
        {
            explain(memory.error().message); // For the message about the custom layer, should that fail.
            return nullptr;
        }
        auto address = reinterpret_cast<uintptr_t>(memory->data());
        if (extra != 0)
            address = (address + alignment - 1) / alignment * alignment;
        auto* const result = reinterpret_cast<void*>(address);
        std::scoped_lock const lock{mMutex};
        mBlocks.emplace(result, *std::move(memory));
        return result;
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

bool ContextAllocator::deallocate(void* memory) noexcept
{
    std::scoped_lock const lock{mMutex};
    return mBlocks.erase(memory) != 0;
}

} // namespace tenon
