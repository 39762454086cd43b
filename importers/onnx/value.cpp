// Values of an ONNX graph and the elements of constants.
#include "value.h"

#include "failure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tenon::onnx
{
namespace
{

using nvinfer1::DataType;
using nvonnxparser::ErrorCode;

float floatOfHalf(uint16_t bits)
{
    int32_t const exponent = (bits >> 10U) & 0x1FU;
    int32_t const mantissa = bits & 0x3FFU;
    float const sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
    if (exponent == 31)
    {
        return mantissa != 0 ? NAN : sign * INFINITY;
    }
    return sign
        * (exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                         : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25));
}

template <typename From, typename To>
std::vector<To> elements(Constant const& constant, To (*convert)(From))
{
    std::vector<To> result(static_cast<size_t>(constant.count));
    for (size_t i = 0; i < result.size(); ++i)
    {
        From element;
        std::memcpy(&element, static_cast<char const*>(constant.data) + i * sizeof(From), sizeof(From));
        result[i] = convert(element);
    }
    return result;
}

template <typename To>
To fromFloating(double value)
{
    if constexpr (std::is_integral_v<To>)
    {
        constexpr double kLimit{0x1.fffffffffffffp62}; // The last one below 2^63.
        return std::isnan(value) ? To{0} : static_cast<To>(std::clamp(value, -kLimit, kLimit));
    }
    return static_cast<To>(value);
}

template <typename To>
std::vector<To> read(Constant const& constant)
{
    if (constant.type == kFloat64)
    {
        return elements<double, To>(constant, [](double v) { return fromFloating<To>(v); });
    }
    switch (constant.type)
    {
    case DataType::kFLOAT: return elements<float, To>(constant, [](float v) { return fromFloating<To>(v); });
    case DataType::kHALF:
        return elements<uint16_t, To>(constant, [](uint16_t v) { return fromFloating<To>(floatOfHalf(v)); });
    case DataType::kBF16:
        return elements<uint16_t, To>(
            constant, [](uint16_t v) { return fromFloating<To>(std::bit_cast<float>(uint32_t{v} << 16U)); });
    case DataType::kINT32: return elements<int32_t, To>(constant, [](int32_t v) { return static_cast<To>(v); });
    case DataType::kINT64: return elements<int64_t, To>(constant, [](int64_t v) { return static_cast<To>(v); });
    case DataType::kINT8: return elements<int8_t, To>(constant, [](int8_t v) { return static_cast<To>(v); });
    case DataType::kUINT8: return elements<uint8_t, To>(constant, [](uint8_t v) { return static_cast<To>(v); });
    case DataType::kBOOL: return elements<uint8_t, To>(constant, [](uint8_t v) { return static_cast<To>(v != 0); });
    default: fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("cannot read {} elements", nameOf(constant.type)));
    }
}

} // namespace

size_t checkedIndex(size_t i, size_t size)
{
    if (i >= size)
    {
        fail(ErrorCode::kINVALID_NODE,
            size == 0 ? "an axis or a number is asked of a scalar or an empty list"
                      : fmt::format("axis or number {} is asked of a shape or a list of {}", i, size));
    }
    return i;
}

int64_t bytesOf(DataType type)
{
    if (type == kFloat64)
    {
        return 8;
    }
    switch (type)
    {
    case DataType::kINT64: return 8;
    case DataType::kFLOAT:
    case DataType::kINT32: return 4;
    case DataType::kHALF:
    case DataType::kBF16: return 2;
    case DataType::kINT8:
    case DataType::kUINT8:
    case DataType::kFP8:
    case DataType::kBOOL: return 1;
    default: fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("no elements of type {}", nameOf(type)));
    }
}

