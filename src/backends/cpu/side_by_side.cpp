// Side by side: a model of what steps take on some lanes, from their cost on one.
#include "backends/cpu/side_by_side.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenon::cpu
{

namespace
{
//! Sums over the steps of a stream.
struct Work
{
    float cost{0.0F};
    float steps{0.0F};
};

using Works = std::array<Work, kMaxGroups>;

//! Microseconds of a step on some lanes: its share of the work, a barrier, and what it costs that other lanes have made
//! the operands and that shares are uneven. Measured for decision 21, and set low: in doubt steps run as ever.
float stepTime(float cost, int32_t lanes) noexcept
{
    constexpr float kUneven{0.2F};
    constexpr float kMaxUneven{40.0F};
    if (lanes == 1)
        return cost + 0.1F;
    float const share = cost / static_cast<float>(lanes);
    return share + std::min(share * kUneven, kMaxUneven) + 0.5F + 0.15F * static_cast<float>(lanes);
}

//! As if all its steps were alike.
float timeOf(Work const& work, int32_t lanes) noexcept
{
    return work.steps > 0 ? work.steps * stepTime(work.cost / work.steps, lanes) : 0.0F;
}

void give(Work& to, Work const& more) noexcept
{
    to.cost += more.cost;
    to.steps += more.steps;
}

//! Streams into `count` groups, the longest first, each to the group that has least; the run's own is in group 0.
LaneGroups packed(Works const& streams, int32_t count, int32_t lanes, Works& groups) noexcept
{
    LaneGroups found{count, {}, {}};
    groups = {};
    give(groups[0], streams[0]);
    std::array<size_t, kMaxGroups> order{};
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin() + 1, order.end(), [&](size_t a, size_t b) { // A stable one would take memory in the run.
        return std::pair{-streams[a].cost, a} < std::pair{-streams[b].cost, b};
    });
    for (size_t i = 1; i < order.size() && streams[order[i]].steps > 0; ++i)
    {
        auto const least = std::min_element(
            groups.begin(), groups.begin() + count, [](Work const& a, Work const& b) { return a.cost < b.cost; });
        give(*least, streams[order[i]]);
        found.ofStream[order[i]] = static_cast<int8_t>(least - groups.begin());
    }
    found.lanes.fill(0);
    std::fill_n(found.lanes.begin(), count, 1);
    for (int32_t rest = lanes - count; rest > 0; --rest) // Each to the group that takes longest.
    {
        size_t slowest{0};
        for (size_t i = 1; i < static_cast<size_t>(count); ++i)
            if (timeOf(groups[i], found.lanes[i]) > timeOf(groups[slowest], found.lanes[slowest]))
                slowest = i;
        ++found.lanes[slowest];
    }
    return found;
}
} // namespace

size_t regionLength(std::span<Launch const> launches) noexcept
{
    size_t length{1};
    while (length < launches.size() && !launches[length].isFence)
        ++length;
    return length;
}

LaneGroups groupLanes(std::span<Launch const> region, int32_t lanes) noexcept
{
    constexpr float kEnough{0.85F};
    Works streams{};
    Work all;
    for (Launch const& launch : region)
    {
        Work const one{launch.cost, 1.0F};
        give(streams[static_cast<size_t>(launch.stream)], one);
        give(all, one);
    }
    auto const most =
        static_cast<int32_t>(std::ranges::count_if(streams, [](Work const& stream) { return stream.steps > 0; }));
    LaneGroups best;
    float bestTime = timeOf(all, lanes) * kEnough;
    for (int32_t count = 2; count <= std::min(most, lanes); ++count)
    {
        Works groups;
        LaneGroups const found = packed(streams, count, lanes, groups);
        float time{0.0F};
        for (size_t i = 0; i < static_cast<size_t>(count); ++i)
            time = std::max(time, timeOf(groups[i], found.lanes[i]));
        if (time < bestTime)
        {
            bestTime = time;
            best = found;
        }
    }
    return best;
}

} // namespace tenon::cpu
