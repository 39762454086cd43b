// ContextMemory: what a context's runs put their activations and their kernels' scratch into.
#pragma once

#include "runtime/engine_state.h"

#include <array>
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
    //! The same in memory of the host, which grows as runs need it.
    Result<void*> hostArena(int64_t bytes, bool apart);
    //! Scratch of at least so many bytes; true: others than before.
    Result<bool> takeScratch(Place place, size_t bytes, void* stream);
    void dropScratch();

    //! All that a run uses, which its frame keeps while it goes on.
    using Lent = std::array<Shared, 4>;
    Lent lent() const
    {
        return {mActivations, mHostActivations, mScratch[0], mScratch[1]};
    }
    void* scratch(Place place) const noexcept
    {
        return mScratch[static_cast<size_t>(place)]->data();
    }

  private:
    EngineState const& mEngine;
    MemoryStrategy mStrategy;
    Shared mActivations;
    Shared mHostActivations;
    std::array<Shared, kPlaceCount> mScratch;
    DeviceMemory mApart;
    DeviceMemory mHostApart;
    void* mUsers{nullptr};
    int64_t mUsersBytes{0};
    nvinfer1::IGpuAllocator* mTemporary{nullptr};
};

} // namespace tenon
