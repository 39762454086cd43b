// ContextAllocator: memory of the engine's device, as one execution context lends it to custom layers.
#pragma once

#include "runtime/device_memory.h"

#include "NvInferRuntime.h"

#include <mutex>
#include <unordered_map>

namespace tenon
{

//! Another object for each context, so that a layer can tell contexts apart (J8). What a layer forgets to give back is
//! given back with the context.
class ContextAllocator final : public nvinfer1::IGpuAllocator
{
  public:
    explicit ContextAllocator(MemorySource source);
    void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags flags) noexcept override;
    bool deallocate(void* memory) noexcept override;

  private:
    MemorySource mSource;
    std::mutex mMutex;
    std::unordered_map<void*, DeviceMemory> mBlocks;
};

} // namespace tenon
