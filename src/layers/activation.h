// Activation: one function of each element, with up to two parameters.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Activation
{
    static constexpr std::string_view kName{"Activation"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kACTIVATION};
    static constexpr bool kKeepsFrontAxes{true};
    nvinfer1::ActivationType activationType{nvinfer1::ActivationType::kRELU};
    float alpha{0.0F};
    float beta{0.0F};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "ActivationType", &Activation::activationType),
            field(2, "Alpha", &Activation::alpha), field(3, "Beta", &Activation::beta)};
    }

    Result<Done> verify() const;
    Result<TensorType> infer(Inputs const& in) const;
    Expr body(Expr const& x) const;
};

} // namespace tenon

TENON_LAYER(Activation);
