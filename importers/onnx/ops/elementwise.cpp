// Elementwise operators that need more than one layer: n-ary ones, comparisons, powers, remainders, casts, Where.
#include "../held.h"
#include "../operators.h"
#include "../own_calls.h"

#include <algorithm>
#include <limits>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

ElementWiseOperation nAryOperation(std::string_view op)
{
    return op == "Max" ? ElementWiseOperation::kMAX
        : op == "Min"  ? ElementWiseOperation::kMIN
                       : ElementWiseOperation::kSUM;
}

//! Max, Min, Sum and Mean of any number of inputs.
Outputs importNary(Node& node)
{
    Value result = node.in(0);
    for (int i = 1; i < node.nbInputs(); ++i)
    {
        result = node.binary(result, node.in(i), nAryOperation(node.op()));
    }
    if (node.op() == "Mean" && node.nbInputs() > 1)
    {
        result = node.binary(result, node.scalar(node.nbInputs(), result.type()), ElementWiseOperation::kDIV);
    }
    if (node.nbInputs() == 1)
    {
        result = node.output(node.api().addIdentity(node.tensor(result)));
    }
    return {result};
}

//! Comparisons of booleans go through integers.
Value comparable(Node& node, Value const& x)
{
    return x.type() == DataType::kBOOL ? node.cast(x, DataType::kINT32) : x;
}

Outputs importEqual(Node& node)
{
    return {node.binary(comparable(node, node.in(0)), comparable(node, node.in(1)), ElementWiseOperation::kEQUAL)};
}

//! Not the opposite comparison negated: that would be true for NaN.
Outputs importOrEqual(Node& node)
{
    auto const strict = node.op() == "GreaterOrEqual" ? ElementWiseOperation::kGREATER : ElementWiseOperation::kLESS;
    Value const a = node.in(0);
    Value const b = node.in(1);
    Value const differs = node.binary(a, b, strict);
    Value const equal = node.binary(a, b, ElementWiseOperation::kEQUAL);
    return {node.binary(differs, equal, ElementWiseOperation::kOR)};
}

Outputs importPow(Node& node)
{
    Value const base = node.in(0);
    if (isFloating(base.type()))
    {
        return {node.binary(base, node.cast(node.in(1), base.type()), ElementWiseOperation::kPOW)};
    }
    // The base's type is the result's: integers go through float, or the double of the exponent.
    DataType const wide = wideOf(node.in(1).type());
    Value const power = node.binary(node.cast(base, wide), node.cast(node.in(1), wide), ElementWiseOperation::kPOW);
    return {node.cast(power, base.type())};
}

//! One of the two in the shape that both broadcast to.
Value spreadOver(Node& node, Value const& a, Value const& b, bool isFirst)
{
    Shape const shape = a.shape();
    bool const isKnown = std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
    if (isKnown && shape == b.shape())
    {
        return isFirst ? a : b;
    }
    Value const takesFirst = node.scalar(isFirst ? 1.0 : 0.0, DataType::kBOOL);
    return node.select(takesFirst, a, b);
}

//! a − q·b, with the quotient rounded to zero (fmod) or to minus infinity (the sign of the divisor).
Outputs importMod(Node& node)
{
    Value const a = node.in(0);
    Value const b = node.in(1);
    bool const truncates = node.intOr("fmod", 0) != 0;
    if (isFloating(a.type()))
    {
        // a − trunc(a / b) · b is no remainder where the quotient is large or b infinite.
        Value const from = spreadOver(node, a, b, true);
        Value const by = spreadOver(node, a, b, false);
        return {node.output(addRemainder(node.api(), node.tensor(from), node.tensor(by), !truncates), "remainder")};
    }
    Value const quotient = node.binary(a, b, truncates ? ElementWiseOperation::kDIV : ElementWiseOperation::kFLOOR_DIV);
    Value const whole = node.binary(quotient, b, ElementWiseOperation::kPROD);
    return {node.binary(a, whole, ElementWiseOperation::kSUB)};
}

Outputs importIsInf(Node& node)
{
    Value const x = node.in(0);
    Value const infinite = node.unary(x, UnaryOperation::kISINF);
    bool const negative = node.intOr("detect_negative", 1) != 0;
    bool const positive = node.intOr("detect_positive", 1) != 0;
    if (negative && positive)
    {
        return {infinite};
    }
    Value const zero = node.scalar(0.0, x.type());
    Value const sign = node.binary(x, zero, positive ? ElementWiseOperation::kGREATER : ElementWiseOperation::kLESS);
    Value const both = node.binary(infinite, sign, ElementWiseOperation::kAND);
    return {negative || positive
            ? both
            : node.binary(infinite, node.unary(infinite, UnaryOperation::kNOT), ElementWiseOperation::kAND)};
}

