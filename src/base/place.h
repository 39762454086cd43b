// Place: on which side of the border a step runs and a tensor's memory is.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon
{

//! Matters where a device has memory of its own; elsewhere everything is the device's.
enum class Place : uint8_t
{
    kDevice,
    kHost,
};
inline constexpr size_t kPlaceCount{2};

constexpr std::string_view nameOf(Place place) noexcept
{
    return place == Place::kDevice ? "device" : "host";
}

} // namespace tenon
