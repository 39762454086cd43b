// GrowingOutput: memory of an output whose extents depend on data.
#pragma once

#include "NvInfer.h"

#include <cstdint>
#include <memory>
#include <new>

namespace tenon::cli
{

class GrowingOutput final : public nvinfer1::IOutputAllocator
{
  public:
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t alignment) noexcept override
    {
        if (size > mSize)
        {
            mMemory.reset(new (std::nothrow) char[size + alignment]);
            mSize = mMemory == nullptr ? 0 : size;
        }
        if (mMemory == nullptr)
            return nullptr;
        uint64_t const above = alignment == 0 ? 0 : reinterpret_cast<uintptr_t>(mMemory.get()) % alignment;
        mData = mMemory.get() + (above == 0 ? 0 : alignment - above);
        return mData;
    }
    void notifyShape(char const*, nvinfer1::Dims const& dims) noexcept override
    {
        mDims = dims;
    }
    nvinfer1::Dims const& dims() const
    {
        return mDims;
    }
    char const* data() const
    {
        return mData;
    }

  private:
    std::unique_ptr<char[]> mMemory;
    uint64_t mSize{0};
    char* mData{nullptr};
    nvinfer1::Dims mDims{-1, {}};
};

} // namespace tenon::cli
