// Select: elements of the second input where the condition holds, else of the third; broadcast along extents of 1.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Select
{
    static constexpr std::string_view kName{"Select"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kSELECT, .maxInputs = 3};
    static constexpr bool kKeepsFrontAxes{true};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Expr body(std::vector<Expr> const& x) const
    {
        return select(x.at(0), x.at(1), x.at(2));
    }
};

} // namespace tenon

TENON_LAYER(Select);
