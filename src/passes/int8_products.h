// Int8 products: questions that rules ask about quantized tensors and the products of them.
#pragma once

#include "layers/epilogue.h"
#include "passes/rule.h"

#include <cstdint>
#include <optional>

namespace tenon::passes
{

//! A value of float32 that a Dequantize layer makes of int8 numbers by one known scale.
struct Dequantized
{
    Node const* node;
    ValueId source;
    float scale;
};
std::optional<Dequantized> dequantizedBy(Graph const& graph, ValueId value);
//! The known scale of a Quantize layer that makes int8 numbers of float32 by it.
std::optional<float> quantizingScale(Graph const& graph, Node const& node);

//! What a quantized convolution or product has beside its operands.
struct Int8Product
{
    Epilogue epilogue;
    float outputScale{0.0F};
};
std::optional<Int8Product> int8ProductOf(Node const* node);
//! The same layer with another epilogue and scale.
LayerPtr withProduct(Node const& node, Int8Product const& product);
//! A quantized product whose float32 result nothing but one operand reads.
bool isOpenProduct(Graph const& graph, ValueId value);

} // namespace tenon::passes
