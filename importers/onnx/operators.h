// The table of ONNX operators: a name and the function that turns its nodes into layers.
#pragma once

#include "extent.h"

#include <span>

namespace tenon::onnx
{

using ImportFunction = Outputs (*)(Node&);

struct Operator
{
    std::string_view name;
    ImportFunction import;
};

//! One table per family, at the foot of the family's file.
extern std::span<Operator const> const kDirectOperators;
extern std::span<Operator const> const kElementwiseOperators;
extern std::span<Operator const> const kActivationOperators;
extern std::span<Operator const> const kConvolutionOperators;
extern std::span<Operator const> const kPoolingOperators;
extern std::span<Operator const> const kMatmulOperators;
extern std::span<Operator const> const kReduceOperators;
extern std::span<Operator const> const kShapeOperators;
extern std::span<Operator const> const kGenerateOperators;
extern std::span<Operator const> const kMoveOperators;
extern std::span<Operator const> const kSliceOperators;
extern std::span<Operator const> const kGatherOperators;
extern std::span<Operator const> const kResizeOperators;
extern std::span<Operator const> const kNormalizationOperators;
extern std::span<Operator const> const kSearchOperators;
extern std::span<Operator const> const kQuantizeOperators;
extern std::span<Operator const> const kVisionOperators;

//! Null for an operator that nothing here imports.
ImportFunction findOperator(std::string_view name);

//! The result of a node whose inputs are all constants, where that is cheap; else nothing, and layers are added.
std::optional<Outputs> fold(Node& node);

} // namespace tenon::onnx
