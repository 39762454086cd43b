// Activation match: which epilogue step, if any, an expression of one variable is.
#pragma once

#include "ir/expr.h"
#include "layers/epilogue.h"

#include <optional>

namespace tenon::passes
{

//! Exporters write GELU, SiLU, hard swish and the like in many algebraic forms; the expression is compared with each
//! step that consists of the same kinds of operations by its values, parameters read off its values: an analytic
//! function at points of an interval, one with corners at points of every magnitude. None when no step agrees to float
//! precision; in half precision, `type`, smooth ones as closely as rounded constants allow.
std::optional<EpilogueStep> matchActivation(Expr const& expr, DType type = DType::kFLOAT);

} // namespace tenon::passes
