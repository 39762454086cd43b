// GpuMemory: memory of one tensor on a device whose memory is not the program's.
#pragma once

#include "NvInfer.h"
#include "tenon/engine_memory.h"
#include "tenon/run.h"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenon::cli
{

class GpuMemory
{
  public:
    GpuMemory() = default;
    //! Throws std::runtime_error that names the tensor, where there is not that much. The engine outlives it.
    GpuMemory(nvinfer1::ICudaEngine const& engine, std::string const& tensor, size_t bytes)
        : mEngine{&engine},
          mData{tenonEngineAllocate(&engine, bytes)}
    {
        if (mData == nullptr)
            throw std::runtime_error(
                tensor + " takes " + std::to_string(bytes) + " bytes, which the device has not; try a smaller shape");
    }
    ~GpuMemory()
    {
        if (mData != nullptr)
            tenonEngineFree(mEngine, mData);
    }
    GpuMemory(GpuMemory&& other) noexcept
        : mEngine{other.mEngine},
          mData{std::exchange(other.mData, nullptr)}
    {
    }
    GpuMemory& operator=(GpuMemory&& other) noexcept
    {
        std::swap(mEngine, other.mEngine);
        std::swap(mData, other.mData);
        return *this;
    }
    void* data() const noexcept
    {
        return mData;
    }

  private:
    nvinfer1::ICudaEngine const* mEngine{nullptr};
    void* mData{nullptr};
};

//! A stream of an engine's device: the calling thread where memory is the program's.
class EngineStream
{
  public:
    explicit EngineStream(nvinfer1::ICudaEngine const& engine)
        : mEngine{engine},
          mHandle{tenonIsOnGpu(&engine) == 0 ? nullptr : tenonEngineCreateStream(&engine)}
    {
        if (mHandle == nullptr && tenonIsOnGpu(&engine) != 0)
            throw std::runtime_error("the device gives no stream");
    }
    ~EngineStream()
    {
        if (mHandle != nullptr)
            tenonEngineDestroyStream(&mEngine, mHandle);
    }
    EngineStream(EngineStream const&) = delete;
    EngineStream& operator=(EngineStream const&) = delete;
    void* handle() const noexcept
    {
        return mHandle;
    }
    //! Throws std::runtime_error where the work of the stream has failed.
    void await() const
    {
        if (mHandle != nullptr && tenonEngineAwait(&mEngine, mHandle) == 0)
            throw std::runtime_error("the run failed");
    }

  private:
    nvinfer1::ICudaEngine const& mEngine;
    void* mHandle;
};

} // namespace tenon::cli
