// ParametricReLU: x where x > 0, else slope · x.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

//! Inputs: x, slope (x's rank, broadcast to x).
struct ParametricReLU
{
    static constexpr std::string_view kName{"ParametricReLU"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kPARAMETRIC_RELU, .maxInputs = 2};
    static constexpr bool kKeepsFrontAxes{true};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<TensorType> infer(Inputs const& in) const;
    Expr body(std::vector<Expr> const& x) const
    {
        return select(x.at(0) > Expr{0.0}, x.at(0), x.at(1) * x.at(0));
    }
};

} // namespace tenon

TENON_LAYER(ParametricReLU);
