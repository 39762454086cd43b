// Einsum: sums of products of elements, by an equation that names the axes of every operand.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

#include <string>

namespace tenon
{

//! What an equation says for operands of known ranks: a label per axis. Letters are 0 … 25; axes that an ellipsis
//! stands for are counted down from the innermost one, kEllipsis.
struct EinsumLabels
{
    static constexpr int32_t kEllipsis{26 + 7};
    std::vector<std::vector<int32_t>> operands; //!< A label twice in one operand is its diagonal.
    std::vector<int32_t> output;
};

//! Inputs: one or more operands of one type. Extents of a label are equal, or 1 and broadcast.
struct Einsum
{
    static constexpr std::string_view kName{"Einsum"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kEINSUM};
    std::string equation;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Equation", &Einsum::equation)};
    }

    //! What can be said of an equation by itself; `operands` −1: any number of them.
    static Result<Done> check(std::string_view equation, int32_t operands = -1);
    Result<EinsumLabels> labels(std::vector<int32_t> const& ranks) const;

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(Einsum);
