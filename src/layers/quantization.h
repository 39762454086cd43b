// Quantization: what Quantize and Dequantize share: how scales belong to elements.
#pragma once

#include "NvInfer.h"
#include "ir/expr.h"
#include "ir/layer.h"

#include <optional>
#include <vector>

namespace tenon
{

//! In place of an axis: there is one scale, of rank 0.
inline constexpr int32_t kOneScale{-2};

//! Fields of both layers. A scale belongs to all elements (it has one), to a channel (it is 1-D and `axis` says of
//! which axis) or to a block (it has the rank of x, and extents that divide x's; `blockShape`, where it is given, says
//! how long the blocks are, −1: as long as the axis).
struct ScaleUse
{
    int32_t axis;
    nvinfer1::Dims const& blockShape;
    //! One scale of rank 0 for all elements: then the layer is arithmetic that broadcasts. Passes say so by this axis.
    bool isWhole() const noexcept
    {
        return axis == kOneScale && blockShape.nbDims <= 0;
    }
};

//! Input 1 fits input 0; its values are above 0, and those of input 2 are 0, where they are known (rule E12).
Result<Done> checkScale(Inputs const& in, std::string_view kind, ScaleUse const& use);
//! The same of a zero point in the run.
Result<Done> checkZeroPoint(HostTensors const& in, std::string_view kind);

//! The same elements in more axes, so that the scale broadcasts to x: blocks have an axis of their own.
struct ScaleView
{
    std::vector<int64_t> x;
    std::vector<int64_t> scale;
};
ScaleView viewOf(std::vector<int64_t> const& x, std::vector<int64_t> const& scale, ScaleUse const& use);

//! Least and largest number of a type that values are quantized to.
std::pair<double, double> rangeOf(DType type) noexcept;
//! Fits the type that numbers have: only int8 has others than 0.
Result<Done> verifyZeroPoint(int32_t zeroPoint, DType type);
//! x / scale, rounded half to even, plus the zero point, clamped: in float, whatever the operands are.
double quantized(double x, double scale, DType type, int32_t zeroPoint = 0) noexcept;
double dequantized(double x, double scale, int32_t zeroPoint = 0) noexcept;
Expr quantizedExpr(Expr const& x, Expr const& scale, DType type, int32_t zeroPoint = 0);
Expr dequantizedExpr(Expr const& x, Expr const& scale, DType type, int32_t zeroPoint = 0);

} // namespace tenon
