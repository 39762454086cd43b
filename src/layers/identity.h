// Identity: its input.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Identity
{
    static constexpr std::string_view kName{"Identity"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kIDENTITY};
    static constexpr bool kKeepsFrontAxes{true};

    static constexpr auto fields()
    {
        return std::tuple{};
    }

    Result<TensorType> infer(Inputs const& in) const;
    std::optional<Shape> contents(Inputs const& in) const;
    Expr body(Expr const& x) const
    {
        return x;
    }
};

} // namespace tenon

TENON_LAYER(Identity);
