// What ONNX says about an operator's inputs and attributes, held against a node.
#pragma once

#include "node.h"

namespace tenon::onnx
{

//! One operator from one opset on.
struct Signature
{
    std::string_view op;
    int64_t since;
    int64_t maxInputs;
    std::string_view attributes; //!< Names with a space between.
    bool keepsType;              //!< The first output has the type of the first input.
};

//! Whether the first output of the node's operator has the element type of its first input.
bool keepsType(Node const& node);

//! Fails when the node has more inputs than the operator of its opset; warns of attributes that it does not have, which
//! nothing will read.
void checkSignature(Node& node, ::onnx::NodeProto const& proto);

} // namespace tenon::onnx