//! The number of the engine's type in ONNX.
int32_t numberOf(DataType type)
{
    using Onnx = ::onnx::TensorProto;
    constexpr int32_t kNumbers[]{Onnx::FLOAT, Onnx::FLOAT16, Onnx::INT8, Onnx::INT32, Onnx::BOOL, Onnx::UINT8,
        Onnx::FLOAT8E4M3FN, Onnx::BFLOAT16, Onnx::INT64, Onnx::DOUBLE};
    for (int32_t const number : kNumbers)
    {
        if (typeOfOnnx(number) == type)
        {
            return number;
        }
    }
    fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("a cast to elements {}", nameOf(type)));
}

//! Without saturation, what rounds to more than the largest number of the type becomes no number.
Value lost(Node& node, Value const& x, DataType type)
{
    if (type != DataType::kFP8 || node.intOr("saturate", 1) != 0 || !isFloating(x.type()))
    {
        return x;
    }
    constexpr double kFirstBeyond{464.0}; // Halfway from 448 to where 480 would be.
    Value const wide = node.cast(x, DataType::kFLOAT);
    Value const magnitude = node.unary(wide, UnaryOperation::kABS);
    Value const isBeyond =
        node.binary(magnitude, node.scalar(kFirstBeyond, DataType::kFLOAT), ElementWiseOperation::kGREATER);
    return node.select(isBeyond, node.scalar(std::numeric_limits<double>::quiet_NaN(), DataType::kFLOAT), wide);
}

//! To an ONNX type; what the engine has not is held in another (held.h).
Value castTo(Node& node, Value const& from, int32_t onnxType)
{
    if (Held const* const held = heldBy(onnxType))
    {
        return convertedTo(node, from, *held, node.intOr("saturate", 1) != 0);
    }
    DataType const type = typeOfOnnx(onnxType);
    Value x = lost(node, unheld(from), type);
    if (areBothBytes(x.type(), type))
    {
        x = node.cast(x, DataType::kINT32);
    }
    return x.isConstant() ? node.cast(x, type) : node.output(node.api().addCast(node.tensor(x), type));
}

Outputs importCast(Node& node)
{
    int64_t const to = node.intOr("to", 0);
    if (to == ::onnx::TensorProto::DOUBLE)
    {
        node.warnOnce(noteOfDouble());
    }
    return {castTo(node, node.in(0), narrowed(to, "to"))};
}

Outputs importCastLike(Node& node)
{
    Value const like = node.in(1);
    return {castTo(node, node.in(0), like.held() != 0 ? like.held() : numberOf(like.type()))};
}

Outputs importWhere(Node& node)
{
    return {node.select(node.in(0), node.in(1), node.in(2))};
}

Outputs importIdentity(Node& node)
{
    bool const isPassed = node.in(0).isConstant() || node.in(0).isSequence() || node.in(0).isNothing();
    return {isPassed ? node.in(0) : node.output(node.api().addIdentity(node.tensor(node.in(0))))};
}

//! At inference nothing is dropped; the mask, where read, is all true.
Outputs importDropout(Node& node)
{
    if (node.has(2) && node.number(2, "training_mode", 0.0) != 0.0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, "Dropout in training mode");
    }
    Outputs outputs{node.output(node.api().addIdentity(node.tensor(node.in(0))))};
    if (node.wants(1))
    {
        Value const x = node.in(0);
        DataType const type = node.opset() < 10 ? x.type() : DataType::kBOOL;
        outputs.push_back(expandTo(node, node.scalar(1.0, type, x.rank()), extentsOf(node, x)));
    }
    return outputs;
}

//! a · sigmoid(alpha · a) · b
Outputs importSwiGlu(Node& node)
{
    Value const a = node.in(0);
    auto const alpha = static_cast<double>(node.floatOr("alpha", 1.0F));
    Value const scaled = alpha == 1.0 ? a : node.binary(a, node.scalar(alpha, a.type()), ElementWiseOperation::kPROD);
    Value const gate = node.activation(scaled, nvinfer1::ActivationType::kSIGMOID);
    return {node.binary(node.binary(a, gate, ElementWiseOperation::kPROD), node.in(1), ElementWiseOperation::kPROD)};
}

constexpr Operator kElementwiseTable[]{
    {"Cast", importCast},
    {"CastLike", importCastLike},
    {"Dropout", importDropout},
    {"Equal", importEqual},
    {"GreaterOrEqual", importOrEqual},
    {"Identity", importIdentity},
    {"IsInf", importIsInf},
    {"LessOrEqual", importOrEqual},
    {"Max", importNary},
    {"Mean", importNary},
    {"Min", importNary},
    {"Mod", importMod},
    {"Pow", importPow},
    {"Sum", importNary},
    {"SwiGLU", importSwiGlu},
    {"Where", importWhere},
};

} // namespace

constinit std::span<Operator const> const kElementwiseOperators{kElementwiseTable};

} // namespace tenon::onnx
