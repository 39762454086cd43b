// RowOrder: the rows of a matrix in lexicographic order, and where an unlike one begins in it.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Input: x [rows, columns]. Outputs: the numbers of the rows in ascending order [rows] (int64), column 0 deciding
//! first; and whether each differs from the one before it [rows] (bool), as the first one does. Equal rows keep their
//! order. Zeros of both signs are equal. A NaN stands behind all numbers and beside others, and yet equals none.
struct RowOrder
{
    static constexpr std::string_view kName{"RowOrder"};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(RowOrder);
