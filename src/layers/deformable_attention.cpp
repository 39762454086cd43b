// DeformableAttention: rules and plain loops.
#include "layers/deformable_attention.h"

#include "layers/check.h"
#include "layers/shape_values.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

std::array<DeformableAttention::Corner, 4> DeformableAttention::cornersOf(
    double x, double y, int64_t height, int64_t width) noexcept
{
    std::array<Corner, 4> corners{};
    double const column = x * static_cast<double>(width) - 0.5;
    double const row = y * static_cast<double>(height) - 0.5;
    bool const isNear =
        row > -1.0 && row < static_cast<double>(height) && column > -1.0 && column < static_cast<double>(width);
    if (!isNear)
        return corners;
    auto const top = static_cast<int64_t>(std::floor(row));
    auto const left = static_cast<int64_t>(std::floor(column));
    double const down = row - static_cast<double>(top);
    double const right = column - static_cast<double>(left);
    for (int64_t i = 0; i < 4; ++i)
    {
        int64_t const here = top + i / 2;
        int64_t const across = left + i % 2;
        if (here >= 0 && here < height && across >= 0 && across < width)
            corners[static_cast<size_t>(i)] = {here * width + across,
                static_cast<float>((i / 2 == 0 ? 1.0 - down : down) * (i % 2 == 0 ? 1.0 - right : right))};
    }
    return corners;
}

bool DeformableAttention::areInside(int32_t const* maps, int32_t const* starts, int64_t levels, int64_t rows) noexcept
{
    for (int64_t level = 0; level < levels; ++level)
    {
        int64_t const height = maps[2 * level];
        int64_t const width = maps[2 * level + 1];
        if (height < 0 || width < 0 || starts[level] < 0 || starts[level] + height * width > rows)
            return false;
    }
    return true;
}

Result<TensorType> DeformableAttention::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.count(kOperands).types(kValues, {DType::kFLOAT, DType::kHALF, DType::kBF16});
    check.rank(kValues, 4).rank(kMaps, 2).rank(kStarts, 1).rank(kPoints, 6).rank(kWeights, 5);
    for (int32_t const i : {kMaps, kStarts})
        check.types(i, {DType::kINT32});
    for (int32_t const i : {kPoints, kWeights})
        check.sameType(i, kValues);
    TENON_TRY(check.done());
    Shape const& values = in.type(kValues).shape;
    Shape const& points = in.type(kPoints).shape;
    check.extent(kMaps, 0, points[3]).extent(kMaps, 1, 2).extent(kStarts, 0, points[3]);
    check.extent(kPoints, 0, values[0]).extent(kPoints, 2, values[2]).extent(kPoints, 5, 2);
    for (int32_t axis = 0; axis < 5; ++axis)
        check.extent(kWeights, axis, points[static_cast<size_t>(axis)]);
    TENON_TRY(check.done());
    return TensorType{in.type(kValues).dtype, {values[0], points[1], values[2], values[3]}};
}

Result<std::vector<HostTensor>> DeformableAttention::reference(HostTensors const& in) const
{
    HostTensor out = TENON_TRY(outputOf(*this, in));
    std::vector<int32_t> const maps(in[kMaps]->integers.begin(), in[kMaps]->integers.end());
    std::vector<int32_t> const starts(in[kStarts]->integers.begin(), in[kStarts]->integers.end());
    int64_t const rows = in[kValues]->extents[1];
    int64_t const heads = out.extents[2];
    int64_t const columns = out.extents[3];
    int64_t const levels = in[kPoints]->extents[3];
    int64_t const points = in[kPoints]->extents[4];
    if (!areInside(maps.data(), starts.data(), levels, rows))
        return errorOf(ErrorCode::kFAILED_EXECUTION, "a map of the levels lies outside of the values");
    std::vector<double> sums(static_cast<size_t>(columns));
    for (int64_t target = 0; target < out.extents[0] * out.extents[1] * heads; ++target)
    {
        std::ranges::fill(sums, 0.0);
        int64_t const image = target / (out.extents[1] * heads);
        for (int64_t at = target * levels * points; at < (target + 1) * levels * points; ++at)
        {
            auto const level = static_cast<size_t>(at / points % levels);
            double const x = in[kPoints]->real(2 * at);
            double const y = in[kPoints]->real(2 * at + 1);
            for (Corner const& corner : cornersOf(x, y, maps[2 * level], maps[2 * level + 1]))
            {
                double const weight = static_cast<double>(corner.weight) * in[kWeights]->real(at);
                int64_t const first = ((image * rows + starts[level] + corner.row) * heads + target % heads) * columns;
                for (int64_t i = 0; i < columns && corner.weight != 0.0F; ++i)
                    sums[static_cast<size_t>(i)] += weight * in[kValues]->real(first + i);
            }
        }
        for (int64_t i = 0; i < columns; ++i)
            out.set(target * columns + i, sums[static_cast<size_t>(i)]);
    }
    return oneOutput(std::move(out));
}

} // namespace tenon
