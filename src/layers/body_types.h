// Types of what comes out of bodies, as seen from outside.
#pragma once

#include "ir/graph.h"

namespace tenon
{

//! Same element type and rank, and no extent that is known to differ.
bool isSameType(TensorType const& a, TensorType const& b);
//! Whether only a run of the body tells one of the extents.
bool isMadeInside(Shape const& shape, Graph const& body);
//! At most this much, in terms that are known outside.
ShapeExpr boundOutside(ShapeExpr const& extent, Graph const& body);

} // namespace tenon
