// ContextMemory: which memory a run gets.
#include "runtime/context_memory.h"

namespace tenon
{

namespace
{
alignas(64) char gNothing[64]; //!< Address of an arena of no bytes: kernels never see null for an empty tensor.
} // namespace

ContextMemory::ContextMemory(EngineState const& engine, MemoryStrategy strategy)
    : mEngine{engine},
      mStrategy{strategy},
      mActivations{std::make_shared<DeviceMemory>()},
      mHostActivations{std::make_shared<DeviceMemory>()},
      mScratch{std::make_shared<DeviceMemory>(), std::make_shared<DeviceMemory>()}
{
}

Result<Done> ContextMemory::take(int64_t bytes)
{
    mActivations = std::make_shared<DeviceMemory>(
        TENON_TRY(DeviceMemory::allocate({&mEngine.device(), mEngine.options.allocator}, bytes, "activations")));
    return Done{};
}

void ContextMemory::give(void* memory, int64_t bytes) noexcept
{
    mUsers = memory;
    mUsersBytes = bytes;
}

void ContextMemory::setTemporary(nvinfer1::IGpuAllocator* allocator)
{
    dropScratch();
    mTemporary = allocator;
}

Result<void*> ContextMemory::arena(int64_t bytes, bool apart)
{
    if (apart && mApart.bytes() < bytes)
        mApart = TENON_TRY(DeviceMemory::allocate(
            {&mEngine.device(), mEngine.options.allocator}, bytes, "activations of an observed run"));
    bool const users = !apart && isUsers();
    void* const memory = apart ? mApart.data() : users ? mUsers : mActivations->data();
    int64_t const room = apart ? mApart.bytes() : users ? mUsersBytes : mActivations->bytes();
    if (bytes > 0 && (memory == nullptr || room < bytes))
        return errorOf(ErrorCode::kINVALID_STATE, "the run needs {} bytes of device memory and has {}{}", bytes,
            memory == nullptr ? 0 : room, users ? ": set them with setDeviceMemoryV2" : "");
    return memory == nullptr ? gNothing : memory;
}

Result<void*> ContextMemory::hostArena(int64_t bytes, bool apart)
{
    MemorySource const source{&mEngine.device(), nullptr, nullptr, Place::kHost};
    int64_t const room = apart ? mHostApart.bytes() : mHostActivations->bytes();
    if (room < bytes)
    {
        DeviceMemory memory = TENON_TRY(DeviceMemory::allocate(source, bytes, "activations of steps on the host"));
        if (apart)
            mHostApart = std::move(memory);
        else
            mHostActivations = std::make_shared<DeviceMemory>(std::move(memory));
    }
    void* const memory = apart ? mHostApart.data() : mHostActivations->data();
    return memory == nullptr ? gNothing : memory;
}

Result<bool> ContextMemory::takeScratch(Place place, size_t bytes, void* stream)
{
    Shared& mine = mScratch[static_cast<size_t>(place)];
    if (bytes <= static_cast<size_t>(mine->bytes()))
        return false;
    MemorySource source{&mEngine.device(), mEngine.options.allocator, nullptr, place};
    if (mTemporary != nullptr)
        source = {&mEngine.device(), mTemporary, stream, place}; // Given back before the call returns.
    mine = std::make_shared<DeviceMemory>(
        TENON_TRY(DeviceMemory::allocate(source, static_cast<int64_t>(bytes), "scratch of kernels")));
    return true;
}

void ContextMemory::dropScratch()
{
    mScratch.fill(std::make_shared<DeviceMemory>());
}

} // namespace tenon
