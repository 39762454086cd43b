// Unary: one function of each element, without parameters.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Unary
{
    static constexpr std::string_view kName{"Unary"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kUNARY};
    static constexpr bool kKeepsFrontAxes{true};
    nvinfer1::UnaryOperation operation{nvinfer1::UnaryOperation::kEXP};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Operation", &Unary::operation)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Expr body(Expr const& x) const;
};

} // namespace tenon

TENON_LAYER(Unary);
