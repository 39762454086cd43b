// Determinant: of the matrices in the last two axes.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Input: x [.., n, n]. Output: [..]. The determinant of a matrix without rows is 1.
struct Determinant
{
    static constexpr std::string_view kName{"Determinant"};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Determinant);
