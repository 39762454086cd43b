// Element types of ONNX that the engine has not: integers are held in wider ones and wrapped to their bits, small
// floating types in float, rounded to what they can tell apart.
#pragma once

#include "value.h"

namespace tenon::onnx
{

class Node;

//! How elements of a type are held. Integers: bits and sign. Floating types: bits of the mantissa, exponents, limits.
struct Held
{
    int32_t onnx; //!< The number of the type in ONNX.
    nvinfer1::DataType type;
    int bits;
    bool isSigned{true};
    int mantissa{0};
    int leastExponent{0}; //!< Of normal numbers.
    double most{0.0};
    bool hasInfinity{false};
    bool hasNan{false};

    bool isInteger() const noexcept
    {
        return most == 0.0;
    }
    bool isPower() const noexcept; //!< Elements are powers of two.
};

//! Null for a type that the engine has, or that nobody knows.
Held const* heldBy(int32_t onnxType);

//! Elements packed as ONNX stores them, lowest bits first.
std::vector<double> numbersOfHeld(Held const& held, std::vector<uint64_t> const& codes);

//! x, of any type, as elements of the type: truncated and wrapped, or rounded; what is too large becomes the largest,
//! or with `saturates` false infinite or no number.
Value convertedTo(Node& node, Value const& x, Held const& held, bool saturates);
//! The same elements that carry no mark.
Value unheld(Value const& x);

//! Marks the outputs of a node that keeps its operand's type, and wraps what it computes to the type's bits.
void keepHeld(Node& node, std::vector<Value>& outputs);

} // namespace tenon::onnx
