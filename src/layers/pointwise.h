// Pointwise: an expression over inputs of equal rank, broadcast along extents of 1; made by passes.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

struct Pointwise
{
    static constexpr std::string_view kName{"Pointwise"};
    Expr expr;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "expr", &Pointwise::expr)};
    }

    Result<Done> verify() const
    {
        return expr.verify();
    }
    //! Type and shape are the expression's (see ir/evaluate.h).
    Result<TensorType> infer(Inputs const& in) const;
    Expr body(std::vector<Expr> const& x) const
    {
        return expr.compose(x);
    }
};

} // namespace tenon

TENON_LAYER(Pointwise);
