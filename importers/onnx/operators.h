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
extern std::span<Operator const> const kLossOperators;
extern std::span<Operator const> const kBitOperators;
extern std::span<Operator const> const kSignalOperators;
extern std::span<Operator const> const kIntegerOperators;
extern std::span<Operator const> const kImageOperators;
extern std::span<Operator const> const kChoiceOperators;
extern std::span<Operator const> const kControlOperators;
extern std::span<Operator const> const kSequenceOperators;
extern std::span<Operator const> const kRecurrentOperators;
extern std::span<Operator const> const kAttentionOperators;
extern std::span<Operator const> const kDeformOperators;
//! Of the domain ai.onnx.preview.
extern std::span<Operator const> const kPreviewOperators;
//! Of the domain ai.onnx.ml.
extern std::span<Operator const> const kMlOperators;
extern std::span<Operator const> const kContribAttentionOperators;
extern std::span<Operator const> const kContribQuantizedOperators;
//! Products of quantized numbers, in com.microsoft.
extern std::span<Operator const> const kContribIntegerOperators;
extern std::span<Operator const> const kContribRecurrentOperators;
//! Of the domain com.microsoft; the quantization of the standard domain goes by the same names there.
extern std::span<Operator const> const kContribOperators;
extern std::span<Operator const> const kFewBitsOperators;

//! Null for an operator that nothing here imports.
ImportFunction findOperator(std::string_view domain, std::string_view name);

//! Whether the standard operator is about sequences or optionals.
bool isOfSequences(std::string_view name);

//! The result of a node whose inputs are all constants, where that is cheap; else nothing, and layers are added.
std::optional<Outputs> fold(Node& node);

} // namespace tenon::onnx
