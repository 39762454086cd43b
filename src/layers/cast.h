// Cast: the same elements in another type.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Cast
{
    static constexpr std::string_view kName{"Cast"};
    static constexpr PublicFacts kPublic{.type = nvinfer1::LayerType::kCAST};
    static constexpr bool kKeepsFrontAxes{true};
    DType toType{DType::kFLOAT};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "ToType", &Cast::toType)};
    }

    Result<TensorType> infer(Inputs const& in) const;
    //! Integers that a floating type has stay integers there; a later layer may cast them back.
    std::optional<Shape> contents(Inputs const& in) const;
    Expr body(Expr const& x) const
    {
        return cast(x, toType);
    }
};

} // namespace tenon

TENON_LAYER(Cast);
