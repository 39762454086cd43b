// Device choice: which device a builder or runtime works for, and why; fixed when it is made.
#pragma once

#include "backend/backend_table.h"

#include <string>

namespace tenon::api
{

struct DeviceChoice
{
    BackendEntry const* backend{nullptr};
    Device* device{nullptr};
    std::string reason;
};

//! By TENON_DEVICE, else the best that is usable. The error names the knob and what can be had.
Result<DeviceChoice> chooseDevice();
//! The sentence for the log: name, model, reason.
std::string describe(DeviceChoice const& choice);

} // namespace tenon::api
