// DeviceTable: numbers that a prepared step reads on the device, there for as long as the step.
#pragma once

#include "device/cuda/cuda_device.h"

#include <memory>
#include <span>

namespace tenon::cuda
{

class DeviceTable
{
  public:
    DeviceTable(CudaDevice const& device, Address address)
        : mDevice{device},
          mAddress{address}
    {
    }
    ~DeviceTable();
    DeviceTable(DeviceTable const&) = delete;
    DeviceTable& operator=(DeviceTable const&) = delete;

    void const* data() const noexcept
    {
        return reinterpret_cast<void const*>(mAddress);
    }

  private:
    CudaDevice const& mDevice;
    Address mAddress;
};

//! A copy in the device's memory, which is there when this returns.
Result<std::unique_ptr<DeviceTable const>> deviceTable(CudaDevice const& device, std::span<std::byte const> bytes);

} // namespace tenon::cuda
