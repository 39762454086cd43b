// The rows of the backend table, for the devices of this build or others over them.
#pragma once

#include "backend/backend_table.h"

#include <array>

namespace tenon
{

//! What the rows name: what makes them of the build's own devices is all that differs between libraries.
struct RowDevices
{
    Device& (*cpu)(int32_t index);
    Device& (*ref)(int32_t index);
    Device& (*cuda)(int32_t index);
};

//! The build's own, with the kernels that other backends add to them.
Device& cpuWithKernels();
Device& refWithKernels();
Device& cudaWithKernels(int32_t index);

std::array<BackendEntry, 3> rowsOver(RowDevices const& devices) noexcept;

} // namespace tenon
