// Numbers of members and sets of flags, between those of the headers and those that Python programs see.
#include "bindings.h"

#include <algorithm>
#include <array>

namespace tenon::python
{

namespace
{
//! The shown place of each bit, by the headers' numbers.
using Places = std::array<uint8_t, 32>;

Places placesOf(std::span<Renumbered const> members)
{
    Places places{};
    uint32_t ofNow{0}, ofBefore{0};
    for (Renumbered const& member : members)
        if (member.now < 32)
        {
            places[member.now] = static_cast<uint8_t>(member.before);
            ofNow |= 1U << member.now;
            ofBefore |= 1U << member.before;
        }
    for (uint8_t now = 0, before = 0; now < 32; ++now)
        if ((ofNow >> now & 1U) == 0)
        {
            while ((ofBefore >> before & 1U) != 0)
                ++before;
            places[now] = before++;
        }
    return places;
}

int32_t numberIn(
    std::span<Renumbered const> members, int32_t number, int32_t Renumbered::*from, int32_t Renumbered::*to)
{
    if (!isBefore10())
        return number;
    auto const member = std::ranges::find(members, number, from);
    return member == members.end() ? number : (*member).*to;
}
} // namespace

bool isBefore10()
{
    static bool const is = [] {
        py::object const knobs = py::module_::import("json").attr("loads")(knobsAsJson());
        for (py::handle const knob : knobs)
            if (knob["variable"].cast<std::string>() == "TENON_API_GENERATION")
            {
                std::string const value = py::str(knob["value"]);
                return value == "8" || value == "9";
            }
        return false;
    }();
    return is;
}

int32_t shownNumber(std::span<Renumbered const> members, int32_t now)
{
    return numberIn(members, now, &Renumbered::now, &Renumbered::before);
}

int32_t meantNumber(std::span<Renumbered const> members, int32_t shown)
{
    return numberIn(members, shown, &Renumbered::before, &Renumbered::now);
}

uint32_t shownMask(std::span<Renumbered const> members, uint32_t now)
{
    if (!isBefore10())
        return now;
    Places const places = placesOf(members);
    uint32_t mask{0};
    for (int32_t i = 0; i < 32; ++i)
        mask |= (now >> i & 1U) << places[i];
    return mask;
}

uint32_t meantMask(std::span<Renumbered const> members, uint32_t shown)
{
    if (!isBefore10())
        return shown;
    Places const places = placesOf(members);
    uint32_t mask{0};
    for (int32_t i = 0; i < 32; ++i)
        mask |= (shown >> places[i] & 1U) << i;
    return mask;
}

} // namespace tenon::python
