// Specs: reading of values.
#include "specs.h"

#include "elements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace tenon::trtexec
{

using nvinfer1::DataType;
using nvinfer1::TensorFormat;

namespace
{
template <typename Number>
Number parsedNumber(std::string const& flag, std::string const& text, char const* what)
{
    Number value{};
    char const* const end = text.data() + text.size();
    auto const [next, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || next != end)
        throw std::invalid_argument(flag + ": '" + text + "' is not " + what);
    return value;
}

constexpr std::array<std::pair<DataType, char const*>, 13> kTypeNames{{{DataType::kFLOAT, "fp32"},
    {DataType::kHALF, "fp16"}, {DataType::kBF16, "bf16"}, {DataType::kINT32, "int32"}, {DataType::kINT64, "int64"},
    {DataType::kINT8, "int8"}, {DataType::kUINT8, "uint8"}, {DataType::kBOOL, "bool"}, {DataType::kFP8, "fp8"},
    {DataType::kINT4, "int4"}, {DataType::kFP4, "fp4"}, {DataType::kE8M0, "e8m0"}, {cli::kFloat64, "fp64"}}};

constexpr std::array<std::pair<TensorFormat, char const*>, 13> kFormatNames{{{TensorFormat::kLINEAR, "chw"},
    {TensorFormat::kCHW2, "chw2"}, {TensorFormat::kCHW4, "chw4"}, {TensorFormat::kHWC8, "hwc8"},
    {TensorFormat::kCHW16, "chw16"}, {TensorFormat::kCHW32, "chw32"}, {TensorFormat::kDHWC8, "dhwc8"},
    {TensorFormat::kCDHW32, "cdhw32"}, {TensorFormat::kHWC, "hwc"}, {TensorFormat::kDHWC, "dhwc"},
    {TensorFormat::kHWC16, "hwc16"}, {TensorFormat::kDLA_LINEAR, "dla_linear"}, {TensorFormat::kDLA_HWC4, "dla_hwc4"}}};

//! Every value that a table has, for messages: "a, b, c".
template <typename Table>
std::string allNames(Table const& table)
{
    std::string names;
    for (auto const& [value, name] : table)
        names += (names.empty() ? "" : ", ") + std::string{name};
    return names;
}

Extents extentsOf(std::string const& flag, std::string const& text)
{
    Extents extents;
    if (text == "scalar")
        return extents;
    for (std::string const& part : splitAt(text, 'x'))
        extents.push_back(parsedNumber<int64_t>(flag, part, "an extent of a shape such as 1x3x224x224"));
    if (!text.empty() && text.back() == 'x')
        throw std::invalid_argument(flag + ": '" + text + "' is not a shape such as 1x3x224x224");
    return extents;
}
} // namespace

int64_t integerOf(std::string const& flag, std::string const& text)
{
    return parsedNumber<int64_t>(flag, text, "a whole number");
}

double numberOf(std::string const& flag, std::string const& text)
{
    return parsedNumber<double>(flag, text, "a number");
}

std::vector<std::string> splitAt(std::string const& text, char separator)
{
    std::vector<std::string> parts;
    bool isQuoted{false};
    bool isOpen{false}; // The last part may still grow.
    for (char const c : text)
    {
        isQuoted = isQuoted != (c == '\'');
        if (c == separator && !isQuoted)
        {
            if (!isOpen)
                parts.emplace_back();
            isOpen = false;
            continue;
        }
        if (!isOpen)
            parts.emplace_back();
        isOpen = true;
        parts.back() += c;
    }
    return parts;
}

Named namedOf(std::string const& flag, std::string const& text)
{
    Named named;
    for (std::string const& piece : splitAt(text, ','))
    {
        size_t const open = piece.find('\'');
        size_t const close = open == std::string::npos ? open : piece.find('\'', open + 1);
        size_t const colon = close == std::string::npos ? piece.rfind(':') : piece.find(':', close);
        if ((open == std::string::npos) != (close == std::string::npos))
            throw std::invalid_argument(flag + ": '" + piece + "' has an opening quote and none that closes");
        if (colon == std::string::npos || colon == 0)
            throw std::invalid_argument(flag + ": '" + piece + "' is not name:value");
        std::string name = piece.substr(0, colon);
        name.erase(std::remove(name.begin(), name.end(), '\''), name.end());
        named.emplace_back(name, piece.substr(colon + 1));
    }
    return named;
}

NamedExtents shapesOf(std::string const& flag, std::string const& text)
{
    NamedExtents shapes;
    for (auto const& [name, shape] : namedOf(flag, text))
        shapes.emplace_back(name, extentsOf(flag, shape));
    return shapes;
}

double bytesOf(std::string const& flag, std::string const& text, char unit)
{
    constexpr std::string_view kUnits{"BKMG"};
    std::string number = text;
    if (number.size() > 2 && number.substr(number.size() - 2) == "iB") // 1024MiB means what it says.
        number.resize(number.size() - 2);
    char const last = number.empty() ? '0' : static_cast<char>(std::toupper(number.back()));
    bool const hasUnit = std::isalpha(static_cast<unsigned char>(last)) != 0;
    size_t const power = kUnits.find(hasUnit ? last : unit);
    if (power == std::string_view::npos)
        throw std::invalid_argument(flag + ": '" + text + "' has a unit that is none of B, K, M, G");
    if (hasUnit)
        number.pop_back();
    return numberOf(flag, number) * std::pow(1024.0, static_cast<double>(power));
}

DataType typeOf(std::string const& flag, std::string const& text)
{
    for (auto const& [type, name] : kTypeNames)
        if (text == name)
            return type;
    throw std::invalid_argument(flag + ": '" + text + "' is not a type; there are " + allNames(kTypeNames));
}

std::string typeText(DataType type)
{
    for (auto const& [each, name] : kTypeNames)
        if (each == type)
            return name;
    return "unknown";
}

std::vector<IoFormat> formatsOf(std::string const& flag, std::string const& text)
{
    std::vector<IoFormat> made;
    for (std::string const& piece : splitAt(text, ','))
    {
        size_t const colon = piece.find(':');
        if (colon == std::string::npos)
            throw std::invalid_argument(flag + ": '" + piece + "' is not type:format, such as fp16:chw");
        IoFormat format{typeOf(flag, piece.substr(0, colon)), 0};
        for (std::string const& word : splitAt(piece.substr(colon + 1), '+'))
        {
            auto const at = std::find_if(
                kFormatNames.begin(), kFormatNames.end(), [&](auto const& each) { return word == each.second; });
            if (at == kFormatNames.end())
                throw std::invalid_argument(
                    flag + ": '" + word + "' is not a format; there are " + allNames(kFormatNames));
            format.formats |= 1U << static_cast<uint32_t>(at->first);
        }
        made.push_back(format);
    }
    return made;
}

std::vector<std::pair<std::string, bool>> switchesOf(std::string const& flag, std::string const& text)
{
    std::vector<std::pair<std::string, bool>> switches;
    for (std::string const& piece : splitAt(text, ','))
    {
        if (piece.size() < 2 || (piece.front() != '+' && piece.front() != '-'))
            throw std::invalid_argument(flag + ": '" + piece + "' needs a + or a - before its name");
        switches.emplace_back(piece.substr(1), piece.front() == '+');
    }
    return switches;
}

bool fits(std::string_view pattern, std::string_view name)
{
    size_t const star = pattern.find('*');
    if (star == std::string_view::npos)
        return pattern == name;
    std::string_view const tail = pattern.substr(star + 1);
    return name.size() + 1 >= pattern.size() && name.substr(0, star) == pattern.substr(0, star)
        && name.substr(name.size() - tail.size()) == tail;
}

} // namespace tenon::trtexec
