// CudaPrepared: what the device "cuda" runs: something that puts work into a stream from the calling thread.
#pragma once

#include "device/cuda/driver.h"
#include "device/kernel.h"

namespace tenon
{

class CudaDevice;

//! One step, while it is put into a stream. The device's context is current.
struct CudaCall
{
    CudaDevice const& device;
    cuda::DriverApi const& api;
    void* stream{nullptr};
    Call const& call;
    //! Address on the device of a word that is not zero once a step of the host has failed in this run: kernels behind
    //! it do nothing then. 0: no such step came before.
    cuda::Address stop{0};
};

class CudaPrepared : public Prepared
{
  public:
    virtual Result<Done> launch(CudaCall const& at) const = 0;
};

//! What a launch of the device's own place is on this device: its kernels prepare nothing else.
inline CudaPrepared const& cudaPrepared(Prepared const& prepared) noexcept
{
    return static_cast<CudaPrepared const&>(prepared);
}

struct CudaKernelEntry
{
    std::string_view name;
    Result<std::unique_ptr<Kernel>> (*load)(KernelSource const& source, CudaDevice const& device);
};

} // namespace tenon
