// HostTensor: conversion from and to the stored element types.
#include "ir/host_tensor.h"

#include "base/cancellation.h"
#include "base/fields.h"
#include "base/half.h"
#include "base/narrow_float.h"
#include "base/out_of_memory.h"
#include "ir/filled_constant.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon
{

namespace
{
//! work(i) for all of a long list, whose user may give up meanwhile.
template <typename Work>
void inParts(size_t count, Work const& work)
{
    constexpr size_t kPart{size_t{1} << 16};
    for (size_t first = 0; first < count; first += kPart)
    {
        cancellationPoint();
        for (size_t i = first; i < std::min(count, first + kPart); ++i)
            work(i);
    }
}

//! An element at any address.
template <typename T>
T elementAt(void const* data, size_t i) noexcept
{
    T element;
    std::memcpy(&element, static_cast<uint8_t const*>(data) + i * sizeof(T), sizeof(T));
    return element;
}

template <typename From, typename To>
void convert(void const* data, std::vector<double>& to, To const& one)
{
    inParts(to.size(), [&](size_t i) { to[i] = one(elementAt<From>(data, i)); });
}

template <typename T>
void readIntegers(std::vector<int64_t>& to, void const* data)
{
    for (size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<int64_t>(elementAt<T>(data, i));
}

template <typename T>
void writeIntegers(std::vector<int64_t> const& from, void* data)
{
    auto* to = static_cast<T*>(data);
    for (size_t i = 0; i < from.size(); ++i)
        to[i] = static_cast<T>(from[i]);
}

//! Elements of four bits stand two in a byte, the first one in its lower half.
uint8_t nibbleOf(void const* data, size_t i)
{
    uint8_t const both = static_cast<uint8_t const*>(data)[i / 2];
    return i % 2 == 0 ? both & 0xFU : both >> 4U;
}

void setNibble(void* data, size_t i, uint8_t bits)
{
    uint8_t& both = static_cast<uint8_t*>(data)[i / 2];
    both = static_cast<uint8_t>(i % 2 == 0 ? bits & 0xFU : (both & 0xFU) | (bits & 0xFU) << 4U);
}

double rounded(DType type, double value)
{
    switch (type)
    {
    case DType::kFLOAT: return static_cast<double>(static_cast<float>(value));
    case DType::kHALF: return static_cast<double>(halfToFloat(floatToHalf(static_cast<float>(value))));
    case DType::kBF16: return static_cast<double>(bfloatToFloat(floatToBfloat(static_cast<float>(value))));
    case DType::kFP8: return roundedToFp8(value);
    case DType::kFP4: return roundedToFp4(value);
    case DType::kE8M0: return roundedToE8m0(value);
    default: return value;
    }
}

//! Wraps as a conversion between integer types does.
int64_t wrapped(DType type, int64_t value)
{
    switch (type)
    {
    case DType::kINT8: return static_cast<int8_t>(value);
    case DType::kUINT8: return static_cast<uint8_t>(value);
    case DType::kINT32: return static_cast<int32_t>(value);
    case DType::kINT4: return static_cast<int8_t>(static_cast<uint64_t>(value) << 4) >> 4;
    case DType::kBOOL: return value != 0 ? 1 : 0;
    default: return value;
    }
}
} // namespace

HostTensor::HostTensor(DType type, std::vector<int64_t> extentsOfTensor)
    : dtype{type},
      extents{std::move(extentsOfTensor)}
{
    auto const size = static_cast<size_t>(count());
    auto const failure = [&] {
        return OutOfMemory{
            fmt::format("{} bytes for the {} values of a tensor of shape {} that is computed on the host",
                size * sizeof(double), size, tenon::show(extents))};
    };
    if (size > SIZE_MAX / sizeof(double) || !isToBeHad(size * sizeof(double)))
        throw failure();
    try
    {
        if (isReal())
            reals.resize(size);
        else
            integers.resize(size);
    }
    catch (std::bad_alloc const&)
    {
        throw failure();
    }
}

void HostTensor::set(int64_t index, double value)
{
    if (isReal())
        reals[static_cast<size_t>(index)] = rounded(dtype, value);
    else
        setInteger(
            index, std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -0x1p63, 0x1.fffffffffffffp62)));
}

void HostTensor::setInteger(int64_t index, int64_t value)
{
    if (isReal())
        reals[static_cast<size_t>(index)] = rounded(dtype, static_cast<double>(value));
    else
        integers[static_cast<size_t>(index)] = wrapped(dtype, value);
}

