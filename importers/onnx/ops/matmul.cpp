// MatMul, Gemm and Einsum.
#include "../operators.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;

//! Products of whole numbers: the layer of matrices has none, that of sums by letters has.
Value integerMatMul(Node& node, Value const& a, Value const& b)
{
    std::string const rows = a.rank() == 1 ? "" : "i";
    std::string const columns = b.rank() == 1 ? "" : "k";
    std::string const equation = (a.rank() > 2 ? "..." : "") + rows + "j," + (b.rank() > 2 ? "..." : "") + "j" + columns
        + "->" + (std::max(a.rank(), b.rank()) > 2 ? "..." : "") + rows + columns;
    nvinfer1::ITensor* const inputs[]{&node.tensor(a), &node.tensor(b)};
    return node.output(node.api().addEinsum(inputs, 2, equation.c_str()), "matmul");
}

//! A vector counts as one axis less than a matrix: batch axes are put in front until both have as many.
Outputs importMatMul(Node& node)
{
    Value a = node.in(0);
    Value b = node.in(1);
    if (a.rank() < 1 || b.rank() < 1)
    {
        fail(ErrorCode::kINVALID_NODE, "MatMul of a scalar");
    }
    if (a.type() == DataType::kINT32 || a.type() == DataType::kINT64)
    {
        return {integerMatMul(node, a, b)};
    }
    auto const operationOf = [](Value const& x) {
        return x.rank() == 1 ? MatrixOperation::kVECTOR : MatrixOperation::kNONE;
    };
    MatrixOperation const opA = operationOf(a);
    MatrixOperation const opB = operationOf(b);
    int32_t const batchAxes = std::max({a.rank() - 2, b.rank() - 2, 0});
    a = node.withRank(a, batchAxes + (opA == MatrixOperation::kVECTOR ? 1 : 2));
    b = node.withRank(b, batchAxes + (opB == MatrixOperation::kVECTOR ? 1 : 2));
    return {node.output(node.api().addMatrixMultiply(node.tensor(a), opA, node.tensor(b), opB), "matmul")};
}

//! alpha · op(a) · op(b) + beta · c.
Outputs importGemm(Node& node)
{
    Value const a = node.in(0);
    Value const b = node.in(1);
    if (a.rank() != 2 || b.rank() != 2)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("Gemm of shapes {} and {}", shapeText(a.shape()), shapeText(b.shape())));
    }
    auto const operationOf = [&node](char const* name) {
        return node.intOr(name, 0) != 0 ? MatrixOperation::kTRANSPOSE : MatrixOperation::kNONE;
    };
    float const alpha = node.floatOr("alpha", 1.0F);
    float const beta = node.floatOr("beta", 1.0F);
    MatrixOperation const opA = operationOf("transA");
    MatrixOperation const opB = operationOf("transB");
    Value result = node.output(node.api().addMatrixMultiply(node.tensor(a), opA, node.tensor(b), opB), "matmul");
    if (alpha != 1.0F)
    {
        result = node.binary(result, node.scalar(alpha, result.type()), ElementWiseOperation::kPROD);
    }
    if (node.has(2) && beta != 0.0F)
    {
        Value c = node.in(2);
        if (beta != 1.0F)
        {
            c = node.binary(c, node.scalar(beta, c.type()), ElementWiseOperation::kPROD);
        }
        result = node.binary(result, c, ElementWiseOperation::kSUM);
    }
    return {result};
}

//! The layer takes lower-case letters: upper-case ones become, in their order, those that the equation does not have.
std::string lowerCase(std::string const& equation)
{
    std::string result;
    std::string upper;
    for (char const c : equation)
    {
        if (c >= 'A' && c <= 'Z' && upper.find(c) == std::string::npos)
        {
            upper += c;
        }
    }
    for (char const c : equation)
    {
        if (upper.find(c) == std::string::npos)
        {
            result += c == ' ' ? "" : std::string{c};
            continue;
        }
        char letter = static_cast<char>(c - 'A' + 'a');
        auto const rank = static_cast<size_t>(std::count_if(upper.begin(), upper.end(), [&](char o) { return o < c; }));
        size_t free{0};
        for (char candidate = 'a'; candidate <= 'z'; ++candidate)
        {
            if (equation.find(candidate) == std::string::npos && free++ == rank)
            {
                letter = candidate;
                break;
            }
        }
        result += letter;
    }
    return result;
}

Outputs importEinsum(Node& node)
{
    std::string const equation = node.stringOr("equation", "");
    std::vector<nvinfer1::ITensor*> inputs;
    for (Value const& input : node.inputs())
    {
        inputs.push_back(&node.tensor(input));
    }
    if (inputs.empty() || equation.empty())
    {
        fail(ErrorCode::kINVALID_NODE, "Einsum without inputs or equation");
    }
    std::string const letters = lowerCase(equation);
    return {node.output(
        node.api().addEinsum(inputs.data(), static_cast<int32_t>(inputs.size()), letters.c_str()), "einsum")};
}

constexpr Operator kMatmulTable[]{
    {"Einsum", importEinsum},
    {"Gemm", importGemm},
    {"MatMul", importMatMul},
};

} // namespace

constinit std::span<Operator const> const kMatmulOperators{kMatmulTable};

} // namespace tenon::onnx
