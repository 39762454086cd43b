// Elementwise operators that need more than one layer: n-ary ones, comparisons, powers, remainders, casts, Where.
#include "../operators.h"

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
    // The base's type is the result's: integers go through float.
    Value const power = node.binary(
        node.cast(base, DataType::kFLOAT), node.cast(node.in(1), DataType::kFLOAT), ElementWiseOperation::kPOW);
    return {node.cast(power, base.type())};
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
        fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
            fmt::format("Mod of {} elements: the engine has no exact remainder of floating numbers", nameOf(a.type())));
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

Value castLayer(Node& node, Value const& x, DataType type)
{
    return x.isConstant() ? node.cast(x, type) : node.output(node.api().addCast(node.tensor(x), type));
}

//! What is too large for an eight-bit float becomes its largest number: there is no other way.
void checkSaturation(Node const& node, DataType type)
{
    if (type == DataType::kFP8 && node.intOr("saturate", 1) == 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("{} to fp8 without saturation", node.op()));
    }
}

Outputs importCast(Node& node)
{
    int64_t const to = node.intOr("to", 0);
    checkSaturation(node, typeOfOnnx(static_cast<int32_t>(to)));
    if (to == ::onnx::TensorProto::DOUBLE)
    {
        node.warnOnce("casts to double become casts to float");
    }
    return {castLayer(node, node.in(0), typeOfOnnx(static_cast<int32_t>(to)))};
}

Outputs importCastLike(Node& node)
{
    checkSaturation(node, node.in(1).type());
    return {castLayer(node, node.in(0), node.in(1).type())};
}

Outputs importWhere(Node& node)
{
    return {node.select(node.in(0), node.in(1), node.in(2))};
}

Outputs importIdentity(Node& node)
{
    return {node.in(0).isConstant() ? node.in(0) : node.output(node.api().addIdentity(node.tensor(node.in(0))))};
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
        outputs.push_back(expandTo(node, node.scalar(1.0, DataType::kBOOL, x.rank()), extentsOf(node, x)));
    }
    return outputs;
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
    {"Where", importWhere},
};

} // namespace

constinit std::span<Operator const> const kElementwiseOperators{kElementwiseTable};

} // namespace tenon::onnx
