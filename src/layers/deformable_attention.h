// DeformableAttention: weighted sums of values that are read at given points of several maps.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

#include <array>

namespace tenon
{

//! Inputs: values [n, s, heads, columns], extents of maps [levels, 2] (height and width; kINT32), where they begin
//! among the s rows [levels] (kINT32), points (x, y) in [0, 1] of their map [n, q, heads, levels, points, 2], weights
//! [n, q, heads, levels, points]. Output [n, q, heads, columns]: of each query and head the sum of what is read
//! bilinearly, with zeros around a map (arXiv:2010.04159). A map that is not within the rows is an error on the host,
//! and counts for nothing on a GPU.
struct DeformableAttention
{
    static constexpr std::string_view kName{"DeformableAttention"};
    enum Operand : int32_t
    {
        kValues,
        kMaps,
        kStarts,
        kPoints,
        kWeights,
        kOperands,
    };

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    //! An element around a point, and how much it counts; 0: it is not on the map.
    struct Corner
    {
        int64_t row; //!< Of the map: as it lies in the values.
        float weight;
    };
    //! Of a point, also of one that is no number.
    static std::array<Corner, 4> cornersOf(double x, double y, int64_t height, int64_t width) noexcept;
    //! Whether all maps lie within the rows.
    static bool areInside(int32_t const* maps, int32_t const* starts, int64_t levels, int64_t rows) noexcept;

    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(DeformableAttention);
