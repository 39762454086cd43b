// Tensors of the checking host: random contents, formats, numbers.
#include "plugins/check/bench.h"

#include "base/half.h"
#include "plugins/formats.h"

#include <cstring>
#include <random>

namespace tenon::plugins::check
{

namespace
{
template <typename T>
void put(RealTensor& tensor, size_t index, T value) noexcept
{
    std::memcpy(tensor.data.data() + index * sizeof(T), &value, sizeof(T));
}

template <typename T>
T get(RealTensor const& tensor, size_t index) noexcept
{
    T value;
    std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
    return value;
}

//! Calls `move(row-major index, index in the format)` for each element.
template <typename Move>
void forEachElement(nvinfer1::TensorFormat format, std::vector<int64_t> const& extents, Move&& move)
{
    auto const layout = layoutOf(format);
    int64_t const count = volumeOf(extents);
    if (!layout || *layout == Layout::kLinear || extents.size() < 2)
    {
        for (int64_t i = 0; i < count; ++i)
            move(i, i);
        return;
    }
    int64_t const channels = extents[1];
    int64_t const pixels = volumeOf({extents.begin() + 2, extents.end()});
    ElementOrder const order = elementOrder(*layout, channels, pixels);
    for (int64_t i = 0; i < count; ++i)
        move(i, order.offset(i / (channels * pixels), i / pixels % channels, i % pixels));
}
} // namespace

Result<size_t> bytesFor(DType type, nvinfer1::TensorFormat format, std::vector<int64_t> const& extents)
{
    Layout const layout = TENON_TRY(layoutOf(format));
    int64_t const bytes = bytesOf(type, layout, extents);
    if (bytes < 0)
        return badArgument("a tensor has extents that are negative or too large");
    return static_cast<size_t>(bytes);
}

Bytes laidOut(RealTensor const& tensor, nvinfer1::TensorFormat format)
{
    auto const size = bytesFor(tensor.type, format, tensor.extents);
    Bytes bytes(size ? *size : 0);
    auto const element = static_cast<size_t>(bitsOf(tensor.type) / 8);
    forEachElement(format, tensor.extents, [&](int64_t from, int64_t to) {
        std::memcpy(bytes.data() + static_cast<size_t>(to) * element,
            tensor.data.data() + static_cast<size_t>(from) * element, element);
    });
    return bytes;
}

RealTensor rowMajor(uint8_t const* data, DType type, nvinfer1::TensorFormat format, std::vector<int64_t> extents)
{
    RealTensor tensor{type, std::move(extents), {}};
    auto const element = static_cast<size_t>(bitsOf(type) / 8);
    tensor.data.resize(static_cast<size_t>(volumeOf(tensor.extents)) * element);
    forEachElement(format, tensor.extents, [&](int64_t to, int64_t from) {
        std::memcpy(tensor.data.data() + static_cast<size_t>(to) * element, data + static_cast<size_t>(from) * element,
            element);
    });
    return tensor;
}

double numberAt(RealTensor const& tensor, size_t index) noexcept
{
    switch (tensor.type)
    {
    case DType::kFLOAT: return get<float>(tensor, index);
    case DType::kHALF: return halfToFloat(get<uint16_t>(tensor, index));
    case DType::kBF16: return bfloatToFloat(get<uint16_t>(tensor, index));
    case DType::kINT8: return get<int8_t>(tensor, index);
    case DType::kINT32: return get<int32_t>(tensor, index);
    case DType::kINT64: return static_cast<double>(get<int64_t>(tensor, index));
    default: return tensor.data[index];
    }
}

//! Floats within ±2, bytes within ±100, wider integers 0 to 3, as those are often indices.
RealTensor randomTensor(DType type, std::vector<int64_t> extents, uint32_t seed)
{
    RealTensor tensor{type, std::move(extents), {}};
    auto const count = static_cast<size_t>(volumeOf(tensor.extents));
    tensor.data.resize(count * static_cast<size_t>(bitsOf(type)) / 8);
    std::mt19937 random{seed};
    std::uniform_real_distribution<float> real{-2.0F, 2.0F};
    std::uniform_int_distribution<int32_t> byte{-100, 100};
    for (size_t i = 0; i < count; ++i)
        switch (type)
        {
        case DType::kFLOAT: put(tensor, i, real(random)); break;
        case DType::kHALF: put(tensor, i, floatToHalf(real(random))); break;
        case DType::kBF16: put(tensor, i, floatToBfloat(real(random))); break;
        case DType::kINT8: put(tensor, i, static_cast<int8_t>(byte(random))); break;
        case DType::kINT32: put(tensor, i, static_cast<int32_t>(random() & 3U)); break;
        case DType::kINT64: put(tensor, i, static_cast<int64_t>(random() & 3U)); break;
        default: tensor.data[i] = static_cast<uint8_t>(random() & 1U);
        }
    return tensor;
}

RealTensor widened(RealTensor const& tensor)
{
    if (!isFloating(tensor.type) || tensor.type == DType::kFLOAT)
        return tensor;
    RealTensor wide{DType::kFLOAT, tensor.extents, {}};
    auto const count = static_cast<size_t>(volumeOf(tensor.extents));
    wide.data.resize(count * sizeof(float));
    for (size_t i = 0; i < count; ++i)
        put(wide, i, static_cast<float>(numberAt(tensor, i)));
    return wide;
}

RealTensor narrowed(RealTensor const& tensor, DType type)
{
    if (type != DType::kHALF && type != DType::kBF16)
        return tensor;
    RealTensor narrow{type, tensor.extents, {}};
    auto const count = static_cast<size_t>(volumeOf(tensor.extents));
    narrow.data.resize(count * sizeof(uint16_t));
    for (size_t i = 0; i < count; ++i)
    {
        float const value = get<float>(tensor, i);
        put(narrow, i, type == DType::kHALF ? floatToHalf(value) : floatToBfloat(value));
    }
    return narrow;
}

std::string Outcome::differenceFrom(Outcome const& other) const
{
    if (outputs.size() != other.outputs.size())
        return fmt::format("{} outputs, not {}", outputs.size(), other.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
    {
        RealTensor const& mine = outputs[i];
        RealTensor const& theirs = other.outputs[i];
        if (mine.extents != theirs.extents)
            return fmt::format("output {} has other extents", i);
        auto const element = static_cast<size_t>(bitsOf(mine.type) / 8);
        for (size_t k = 0; k * element < mine.data.size(); ++k)
            if (std::memcmp(mine.data.data() + k * element, theirs.data.data() + k * element, element) != 0)
                return fmt::format(
                    "output {}, element {}: {:g}, not {:g}", i, k, numberAt(mine, k), numberAt(theirs, k));
    }
    return {};
}

} // namespace tenon::plugins::check
