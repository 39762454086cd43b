// The backends of this build, in order of preference; the way by which api reaches them.
#pragma once

#include "backend/candidate.h"
#include "device/device.h"

#include <span>
#include <string_view>

namespace tenon
{

struct BackendEntry
{
    std::string_view name;
    Backend (*backend)();
    Device& (*device)();
    //! The row-major form of a weight that a plan for this device stores packed.
    Result<std::shared_ptr<Constant const>> (*unpack)(
        std::string_view packing, std::vector<int64_t> extents, void const* data, size_t bytes);
};

//! The default device first. Defined beside the backends.
std::span<BackendEntry const> allBackends() noexcept;

} // namespace tenon
