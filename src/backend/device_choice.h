// Device choice: which device a builder or runtime works for, and why; fixed when it is made.
#pragma once

#include "backend/backend_table.h"

#include <optional>
#include <string>

namespace tenon
{

//! "cpu", or "cuda:1" for all but the first of a kind.
std::string deviceName(BackendEntry const& backend, int32_t index);

struct DeviceChoice
{
    BackendEntry const* backend{nullptr};
    int32_t index{0}; //!< Among the devices of the backend.
    Device* device{nullptr};
    std::string reason;

    std::string name() const
    {
        return deviceName(*backend, index);
    }
    Target target() const
    {
        return backend->target(index);
    }
};

//! By TENON_DEVICE, else the best that is usable: of GPUs the one that the calling thread is at, and none where the
//! program's CUDA calls are answered by the host. The error names the knob and what can be had.
Result<DeviceChoice> chooseDevice();
//! The same among given backends; `wanted` is the value of TENON_DEVICE: a kind, or kind:index. `isHostsProgram`: only
//! those that work in the host's memory come without being named.
Result<DeviceChoice> chooseDevice(
    std::span<BackendEntry const> backends, std::optional<std::string> const& wanted, bool isHostsProgram = false);
//! The sentence for the log: name, model, reason.
std::string describe(DeviceChoice const& choice);

} // namespace tenon
