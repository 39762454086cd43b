// CudaHandles: cuDNN's and cuBLAS's handles for the plugins of one execution context.
#pragma once

#include "device/cuda/cuda_device.h"
#include "device/kernel.h"
#include "plugins/plugin.h"

#include <memory>

namespace tenon::custom
{

class CudaHandles
{
  public:
    //! Those of a context, made when its first plugin is attached. Of libraries that the process has loaded by then, as
    //! whoever can use a handle has linked the library that it belongs to.
    static Result<std::shared_ptr<CudaHandles const>> of(CudaDevice const& device, ContextResources const& context);
    ~CudaHandles();
    CudaHandles(CudaHandles const&) = delete;
    CudaHandles& operator=(CudaHandles const&) = delete;

    plugins::LibraryHandles const& all() const noexcept
    {
        return mAll;
    }

  private:
    explicit CudaHandles(CudaDevice const& device)
        : mDevice{device}
    {
    }
    Result<Done> make();

    CudaDevice const& mDevice;
    plugins::LibraryHandles mAll;
};

} // namespace tenon::custom