char const* nameOf(DataType type)
{
    if (type == kFloat64)
    {
        return "double";
    }
    switch (type)
    {
    case DataType::kFLOAT: return "float";
    case DataType::kHALF: return "half";
    case DataType::kBF16: return "bfloat16";
    case DataType::kINT8: return "int8";
    case DataType::kINT32: return "int32";
    case DataType::kINT64: return "int64";
    case DataType::kBOOL: return "bool";
    case DataType::kUINT8: return "uint8";
    case DataType::kFP8: return "float8";
    default: return "of fewer than eight bits";
    }
}

bool isFloating(DataType type)
{
    return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16 || type == kFloat64;
}

bool areBothBytes(DataType a, DataType b)
{
    return (a == DataType::kINT8 && b == DataType::kUINT8) || (a == DataType::kUINT8 && b == DataType::kINT8);
}

DataType wideOf(DataType type)
{
    return type == kFloat64 ? type : DataType::kFLOAT;
}

int64_t volumeOf(Shape const& dims)
{
    int64_t volume{1};
    for (int64_t const extent : dims)
    {
        if (extent < 0 || __builtin_mul_overflow(volume, extent, &volume))
        {
            fail(ErrorCode::kINVALID_VALUE, fmt::format("{} is not the shape of a constant", shapeText(dims)));
        }
    }
    return volume;
}

nvinfer1::Dims dimsOf(Shape const& shape)
{
    if (shape.size() > static_cast<size_t>(nvinfer1::Dims::MAX_DIMS))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
            fmt::format(
                "{} has rank {}; at most {} is supported", shapeText(shape), shape.size(), +nvinfer1::Dims::MAX_DIMS));
    }
    nvinfer1::Dims dims{};
    dims.nbDims = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), dims.d);
    return dims;
}

Shape shapeOf(nvinfer1::Dims const& dims)
{
    return {dims.d, dims.d + std::max(dims.nbDims, 0)};
}

Shape spatialOf(Shape const& shape)
{
    if (shape.size() < 2)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} has no axes of batch and channels", shapeText(shape)));
    }
    return Shape(shape.begin() + 2, shape.end());
}

std::string shapeText(Shape const& shape)
{
    return fmt::format("[{}]", fmt::join(shape, ","));
}

Integers integersOf(Constant const& constant)
{
    return read<int64_t>(constant);
}

std::vector<double> numbersOf(Constant const& constant)
{
    return read<double>(constant);
}

Value::Value(nvinfer1::ITensor* tensor)
    : mCell{std::make_shared<Cell>()}
{
    mCell->tensor = tensor;
}

Value::Value(Constant constant, std::string name)
    : mCell{std::make_shared<Cell>()}
{
    mCell->name = std::move(name);
    mCell->constant = std::move(constant);
}

Value Value::sequence(std::vector<Value> elements)
{
    Value made;
    made.mCell = std::make_shared<Cell>();
    made.mCell->elements = std::move(elements);
    return made;
}

Value Value::nothing()
{
    Value made;
    made.mCell = std::make_shared<Cell>();
    made.mCell->isNothing = true;
    return made;
}

Value Value::marked(int32_t onnxType) const
{
    Value copy;
    copy.mCell = std::make_shared<Cell>(*mCell);
    copy.mCell->held = onnxType;
    if (copy.mCell->constant)
    {
        copy.mCell->constant->held = onnxType;
    }
    return copy;
}

nvinfer1::ITensor& Value::some() const
{
    if (mCell == nullptr || mCell->tensor == nullptr)
    {
        fail(ErrorCode::kINVALID_NODE,
            isSequence() ? "a sequence stands where a tensor is read" : "an operand that is read is not there");
    }
    return *mCell->tensor;
}

DataType Value::type() const
{
    return isConstant() ? constant().type : some().getType();
}

Shape Value::shape() const
{
    return isConstant() ? constant().dims : shapeOf(some().getDimensions());
}

int32_t Value::rank() const
{
    return isConstant() ? static_cast<int32_t>(constant().dims.size()) : some().getDimensions().nbDims;
}

} // namespace tenon::onnx
