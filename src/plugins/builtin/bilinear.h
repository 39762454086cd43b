// Bilinear sampling of a plane around which there is nothing but zeros.
#pragma once

#include <cmath>
#include <cstdint>

namespace tenon::plugins::builtin
{

//! The elements around a point that exist, and how much each counts; none for a point further out than one element.
struct Corners
{
    int32_t count{0};
    float weight[4]{};
    int64_t row[4]{};
    int64_t column[4]{};
};

//! Also for points that are not numbers: those have no corners.
inline Corners cornersAt(double y, double x, int64_t height, int64_t width) noexcept
{
    Corners corners;
    bool const isNear = y > -1.0 && y < static_cast<double>(height) && x > -1.0 && x < static_cast<double>(width);
    if (!isNear)
        return corners;
    auto const top = static_cast<int64_t>(std::floor(y));
    auto const left = static_cast<int64_t>(std::floor(x));
    double const down = y - static_cast<double>(top);
    double const right = x - static_cast<double>(left);
    for (int64_t i = 0; i < 4; ++i)
    {
        int64_t const row = top + i / 2;
        int64_t const column = left + i % 2;
        if (row < 0 || row >= height || column < 0 || column >= width)
            continue;
        double const weight = (i / 2 == 0 ? 1.0 - down : down) * (i % 2 == 0 ? 1.0 - right : right);
        corners.weight[corners.count] = static_cast<float>(weight);
        corners.row[corners.count] = row;
        corners.column[corners.count] = column;
        ++corners.count;
    }
    return corners;
}

} // namespace tenon::plugins::builtin
