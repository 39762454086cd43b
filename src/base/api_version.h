// The version of the API that this library speaks.
#pragma once

#include "NvInferVersion.h"

#include <array>
#include <cstdint>

namespace tenon
{

//! Major, minor, patch, build.
inline constexpr std::array<uint8_t, 4> kApiVersion{
    NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH, NV_TENSORRT_BUILD};

} // namespace tenon
