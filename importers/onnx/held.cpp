// Element types of ONNX that the engine has not: how they are held in others.
#include "held.h"

#include "network.h"
#include "node.h"
#include "signature.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tenon::onnx
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::ElementWiseOperation;
using ::onnx::TensorProto;

constexpr Held kHeld[]{
    {TensorProto::INT16, DataType::kINT32, 16, true},
    {TensorProto::UINT16, DataType::kINT32, 16, false},
    {TensorProto::UINT32, DataType::kINT64, 32, false},
    {TensorProto::UINT64, DataType::kINT64, 64, false},
    {TensorProto::INT4, DataType::kINT8, 4, true},
    {TensorProto::UINT4, DataType::kUINT8, 4, false},
    {TensorProto::INT2, DataType::kINT8, 2, true},
    {TensorProto::UINT2, DataType::kUINT8, 2, false},
    {TensorProto::FLOAT8E5M2, DataType::kFLOAT, 8, true, 2, -14, 57344.0, true, true},
    {TensorProto::FLOAT8E5M2FNUZ, DataType::kFLOAT, 8, true, 2, -15, 57344.0, false, true},
    {TensorProto::FLOAT8E4M3FNUZ, DataType::kFLOAT, 8, true, 3, -7, 240.0, false, true},
    {TensorProto::FLOAT4E2M1, DataType::kFLOAT, 4, true, 1, 0, 6.0, false, false},
    {TensorProto::FLOAT8E8M0, DataType::kFLOAT, 8, false, 0, -127, 0x1p127, false, true},
};

bool isWide(Value const& x)
{
    return x.type() == DataType::kINT64;
}

//! Integers held in the type, wrapped to its bits.
Value wrapped(Node& node, Value const& x, Held const& held)
{
    if (held.bits == 64)
    {
        return node.cast(x, held.type);
    }
    DataType const wide = held.bits == 32 || isWide(x) ? DataType::kINT64 : DataType::kINT32;
    auto const mask = static_cast<double>((int64_t{1} << held.bits) - 1);
    auto const half = static_cast<double>(int64_t{1} << (held.bits - 1));
    Value result = node.cast(x, wide);
    if (held.isSigned)
    {
        result = node.binary(result, node.scalar(half, wide), ElementWiseOperation::kSUM);
    }
    result = node.binary(result, node.scalar(mask, wide), ElementWiseOperation::kAND);
    if (held.isSigned)
    {
        result = node.binary(result, node.scalar(half, wide), ElementWiseOperation::kSUB);
    }
    return node.cast(result, held.type);
}

//! The distance of the type's numbers around each element, for magnitudes up to its largest.
Value spacingOf(Node& node, Value const& magnitude, Held const& held)
{
    auto const number = [&](double value) { return node.scalar(value, DataType::kFLOAT); };
    Value spacing = number(std::ldexp(1.0, held.leastExponent - held.mantissa));
    int const last = std::ilogb(held.most);
    for (int exponent = held.leastExponent + 1; exponent <= last; ++exponent)
    {
        Value const isBelow = node.binary(magnitude, number(std::ldexp(1.0, exponent)), ElementWiseOperation::kLESS);
        spacing = node.select(isBelow, spacing, number(std::ldexp(1.0, exponent - held.mantissa)));
    }
    return spacing;
}

//! To the nearest, ties to the even one.
Value rounded(Node& node, Value const& x, Held const& held, bool saturates)
{
    constexpr double kInfinity{std::numeric_limits<double>::infinity()};
    auto const number = [&](double value) { return node.scalar(value, DataType::kFLOAT); };
    Value const wide = node.cast(x, DataType::kFLOAT);
    Value const magnitude = node.unary(wide, nvinfer1::UnaryOperation::kABS);
    double const step = std::ldexp(1.0, std::ilogb(held.most) - held.mantissa);
    Value const near = node.binary(magnitude, number(held.most + step), ElementWiseOperation::kMIN);
    Value const spacing = spacingOf(node, near, held);
    Value const whole =
        node.unary(node.binary(near, spacing, ElementWiseOperation::kDIV), nvinfer1::UnaryOperation::kROUND);
    Value result = node.binary(whole, spacing, ElementWiseOperation::kPROD);
    Value const fits = node.binary(result, number(held.most + step / 2.0), ElementWiseOperation::kLESS);
    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const beyond = saturates || !held.hasNan ? held.most : held.hasInfinity ? kInfinity : nan;
    result = node.select(fits, result, number(beyond));
    if (held.hasNan) // The ends that saturation does not change: infinities where there are any, and no numbers.
    {
        double const end = held.hasInfinity && !saturates ? kInfinity : saturates ? held.most : nan;
        Value const isInfinite = node.unary(wide, nvinfer1::UnaryOperation::kISINF);
        result = node.select(isInfinite, number(end), result);
        result = node.select(node.unary(wide, nvinfer1::UnaryOperation::kISNAN), number(nan), result);
    }
    else
    {
        result = node.select(node.unary(wide, nvinfer1::UnaryOperation::kISNAN), number(0.0), result);
    }
    Value const isNegative = node.binary(wide, number(0.0), ElementWiseOperation::kLESS);
    Value const negative = node.binary(number(0.0), result, ElementWiseOperation::kSUB);
    return node.select(isNegative, negative, result);
}

