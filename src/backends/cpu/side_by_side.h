// Side by side: whether the streams of a region run at once, each on some lanes of the team, and on which.
#pragma once

#include "device/device.h"

#include <array>

namespace tenon::cpu
{

inline constexpr size_t kMaxGroups{8};

//! Groups of lanes; those of group 0 come first, the calling thread's among them.
struct LaneGroups
{
    int32_t count{0}; //!< 0: all lanes do one step after the other.
    std::array<int8_t, kMaxGroups> ofStream{};
    std::array<int32_t, kMaxGroups> lanes{};

    int32_t groupOf(Launch const& launch) const noexcept
    {
        return ofStream[static_cast<size_t>(launch.stream)];
    }
};

//! Steps from the first to the next fence.
size_t regionLength(std::span<Launch const> launches) noexcept;

//! The fastest way by what the steps are estimated to cost; side by side where it is faster by enough for an estimate.
//! All of the region's steps are collective.
LaneGroups groupLanes(std::span<Launch const> region, int32_t lanes) noexcept;

} // namespace tenon::cpu
