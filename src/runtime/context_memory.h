// ContextMemory: what a context's runs put their activations and their kernels' scratch into.
#pragma once

#include "runtime/engine_state.h"

#include <optional>

namespace tenon
{

using MemoryStrategy = nvinfer1::ExecutionContextAllocationStrategy;

//! What runs under way use stays while others are given, as their frames share it.
class ContextMemory
{
  public:
    using Shared = std::shared_ptr<DeviceMemory>; //!< Never null.

    ContextMemory(EngineState const& engine, MemoryStrategy strategy);

    MemoryStrategy strategy() const noexcept
    {
        return mStrategy;
    }
    bool isUsers() const noexcept
    {
        return mStrategy == MemoryStrategy::kUSER_MANAGED;
    }
    //! Memory of the context's own for activations.
    Result<Done> take(int64_t bytes);
    //! The user's.
    void give(void* memory, int64_t bytes) noexcept;
    //! For kernels' scratch; null: the engine's.
    void setTemporary(nvinfer1::IGpuAllocator* allocator);
    nvinfer1::IGpuAllocator* temporary() const noexcept
    {
        return mTemporary;
    }

    //! Where a run of so many bytes of activations has them. `apart`: beside the context's own, for runs that keep
    //! inputs.
    Result<void*> arena(int64_t bytes, bool apart);
    //! Scratch of at least so many bytes; true: others than before.
    Result<bool> takeScratch(size_t bytes, void* stream);
    void dropScratch();

    Shared const& activations() const noexcept
    {
        return mActivations;
    }
    Shared const& scratch() const noexcept
    {
        return mScratch;
    }

  private:
    EngineState const& mEngine;
    MemoryStrategy mStrategy;
    Shared mActivations;
    Shared mScratch;
    DeviceMemory mApart;
    void* mUsers{nullptr};
    int64_t mUsersBytes{0};
    nvinfer1::IGpuAllocator* mTemporary{nullptr};
};

} // namespace tenon
