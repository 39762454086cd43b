// Shuffles: algebra of transposes and reshapes for the rules that move them.
#pragma once

#include "layers/shuffle.h"
#include "passes/rule.h"

#include <vector>

namespace tenon::passes
{

//! Axis i of the result is axis inner[outer[i]] of the input of `inner`.
AxisOrder composed(AxisOrder const& inner, AxisOrder const& outer);
AxisOrder inverted(AxisOrder const& order);
bool isIdentity(AxisOrder const& order);
Shape permuted(Shape const& shape, AxisOrder const& order);

//! Reshape dimensions that turn one shape into another for every value of the symbols: constants, 0 where an unknown
//! extent stays on its axis, and one −1 at most; none when that cannot say it.
std::optional<nvinfer1::Dims> dimensionsFor(Shape const& from, Shape const& to);
//! A reshape without transposes.
std::optional<Shuffle> reshapeTo(Shape const& from, Shape const& to);

//! The pure transpose that a node is, as one order; none when it reshapes, or is no Shuffle.
std::optional<AxisOrder> transposeOf(Graph const& graph, Node const* node);
//! Whether the node is a Shuffle that keeps the order of the elements.
bool isReshape(Graph const& graph, Node const* node);
//! Shape of a Shuffle node after its first transpose and its reshape, before the second transpose.
Shape middleShape(Graph const& graph, Node const& node);

//! For each extent of `merged`, the axes of `split`, consecutive and in order, whose product it is; extents of 1 go
//! along with what they stand beside. None when the one is not the other with axes split up.
std::optional<std::vector<std::vector<size_t>>> axisGroups(Shape const& merged, Shape const& split);

} // namespace tenon::passes
