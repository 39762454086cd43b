// Elements: read as numbers.
#include "elements.h"

#include <bit>
#include <cstring>

namespace tenon::cli
{

std::optional<double> elementAt(nvinfer1::DataType type, char const* data, size_t i)
{
    auto const read = [&](auto value) {
        std::memcpy(&value, data + i * sizeof(value), sizeof(value));
        return value;
    };
    if (type == kFloat64)
        return read(double{});
    switch (type)
    {
    case nvinfer1::DataType::kFLOAT: return static_cast<double>(read(float{}));
    case nvinfer1::DataType::kHALF: return static_cast<double>(read(_Float16{}));
    case nvinfer1::DataType::kBF16:
        return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(read(uint16_t{})) << 16));
    case nvinfer1::DataType::kINT64: return static_cast<double>(read(int64_t{}));
    case nvinfer1::DataType::kINT32: return read(int32_t{});
    case nvinfer1::DataType::kINT8: return read(int8_t{});
    case nvinfer1::DataType::kUINT8:
    case nvinfer1::DataType::kBOOL: return read(uint8_t{});
    default: return std::nullopt;
    }
}

} // namespace tenon::cli
