// Operators that are one layer of one input, or of two with broadcasting: rows of a table.
#include "../operators.h"

#include <algorithm>
#include <array>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

template <typename Operation>
struct Row
{
    std::string_view op;
    Operation operation;
};

constexpr Row<UnaryOperation> kUnary[]{
    {"Abs", UnaryOperation::kABS},
    {"Acos", UnaryOperation::kACOS},
    {"Acosh", UnaryOperation::kACOSH},
    {"Asin", UnaryOperation::kASIN},
    {"Asinh", UnaryOperation::kASINH},
    {"Atan", UnaryOperation::kATAN},
    {"Atanh", UnaryOperation::kATANH},
    {"Ceil", UnaryOperation::kCEIL},
    {"Cos", UnaryOperation::kCOS},
    {"Cosh", UnaryOperation::kCOSH},
    {"Erf", UnaryOperation::kERF},
    {"Exp", UnaryOperation::kEXP},
    {"Floor", UnaryOperation::kFLOOR},
    {"IsNaN", UnaryOperation::kISNAN},
    {"Log", UnaryOperation::kLOG},
    {"Neg", UnaryOperation::kNEG},
    {"Not", UnaryOperation::kNOT},
    {"Reciprocal", UnaryOperation::kRECIP},
    {"Round", UnaryOperation::kROUND},
    {"Sign", UnaryOperation::kSIGN},
    {"Sin", UnaryOperation::kSIN},
    {"Sinh", UnaryOperation::kSINH},
    {"Sqrt", UnaryOperation::kSQRT},
    {"Tan", UnaryOperation::kTAN},
};

constexpr Row<ElementWiseOperation> kBinary[]{
    {"Add", ElementWiseOperation::kSUM},
    {"And", ElementWiseOperation::kAND},
    {"Div", ElementWiseOperation::kDIV},
    {"Greater", ElementWiseOperation::kGREATER},
    {"Less", ElementWiseOperation::kLESS},
    {"Mul", ElementWiseOperation::kPROD},
    {"Or", ElementWiseOperation::kOR},
    {"Sub", ElementWiseOperation::kSUB},
    {"Xor", ElementWiseOperation::kXOR},
};

//! Activation functions with the attributes that become alpha and beta, and their defaults.
struct ActivationRow
{
    std::string_view op;
    ActivationType type;
    char const* alphaName;
    float alpha;
    char const* betaName;
    float beta;
};

constexpr ActivationRow kActivations[]{
    {"Elu", ActivationType::kELU, "alpha", 1.0F, nullptr, 0.0F},
    {"HardSigmoid", ActivationType::kHARD_SIGMOID, "alpha", 0.2F, "beta", 0.5F},
    {"LeakyRelu", ActivationType::kLEAKY_RELU, "alpha", 0.01F, nullptr, 0.0F},
    {"Relu", ActivationType::kRELU, nullptr, 0.0F, nullptr, 0.0F},
    {"Selu", ActivationType::kSELU, "alpha", 1.67326319F, "gamma", 1.05070102F},
    {"Sigmoid", ActivationType::kSIGMOID, nullptr, 0.0F, nullptr, 0.0F},
    {"Softplus", ActivationType::kSOFTPLUS, nullptr, 1.0F, nullptr, 1.0F},
    {"Softsign", ActivationType::kSOFTSIGN, nullptr, 0.0F, nullptr, 0.0F},
    {"Tanh", ActivationType::kTANH, nullptr, 0.0F, nullptr, 0.0F},
    {"ThresholdedRelu", ActivationType::kTHRESHOLDED_RELU, "alpha", 1.0F, nullptr, 0.0F},
};

template <typename Table>
auto const& rowOf(Table const& table, std::string_view op)
{
    return *std::find_if(std::begin(table), std::end(table), [op](auto const& row) { return row.op == op; });
}

Outputs importUnary(Node& node)
{
    Value const x = node.in(0);
    UnaryOperation const operation = rowOf(kUnary, node.op()).operation;
    if (x.type() == DataType::kUINT8) // Which the layer has not.
    {
        return {node.cast(node.unary(node.cast(x, DataType::kINT32), operation), DataType::kUINT8)};
    }
    return {node.unary(x, operation)};
}

//! Before opset 7 an attribute said from which axis on the second operand's axes count.
Value alignedOperand(Node& node)
{
    Value const& b = node.in(1);
    if (node.opset() >= 7 || node.intOr("broadcast", 0) == 0 || !node.hasAttribute("axis"))
    {
        return b;
    }
    int32_t const rank = node.in(0).rank();
    std::vector<int32_t> behind;
    for (int32_t axis = node.axis(node.intOr("axis", 0), rank) + b.rank(); axis < rank; ++axis)
    {
        behind.push_back(b.rank() + static_cast<int32_t>(behind.size()));
    }
    return node.unsqueeze(b, behind);
}

Outputs importBinary(Node& node)
{
    return {node.binary(node.in(0), alignedOperand(node), rowOf(kBinary, node.op()).operation)};
}

Outputs importActivation(Node& node)
{
    ActivationRow const& row = rowOf(kActivations, node.op());
    float const alpha = row.alphaName != nullptr ? node.floatOr(row.alphaName, row.alpha) : row.alpha;
    float const beta = row.betaName != nullptr ? node.floatOr(row.betaName, row.beta) : row.beta;
    return {node.activation(node.in(0), row.type, alpha, beta)};
}

constexpr auto kDirectTable = [] {
    std::array<Operator, std::size(kUnary) + std::size(kBinary) + std::size(kActivations)> all{};
    size_t at{0};
    for (auto const& row : kUnary)
    {
        all[at++] = {row.op, importUnary};
    }
    for (auto const& row : kBinary)
    {
        all[at++] = {row.op, importBinary};
    }
    for (auto const& row : kActivations)
    {
        all[at++] = {row.op, importActivation};
    }
    return all;
}();

} // namespace

constinit std::span<Operator const> const kDirectOperators{kDirectTable};

} // namespace tenon::onnx
