// Quantization: numbers of narrow types with scale and zero point, for the operators that compute with them.
#pragma once

#include "../operators.h"

namespace tenon::onnx
{

//! x, with a scale and a zero point (perhaps absent) for all of it, for each index of an axis, or for each block of
//! `blockSize` along it.
struct Quantization
{
    Value x;
    Value scale;
    Value zeroPoint;
    int32_t axis{0};
    int64_t blockSize{0};
};

//! Absent, or known to be 0.
bool isZero(Value const& zeroPoint);
//! round(x / scale) + zero point, clamped to the range of the type; `held`: the ONNX type where the engine has not got
//! it (held.h), else 0.
Value quantize(Node& node, Quantization const& q, DataType type, int32_t held = 0);
//! Bytes as int8 numbers: uint8 ones less 128.
Value signedForm(Node& node, Value const& x);
//! To uint8 by the range of the numbers, 0 included: the numbers, scale and zero point.
Outputs dynamicallyQuantized(Node& node, Value const& x);
//! (x − zero point) · scale
Value dequantize(Node& node, Quantization const& q, DataType type);

} // namespace tenon::onnx