HostTensor HostTensor::fromBytes(DType type, std::vector<int64_t> extentsOfTensor, void const* data)
{
    HostTensor tensor{type, std::move(extentsOfTensor)};
    if (type == kFloat64)
        convert<double>(data, tensor.reals, [](double x) { return x; });
    switch (type)
    {
    case DType::kFLOAT: convert<float>(data, tensor.reals, [](float x) { return static_cast<double>(x); }); break;
    case DType::kHALF:
        convert<uint16_t>(data, tensor.reals, [](uint16_t x) { return static_cast<double>(halfToFloat(x)); });
        break;
    case DType::kBF16:
        convert<uint16_t>(data, tensor.reals, [](uint16_t x) { return static_cast<double>(bfloatToFloat(x)); });
        break;
    case DType::kFP8: convert<uint8_t>(data, tensor.reals, fp8Number); break;
    case DType::kE8M0: convert<uint8_t>(data, tensor.reals, e8m0Number); break;
    case DType::kFP4:
        inParts(tensor.reals.size(), [&](size_t i) { tensor.reals[i] = fp4Number(nibbleOf(data, i)); });
        break;
    case DType::kINT4:
        inParts(tensor.integers.size(), [&](size_t i) { tensor.integers[i] = wrapped(type, nibbleOf(data, i)); });
        break;
    case DType::kINT8: readIntegers<int8_t>(tensor.integers, data); break;
    case DType::kUINT8: readIntegers<uint8_t>(tensor.integers, data); break;
    case DType::kBOOL:
        inParts(tensor.integers.size(),
            [&](size_t i) { tensor.integers[i] = static_cast<uint8_t const*>(data)[i] != 0 ? 1 : 0; });
        break;
    case DType::kINT32: readIntegers<int32_t>(tensor.integers, data); break;
    case DType::kINT64: readIntegers<int64_t>(tensor.integers, data); break;
    }
    return tensor;
}

HostTensor HostTensor::fromConstant(Constant const& constant)
{
    return fromBytes(constant.dtype, constant.extents, constant.data);
}

void HostTensor::toBytes(void* data) const
{
    auto* halves = static_cast<uint16_t*>(data);
    auto* floats = static_cast<float*>(data);
    auto* bytes = static_cast<uint8_t*>(data);
    if (dtype == kFloat64)
        std::copy(reals.begin(), reals.end(), static_cast<double*>(data));
    switch (dtype)
    {
    case DType::kFLOAT: inParts(reals.size(), [&](size_t i) { floats[i] = static_cast<float>(reals[i]); }); break;
    case DType::kHALF:
        inParts(reals.size(), [&](size_t i) { halves[i] = floatToHalf(static_cast<float>(reals[i])); });
        break;
    case DType::kBF16:
        inParts(reals.size(), [&](size_t i) { halves[i] = floatToBfloat(static_cast<float>(reals[i])); });
        break;
    case DType::kFP8: inParts(reals.size(), [&](size_t i) { bytes[i] = fp8Bits(reals[i]); }); break;
    case DType::kE8M0: inParts(reals.size(), [&](size_t i) { bytes[i] = e8m0Bits(reals[i]); }); break;
    case DType::kFP4: inParts(reals.size(), [&](size_t i) { setNibble(data, i, fp4Bits(reals[i])); }); break;
    case DType::kINT4:
        inParts(integers.size(), [&](size_t i) { setNibble(data, i, static_cast<uint8_t>(integers[i])); });
        break;
    case DType::kINT8: writeIntegers<int8_t>(integers, data); break;
    case DType::kUINT8: writeIntegers<uint8_t>(integers, data); break;
    case DType::kBOOL:
        for (size_t i = 0; i < integers.size(); ++i)
            static_cast<uint8_t*>(data)[i] = integers[i] != 0 ? 1 : 0;
        break;
    case DType::kINT32: writeIntegers<int32_t>(integers, data); break;
    case DType::kINT64: writeIntegers<int64_t>(integers, data); break;
    }
}

std::shared_ptr<Constant const> HostTensor::toConstant() const
{
    return makeConstantBy(dtype, extents, [this](void* memory) { toBytes(memory); });
}

std::vector<int64_t> stridesOf(std::vector<int64_t> const& extents)
{
    std::vector<int64_t> strides(extents.size());
    int64_t stride{1};
    for (size_t i = extents.size(); i-- > 0;)
    {
        strides[i] = stride;
        stride *= extents[i];
    }
    return strides;
}

std::vector<int64_t> broadcastStrides(std::vector<int64_t> const& extents)
{
    std::vector<int64_t> strides = stridesOf(extents);
    for (size_t axis = 0; axis < extents.size(); ++axis)
        strides[axis] = extents[axis] == 1 ? 0 : strides[axis];
    return strides;
}

} // namespace tenon
