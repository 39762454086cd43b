// DeviceMemory: owned memory from the user's allocator or the device; also memory of the host that the device gives.
#pragma once

#include "device/device.h"

#include "NvInferRuntime.h"

#include <utility>

namespace tenon
{

//! Where memory comes from. Rule O11: sizes are positive, alignments powers of two, null is a failure.
struct MemorySource
{
    Device* device{nullptr};
    nvinfer1::IGpuAllocator* allocator{nullptr}; //!< Null: the device's own.
    void* stream{nullptr};                       //!< What the allocator is told: that of the work on the memory.
    Place place{Place::kDevice}; //!< kHost: the device's own memory of the host, whatever the allocator.
};

class DeviceMemory
{
  public:
    DeviceMemory() = default;
    DeviceMemory(DeviceMemory&& other) noexcept
    {
        *this = std::move(other);
    }
    DeviceMemory& operator=(DeviceMemory&& other) noexcept
    {
        std::swap(mSource, other.mSource);
        std::swap(mData, other.mData);
        std::swap(mBytes, other.mBytes);
        return *this;
    }
    ~DeviceMemory()
    {
        release();
    }

    //! No bytes: no memory, no call. `what` is for the message: "activations", "scratch", …
    static Result<DeviceMemory> allocate(MemorySource source, int64_t bytes, std::string_view what);
    void release() noexcept;

    void* data() const noexcept
    {
        return mData;
    }
    int64_t bytes() const noexcept
    {
        return mBytes;
    }

  private:
    MemorySource mSource;
    void* mData{nullptr};
    int64_t mBytes{0};
};

} // namespace tenon
