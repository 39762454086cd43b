// Products of matrices of bytes, exact in int32.
#pragma once

#include "quantization.h"

namespace tenon::onnx
{

inline constexpr int64_t kExactProducts{(int64_t{1} << 24) / (128 * 128)}; //!< Whose sum float32 has, of int8 numbers.
inline constexpr int64_t kMaxParts{256};                                   //!< Of so many products, of one sum.

//! int8 or uint8 numbers, and the zero point that is subtracted from them: absent, one, or one per row of a left
//! operand and per column of a right one.
struct IntegerMatrix
{
    Value numbers;
    Value zeroPoint;
};
//! Inputs of a node; the zero point's may be missing.
IntegerMatrix integersAt(Node& node, int numbers, int zeroPoint);
//! Of real numbers.
Value matrixProduct(Node& node, Value const& a, Value const& b);
//! Whole numbers that float32 has, as int32: a device that multiplies real numbers may be off by less than a half.
Value wholeOf(Node& node, Value const& x);
//! int32. A vector is a row on the left and a column on the right, as in NumPy.
Value integerProduct(Node& node, IntegerMatrix const& a, IntegerMatrix const& b);
Outputs importMatMulInteger(Node& node);

} // namespace tenon::onnx
