// Shapes: parsing, showing, counting.
#include "shapes.h"

#include "elements.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace tenon::cli
{

using nvinfer1::DataType;
using nvinfer1::Dims;

namespace
{
Dims parseDims(std::string const& text)
{
    Dims dims{};
    char const* at = text.data();
    char const* const end = at + text.size();
    while (at < end)
    {
        int64_t extent{0};
        auto const [next, problem] = std::from_chars(at, end, extent);
        if (problem != std::errc{} || dims.nbDims == Dims::MAX_DIMS || extent < 0 || (next < end && *next != 'x'))
            throw std::invalid_argument("'" + text + "' is not a shape such as 1x3x224x224");
        dims.d[dims.nbDims++] = extent;
        at = next < end ? next + 1 : next;
    }
    return dims;
}

std::vector<std::string> split(std::string const& text, char separator)
{
    std::vector<std::string> parts{""};
    for (char const c : text)
    {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}
} // namespace

Shapes parseShapes(std::vector<std::string> const& texts)
{
    Shapes shapes;
    for (std::string const& text : texts)
        for (std::string const& piece : split(text, ','))
        {
            size_t const equals = piece.rfind('=');
            if (equals == std::string::npos)
                throw std::invalid_argument("'" + piece + "' is not name=shape");
            std::vector<std::string> const bounds = split(piece.substr(equals + 1), ':');
            if (bounds.size() != 1 && bounds.size() != 3)
                throw std::invalid_argument("'" + piece + "' has " + std::to_string(bounds.size())
                    + " shapes; give one, or three as min:opt:max");
            ShapeRange const range{
                parseDims(bounds.front()), parseDims(bounds[bounds.size() / 2]), parseDims(bounds.back())};
            shapes[piece.substr(0, equals)] = range;
        }
    return shapes;
}

void checkNames(Shapes const& shapes, std::vector<std::string> const& inputs)
{
    std::string known;
    for (std::string const& input : inputs)
        known += (known.empty() ? "'" : ", '") + input + "'";
    for (auto const& [name, range] : shapes)
        if (std::find(inputs.begin(), inputs.end(), name) == inputs.end())
            throw std::invalid_argument("the model has no input '" + name + "'; it has " + known);
}

std::string show(Dims const& dims)
{
    std::string text;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        text += (i == 0 ? "" : "x") + std::to_string(dims.d[i]);
    return text.empty() ? "scalar" : text;
}

bool isOpen(Dims const& dims)
{
    return std::any_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent < 0; });
}

std::optional<size_t> elementsOf(Dims const& dims)
{
    size_t count{1};
    for (int32_t i = 0; i < dims.nbDims; ++i)
        if (dims.d[i] <= 0)
            return 0;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        if (__builtin_mul_overflow(count, static_cast<size_t>(dims.d[i]), &count))
            return std::nullopt;
    return count;
}

std::optional<size_t> bytesOf(DataType type, Dims const& dims)
{
    std::optional<size_t> const count = elementsOf(dims);
    if (!count)
        return std::nullopt;
    auto const each = [&](size_t bytes) -> std::optional<size_t> {
        size_t all{0};
        return __builtin_mul_overflow(*count, bytes, &all) ? std::nullopt : std::optional{all};
    };
    if (type == kFloat64)
        return each(8);
    switch (type)
    {
    case DataType::kINT64: return each(8);
    case DataType::kFLOAT:
    case DataType::kINT32: return each(4);
    case DataType::kHALF:
    case DataType::kBF16: return each(2);
    case DataType::kINT4:
    case DataType::kFP4: return *count / 2 + *count % 2;
    default: return each(1);
    }
}

} // namespace tenon::cli
