// ElementWise: one operation on two tensors of equal rank, broadcast along extents of 1.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! kAND, kOR and kXOR take truth values, and, which upstream does not, integers, bit by bit.
struct ElementWise
{
    static constexpr std::string_view kName{"ElementWise"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kELEMENTWISE, .maxInputs = 2};
    static constexpr bool kKeepsFrontAxes{true};
    nvinfer1::ElementWiseOperation operation{nvinfer1::ElementWiseOperation::kSUM};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Operation", &ElementWise::operation)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Expr body(std::vector<Expr> const& x) const;
};

} // namespace tenon

TENON_LAYER(ElementWise);
