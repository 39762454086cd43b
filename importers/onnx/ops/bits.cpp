// Operators on the bits of integers.
#include "../held.h"
#include "../operators.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

//! Integers wrapped to so many bits, in the engine's type.
Value wrappedInto(Node& node, Value const& x, int bits, bool isSigned, DataType type)
{
    if (bits == 64)
    {
        return node.cast(x, type);
    }
    Value wide = node.cast(x, DataType::kINT64);
    auto const number = [&](int64_t value) { return node.scalar(static_cast<double>(value), DataType::kINT64); };
    bool const isCentred = isSigned && type != DataType::kUINT8;
    wide = isCentred ? node.binary(wide, number(int64_t{1} << (bits - 1)), ElementWiseOperation::kSUM) : wide;
    wide = node.binary(wide, number((int64_t{1} << bits) - 1), ElementWiseOperation::kAND);
    wide = isCentred ? node.binary(wide, number(int64_t{1} << (bits - 1)), ElementWiseOperation::kSUB) : wide;
    return node.cast(wide, type);
}

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

struct Width
{
    int bits;
    bool isSigned;
};

Width widthOf(Node const& node, Value const& x)
{
    if (Held const* const held = heldBy(x.held()))
    {
        return {held->bits, held->isSigned};
    }
    switch (x.type())
    {
    case DataType::kUINT8: return {8, false};
    case DataType::kINT8: return {8, true};
    case DataType::kINT32: return {32, true};
    case DataType::kINT64: return {64, true};
    default: fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("{} of type {}", node.op(), nameOf(x.type())));
    }
}

//! The element of the table at each count of places; counts that are negative or the width and more read the last one.
Value lookedUp(Node& node, Integers const& table, Value const& places)
{
    Value const all = node.integerConstant(table);
    return node.output(node.api().addGather(node.tensor(all), node.tensor(places), 0), "factors");
}

//! A shift is a product with a power of two, or quotients rounded down; powers and masks stand in tables.
Outputs importBitShift(Node& node)
{
    Value const x = node.in(0);
    std::string const direction = node.stringOr("direction", "");
    auto const [bits, isSigned] = widthOf(node, x);
    if (direction != "LEFT" && direction != "RIGHT")
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("BitShift '{}'", direction));
    }
    Value const given = node.cast(unheld(node.in(1)), DataType::kINT64);
    Value const width = node.scalar(bits, DataType::kINT64);
    Value const isBelow = node.binary(given, width, ElementWiseOperation::kLESS);
    Value const isNegative = node.binary(given, node.scalar(0.0, DataType::kINT64), ElementWiseOperation::kLESS);
    Value const places = node.select(
        node.binary(isBelow, node.unary(isNegative, nvinfer1::UnaryOperation::kNOT), ElementWiseOperation::kAND), given,
        width);
    Integers powers;
    Integers first; // Quotients by 2^63 take two steps.
    Integers second;
    Integers masks;
    for (int i = 0; i <= bits; ++i)
    {
        powers.push_back(i == bits ? 0 : static_cast<int64_t>(uint64_t{1} << i));
        int const steps = isSigned ? std::min(i, bits - 1) : i;
        first.push_back(int64_t{1} << std::min(steps, 62));
        second.push_back(int64_t{1} << std::max(steps - 62, 0));
        masks.push_back(i == 0 ? -1 : i == 64 ? 0 : static_cast<int64_t>(~uint64_t{0} >> i));
    }
    Value shifted = node.cast(unheld(x), DataType::kINT64);
    if (direction == "LEFT")
    {
        shifted = node.binary(shifted, lookedUp(node, powers, places), ElementWiseOperation::kPROD);
    }
    else
    {
        shifted = node.binary(shifted, lookedUp(node, first, places), ElementWiseOperation::kFLOOR_DIV);
        if (bits == 64)
        {
            shifted = node.binary(shifted, lookedUp(node, second, places), ElementWiseOperation::kFLOOR_DIV);
        }
        if (bits == 64 && !isSigned) // What is held as a negative number has no sign to fill up with.
        {
            shifted = node.binary(shifted, lookedUp(node, masks, places), ElementWiseOperation::kAND);
        }
    }
    if (Held const* const held = heldBy(x.held()))
    {
        return {convertedTo(node, shifted, *held, true)};
    }
    return {wrappedInto(node, shifted, bits, isSigned, x.type())};
}

//! The same bits in a type of the same width: integers only.
Outputs importBitCast(Node& node)
{
    Value const x = node.in(0);
    auto const to = node.int32Or("to", 0);
    Held const* const held = heldBy(to);
    DataType const type = typeOfOnnx(to);
    if (x.type() == DataType::kBOOL && (type == DataType::kUINT8 || type == DataType::kINT8) && held == nullptr)
    {
        return {node.cast(x, type)};
    }
    Value const plain = unheld(x);
    bool const isFraction = isFloating(x.type()) || isFloating(type) || type == DataType::kBOOL;
    int const bits = isFraction ? 0 : widthOf(node, x).bits;
    int const wanted = isFraction ? 0 : held != nullptr ? held->bits : static_cast<int>(8 * bytesOf(type));
    if (isFraction || bits != wanted)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
            fmt::format("BitCast from {} to {}: the engine reads no bits of floating numbers", nameOf(x.type()),
                nameOfOnnx(to)));
    }
    return {held != nullptr ? convertedTo(node, plain, *held, true) : wrappedInto(node, plain, bits, true, type)};
}

constexpr Operator kBitTable[]{
    {"BitCast", importBitCast},
    {"BitShift", importBitShift},
    {"BitwiseAnd", importBitwise<ElementWiseOperation::kAND>},
    {"BitwiseNot", importBitwiseNot},
    {"BitwiseOr", importBitwise<ElementWiseOperation::kOR>},
    {"BitwiseXor", importBitwise<ElementWiseOperation::kXOR>},
};

} // namespace

constinit std::span<Operator const> const kBitOperators{kBitTable};

} // namespace tenon::onnx
