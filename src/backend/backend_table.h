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
};

//! The default device first. Defined beside the backends.
std::span<BackendEntry const> allBackends() noexcept;

} // namespace tenon
