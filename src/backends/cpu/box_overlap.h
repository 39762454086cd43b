// Boxes that were kept, as lists of their numbers: one is compared with a vector of them at a time.
#pragma once

#include "layers/nms.h"

#include <cstdint>

namespace tenon::cpu
{

struct KeptBoxes
{
    static constexpr int64_t kLists{5};

    double* low0{nullptr};
    double* low1{nullptr};
    double* high0{nullptr};
    double* high1{nullptr};
    double* area{nullptr};

    //! Lists of `room` boxes each, one behind the other.
    static KeptBoxes at(double* memory, int64_t room) noexcept
    {
        return {memory, memory + room, memory + 2 * room, memory + 3 * room, memory + 4 * room};
    }
    static size_t bytes(int64_t room) noexcept
    {
        return static_cast<size_t>(room * kLists) * sizeof(double);
    }
    NMS::Box box(int64_t i) const noexcept
    {
        return {{low0[i], low1[i]}, {high0[i], high1[i]}};
    }
    void set(int64_t i, NMS::Box const& box) const noexcept
    {
        low0[i] = box.low[0];
        low1[i] = box.low[1];
        high0[i] = box.high[0];
        high1[i] = box.high[1];
        area[i] = box.area();
    }
};

} // namespace tenon::cpu
