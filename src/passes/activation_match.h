// Activation match: which epilogue step, if any, an expression of one variable is.
#pragma once

#include "ir/expr.h"
#include "layers/epilogue.h"

#include <optional>

namespace tenon::passes
{

//! Exporters write GELU, SiLU, hard swish and the like in many algebraic forms; the expression is compared with each
//! step by its values at points across the range, parameters read off its values. None when no step agrees to float
//! precision.
std::optional<EpilogueStep> matchActivation(Expr const& expr);

} // namespace tenon::passes
