// GrowingOutput: memory of an output whose extents depend on data.
#pragma once

#include "NvInfer.h"
#include "gpu_memory.h"

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace tenon::cli
{

class GrowingOutput final : public nvinfer1::IOutputAllocator
{
  public:
    //! On the device of an engine whose memory is not the program's.
    void useMemoryOf(nvinfer1::ICudaEngine const& engine) noexcept
    {
        mEngine = &engine;
    }
    void* reallocateOutput(char const* name, void*, uint64_t size, uint64_t alignment) noexcept override
    {
        if (mEngine != nullptr)
            return onGpu(name, size);
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
        return mEngine == nullptr ? mData : mDownloaded.data();
    }
    //! Copies so many bytes from the device.
    bool download(size_t bytes, void* stream)
    {
        mDownloaded.resize(bytes);
        return bytes == 0 || tenonEngineCopyOut(mEngine, mDownloaded.data(), mGpu.data(), bytes, stream) != 0;
    }

  private:
    void* onGpu(char const* name, uint64_t size) noexcept
    try
    {
        if (size > mSize)
        {
            mGpu = GpuMemory{*mEngine, std::string{"output '"} + name + "'", static_cast<size_t>(size)};
            mSize = size;
        }
        return mGpu.data();
    }
    catch (std::exception const&) // The run says that there is none.
    {
        return nullptr;
    }

    nvinfer1::ICudaEngine const* mEngine{nullptr}; //!< Null: memory is the program's.
    GpuMemory mGpu;
    std::vector<char> mDownloaded;
    std::unique_ptr<char[]> mMemory;
    uint64_t mSize{0};
    char* mData{nullptr};
    nvinfer1::Dims mDims{-1, {}};
};

} // namespace tenon::cli
