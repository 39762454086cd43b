// Bindings: where the I/O tensors of a context are: addresses and allocators of the user's, and values of its own.
#pragma once

#include "runtime/engine_state.h"

namespace tenon
{

//! Values of a shape tensor, in the form of its type.
using OwnValues = std::shared_ptr<std::vector<std::byte> const>;

//! An input of the context's own values has their address until another is set or they are forgotten.
class Bindings
{
  public:
    explicit Bindings(EngineState const& engine);

    //! By I/O tensor; null where none is set.
    std::span<void* const> addresses() const noexcept
    {
        return mAddresses;
    }
    bool hasOwnValues(size_t io) const noexcept
    {
        return io < mOwnValues.size() && mOwnValues[io] != nullptr;
    }
    //! By input, null where there are none: who runs keeps them.
    std::vector<OwnValues> const& ownValues() const noexcept
    {
        return mOwnValues;
    }
    nvinfer1::IOutputAllocator* allocator(size_t io) const noexcept
    {
        return mAllocators[io];
    }
    //! Where the tensor is in a run with these addresses, one per I/O tensor; null: with those that are set. A shape
    //! output may lack one there.
    void* addressIn(void* const* given, size_t io);

    void setAddress(size_t io, void* data);
    void setAllocator(size_t io, nvinfer1::IOutputAllocator* allocator);
    //! Takes the values of a shape-tensor input.
    void setOwnValues(size_t io, std::span<int64_t const> values);
    void forgetOwnValues();

  private:
    EngineState const& mEngine;
    std::vector<void*> mAddresses;
    std::vector<OwnValues> mOwnValues;
    //! Room for an output that is a shape tensor, which callers by index need not give.
    std::vector<std::vector<std::byte>> mSpareValues;
    std::vector<nvinfer1::IOutputAllocator*> mAllocators;
};

} // namespace tenon