//! Operators whose result may need more bits than their operands.
bool computes(std::string_view op)
{
    constexpr std::array kOps{"Abs", "Add", "BitwiseNot", "CumProd", "CumSum", "Einsum", "Gemm", "MatMul", "Mul", "Neg",
        "Pow", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Sub", "Sum"};
    return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

double decoded(Held const& held, uint64_t code)
{
    if (held.isInteger())
    {
        bool const isNegative = held.isSigned && ((code >> (held.bits - 1)) & 1U) != 0;
        auto const value = static_cast<double>(code);
        return isNegative ? value - std::ldexp(1.0, held.bits) : value;
    }
    if (held.isPower())
    {
        return code == 0xFFU ? std::numeric_limits<double>::quiet_NaN()
                             : std::ldexp(1.0, static_cast<int>(code) + held.leastExponent);
    }
    auto const fraction = static_cast<int>(code & ((uint64_t{1} << held.mantissa) - 1U));
    int const exponentBits = held.bits - 1 - held.mantissa;
    auto const exponent = static_cast<int>((code >> held.mantissa) & ((uint64_t{1} << exponentBits) - 1U));
    double const sign = ((code >> (held.bits - 1)) & 1U) != 0 ? -1.0 : 1.0;
    if (held.hasInfinity && exponent == (1 << exponentBits) - 1)
    {
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    }
    if (held.hasNan && !held.hasInfinity && code == uint64_t{1} << (held.bits - 1))
    {
        return std::numeric_limits<double>::quiet_NaN(); // Where others have −0.
    }
    int const whole = fraction + (exponent == 0 ? 0 : 1 << held.mantissa);
    return sign
        * std::ldexp(static_cast<double>(whole), held.leastExponent - held.mantissa + std::max(exponent - 1, 0));
}

} // namespace

bool Held::isPower() const noexcept
{
    return onnx == TensorProto::FLOAT8E8M0;
}

Held const* heldBy(int32_t onnxType)
{
    auto const* const found =
        std::find_if(std::begin(kHeld), std::end(kHeld), [&](Held const& held) { return held.onnx == onnxType; });
    return found == std::end(kHeld) ? nullptr : found;
}

std::vector<double> numbersOfHeld(Held const& held, std::vector<uint64_t> const& codes)
{
    std::vector<double> numbers(codes.size());
    std::transform(codes.begin(), codes.end(), numbers.begin(), [&](uint64_t code) { return decoded(held, code); });
    return numbers;
}

Value unheld(Value const& x)
{
    if (x.held() == 0)
    {
        return x;
    }
    if (x.isConstant())
    {
        Constant plain = x.constant();
        plain.held = 0;
        return {plain, x.name()};
    }
    return x.tensor();
}

Value convertedTo(Node& node, Value const& x, Held const& held, bool saturates)
{
    if (x.held() == held.onnx)
    {
        return x;
    }
    if (held.isPower() && !x.isConstant())
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
            fmt::format("{} to FLOAT8E8M0: the engine has no rounding to powers of two", node.op()));
    }
    Value const plain = unheld(x);
    Value const result = held.isInteger() ? wrapped(node, plain, held) : rounded(node, plain, held, saturates);
    return result.marked(held.onnx);
}

void keepHeld(Node& node, std::vector<Value>& outputs)
{
    if (outputs.empty() || !outputs[0].exists() || node.nbInputs() == 0 || !node.has(0) || node.in(0).held() == 0
        || outputs[0].held() != 0 || !keepsType(node))
    {
        return;
    }
    Held const& held = *heldBy(node.in(0).held());
    if (outputs[0].type() != held.type)
    {
        return;
    }
    bool const isExact = !computes(node.op());
    outputs[0] = isExact ? outputs[0].marked(held.onnx) : convertedTo(node, outputs[0], held, true);
}

} // namespace tenon::onnx
