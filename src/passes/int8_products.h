// Int8 products: questions that rules ask about quantized tensors and the products of them.
#pragma once

#include "layers/epilogue.h"
#include "passes/rule.h"

#include <cstdint>
#include <optional>

namespace tenon::passes
{

//! A value that a Dequantize layer makes of int8 or fp8 numbers by one known scale.
struct Dequantized
{
    Node const* node;
    ValueId source;
    float scale;
    int32_t zeroPoint;
    DType narrowType;
    DType realType;
};
std::optional<Dequantized> dequantizedBy(Graph const& graph, ValueId value);
//! How a Quantize layer makes int8 or fp8 numbers: by one known scale.
struct Quantizing
{
    float scale;
    int32_t zeroPoint;
};
std::optional<Quantizing> quantizingBy(Graph const& graph, Node const& node);

//! What a quantized convolution or product has beside its operands.
struct Int8Product
{
    Epilogue epilogue;
    float outputScale{0.0F};
    int32_t outputZero{0};
    DType realType{DType::kFLOAT};
};
std::optional<Int8Product> int8ProductOf(Node const* node);
//! The same layer with another epilogue, scale and real type.
LayerPtr withProduct(Node const& node, Int8Product const& product);
//! A quantized product whose result in real numbers nothing but one operand reads.
bool isOpenProduct(Graph const& graph, ValueId value);

} // namespace tenon::passes
