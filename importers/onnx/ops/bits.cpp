// Operators on the bits of integers.
#include "../operators.h"

#include <array>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

template <ElementWiseOperation operation>
Outputs importBitwise(Node& node)
{
    return {node.binary(node.in(0), node.in(1), operation)};
}

Outputs importBitwiseNot(Node& node)
{
    Value const x = node.in(0);
    double const ones = x.type() == DataType::kUINT8 ? 255.0 : -1.0;
    return {node.binary(x, node.scalar(ones, x.type()), ElementWiseOperation::kXOR)};
}

//! A shift is a product with a power of two, or a quotient of it, which a table has.
Outputs importBitShift(Node& node)
{
    Value const x = node.in(0);
    std::string const direction = node.stringOr("direction", "");
    if (x.type() != DataType::kUINT8 || (direction != "LEFT" && direction != "RIGHT"))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
            fmt::format("BitShift '{}' of type {}", direction, nameOf(x.type())));
    }
    constexpr int32_t kBits{8};
    std::vector<double> powers; // Shifts of eight bits and more leave nothing.
    for (int32_t i = 0; i < 256; ++i)
    {
        powers.push_back(static_cast<double>(1 << (i < kBits ? i : kBits)));
    }
    Value const table = node.numbers(powers, {256}, DataType::kINT32);
    Value const factors = node.output(
        node.api().addGather(node.tensor(table), node.tensor(node.cast(node.in(1), DataType::kINT32)), 0), "powers");
    auto const operation = direction == "LEFT" ? ElementWiseOperation::kPROD : ElementWiseOperation::kFLOOR_DIV;
    Value const shifted = node.binary(node.cast(x, DataType::kINT32), factors, operation);
    Value const low =
        node.binary(shifted, node.scalar(255.0, DataType::kINT32), ElementWiseOperation::kAND); // Back into its range.
    return {node.cast(low, DataType::kUINT8)};
}

constexpr Operator kBitTable[]{
    {"BitShift", importBitShift},
    {"BitwiseAnd", importBitwise<ElementWiseOperation::kAND>},
    {"BitwiseNot", importBitwiseNot},
    {"BitwiseOr", importBitwise<ElementWiseOperation::kOR>},
    {"BitwiseXor", importBitwise<ElementWiseOperation::kXOR>},
};

} // namespace

constinit std::span<Operator const> const kBitOperators{kBitTable};

} // namespace tenon::onnx
