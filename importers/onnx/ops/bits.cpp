// Operators on the bits of integers.
#include "../held.h"
#include "../operators.h"
#include "../own_calls.h"

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

//! 2 to the power of counts: 0 where they are negative, or have more places than the type. Kernels see a shift in
//! products with it, and in quotients by it.
Value powerOfTwo(Node& node, Value const& places)
{
    return node.binary(node.scalar(2.0, places.type()), places, ElementWiseOperation::kPOW);
}

//! Quotients rounded down by powers of two: by 2^63 they take two steps.
Value shiftedRight(Node& node, Value const& x, Value const& places, Width width)
{
    auto const number = [&](int64_t value) { return node.scalar(static_cast<double>(value), places.type()); };
    auto const by = [&](Value const& from, Value const& count) {
        return node.binary(from, powerOfTwo(node, count), ElementWiseOperation::kFLOOR_DIV);
    };
    bool const isOfBytes = places.type() == DataType::kUINT8;
    Value const most = node.binary(places, number(isOfBytes ? 8 : 62), ElementWiseOperation::kMIN);
    if (width.bits < 64)
    {
        return by(x, most);
    }
    Value const quotient = by(by(x, most), node.binary(places, most, ElementWiseOperation::kSUB));
    if (width.isSigned)
    {
        return quotient;
    }
    // What is held as a negative number has no sign to fill up with: 64 − places bits stay, all of them of none.
    Value const rest = node.binary(
        number(64), node.binary(places, number(64), ElementWiseOperation::kMIN), ElementWiseOperation::kSUB);
    Value const mask = node.binary(powerOfTwo(node, rest), number(1), ElementWiseOperation::kSUB);
    return node.binary(quotient, mask, ElementWiseOperation::kAND);
}

//! A shift is a product with a power of two, or a quotient rounded down. Bytes without sign stay bytes; all else is
//! computed in 64 bits. Of counts that are negative or the width and more nothing is left but the sign.
Outputs importBitShift(Node& node)
{
    Value const x = node.in(0);
    std::string const direction = node.stringOr("direction", "");
    Width const width = widthOf(node, x);
    if (direction != "LEFT" && direction != "RIGHT")
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("BitShift '{}'", direction));
    }
    bool const isOfBytes = x.type() == DataType::kUINT8 && x.held() == 0 && node.in(1).type() == x.type();
    DataType const type = isOfBytes ? DataType::kUINT8 : DataType::kINT64;
    auto const number = [&](int64_t value) { return node.scalar(static_cast<double>(value), type); };
    Value places = node.cast(unheld(node.in(1)), type);
    bool const isRight = direction == "RIGHT";
    if (isRight && width.isSigned)
    {
        Value const isNegative = node.binary(places, number(0), ElementWiseOperation::kLESS);
        Value const most = number(width.bits - 1);
        places = node.select(isNegative, most, node.binary(places, most, ElementWiseOperation::kMIN));
    }
    Value const from = node.cast(unheld(x), type);
    Value const shifted = isRight ? shiftedRight(node, from, places, width)
                                  : node.binary(from, powerOfTwo(node, places), ElementWiseOperation::kPROD);
    if (isRight) // What is left of a number has no more bits than it.
    {
        Value const result = node.cast(shifted, x.type());
        return {x.held() != 0 ? result.marked(x.held()) : result};
    }
    if (Held const* const held = heldBy(x.held()))
    {
        return {convertedTo(node, shifted, *held, true)};
    }
    return {isOfBytes ? shifted : wrappedInto(node, shifted, width.bits, width.isSigned, x.type())};
}

//! The same bits in a type of the same width. Integers that are held in wider ones are wrapped instead.
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
    bool const isHeld = held != nullptr || x.held() != 0;
    bool const isReal = isFloating(x.type()) || isFloating(type) || type == DataType::kBOOL;
    if (isReal && !isHeld && type != DataType::kBOOL)
    {
        return {node.output(addBitCast(node.api(), node.tensor(x), type), "bits")};
    }
    int const bits = isReal ? 0 : widthOf(node, x).bits;
    int const wanted = isReal ? 0 : held != nullptr ? held->bits : static_cast<int>(8 * bytesOf(type));
    if (isReal || bits != wanted)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE,
            fmt::format("BitCast from {} to {}: their bits are not of one width, or stand in wider elements",
                nameOf(x.type()), nameOfOnnx(to)));
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
