// Arguments of tenon plugin.
#include "plugin_arguments.h"

#include <array>
#include <charconv>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace tenon::cli
{

using nvinfer1::DataType;
using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;

namespace
{
std::vector<std::string> piecesOf(std::string const& text, char at)
{
    std::vector<std::string> pieces;
    std::istringstream in{text};
    for (std::string piece; std::getline(in, piece, at);)
        pieces.push_back(piece);
    if (!text.empty() && text.back() == at)
        pieces.emplace_back();
    return pieces;
}

template <typename T>
T numberOf(std::string const& text, std::string const& where)
{
    T value{};
    char const* const end = text.data() + text.size();
    auto const [stopped, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stopped != end)
        throw std::invalid_argument("'" + text + "' in '" + where + "' is no number that fits");
    return value;
}

std::vector<int64_t> extentsOf(std::string const& text, std::string const& where)
{
    std::vector<int64_t> extents;
    if (text == "scalar")
        return extents;
    for (std::string const& piece : piecesOf(text, 'x'))
        extents.push_back(numberOf<int64_t>(piece, where));
    return extents;
}

template <typename T>
std::vector<char> numbersOf(std::vector<std::string> const& texts, std::string const& where)
{
    std::vector<char> bytes;
    for (std::string const& text : texts)
    {
        T const value = numberOf<T>(text, where);
        auto const* from = reinterpret_cast<char const*>(&value);
        bytes.insert(bytes.end(), from, from + sizeof(value));
    }
    return bytes;
}

std::vector<char> dataOf(PluginFieldType type, std::string const& value, std::string const& where)
{
    std::vector<std::string> const texts = piecesOf(value, ':');
    switch (type)
    {
    case PluginFieldType::kFLOAT32: return numbersOf<float>(texts, where);
    case PluginFieldType::kFLOAT64: return numbersOf<double>(texts, where);
    case PluginFieldType::kINT8: return numbersOf<int8_t>(texts, where);
    case PluginFieldType::kINT16: return numbersOf<int16_t>(texts, where);
    case PluginFieldType::kINT32: return numbersOf<int32_t>(texts, where);
    case PluginFieldType::kINT64: return numbersOf<int64_t>(texts, where);
    case PluginFieldType::kCHAR:
    case PluginFieldType::kUNKNOWN: return {value.begin(), value.end()};
    default:
        throw std::invalid_argument("'" + where
            + "': the creator advertises a type that the command line cannot give; "
              "check the plugin from C++ (tenon/testing.h) or Python");
    }
}
} // namespace

bool CreatorName::fits(
    std::string const& theirName, std::string const& theirVersion, std::string const& theirSpace) const
{
    return (name.empty() || name == theirName) && (version.empty() || version == theirVersion)
        && (!hasNameSpace || nameSpace == theirSpace);
}

CreatorName parseCreator(std::string const& text)
{
    std::vector<std::string> const pieces = piecesOf(text, ':');
    CreatorName creator;
    if (!pieces.empty())
        creator.name = pieces[0];
    if (pieces.size() > 1)
        creator.version = pieces[1];
    creator.hasNameSpace = pieces.size() > 2;
    if (creator.hasNameSpace) // A namespace may have colons itself.
        creator.nameSpace = text.substr(pieces[0].size() + pieces[1].size() + 2);
    return creator;
}

std::vector<testing::Input> parseInputs(std::string const& text)
{
    std::vector<testing::Input> inputs;
    for (std::string const& piece : piecesOf(text, ','))
    {
        size_t const equals = piece.find('=');
        std::string const name = equals == std::string::npos ? "" : piece.substr(0, equals);
        std::vector<std::string> const bounds = piecesOf(piece.substr(name.empty() ? 0 : equals + 1), ':');
        if (name == "values" && bounds.size() == 1)
            inputs.push_back(testing::values(extentsOf(bounds[0], piece)));
        else if (bounds.size() == 1)
            inputs.push_back(testing::shape(extentsOf(bounds[0], piece)));
        else if (bounds.size() == 3)
            inputs.push_back(
                testing::range(extentsOf(bounds[0], piece), extentsOf(bounds[1], piece), extentsOf(bounds[2], piece)));
        else
            throw std::invalid_argument("'" + piece + "' is no shape: write 2x3x8, MIN:OPT:MAX, or values=3x1");
        testing::Input const& last = inputs.back();
        if (!last.min.empty() && (last.min.size() != last.opt.size() || last.max.size() != last.opt.size()))
            throw std::invalid_argument("'" + piece + "' has bounds of several ranks");
    }
    return inputs;
}

std::vector<DataType> parseTypes(std::string const& text)
{
    static constexpr std::array<std::pair<char const*, DataType>, 10> kNames{{{"float32", DataType::kFLOAT},
        {"float", DataType::kFLOAT}, {"float16", DataType::kHALF}, {"half", DataType::kHALF},
        {"bfloat16", DataType::kBF16}, {"bf16", DataType::kBF16}, {"int8", DataType::kINT8},
        {"int32", DataType::kINT32}, {"int64", DataType::kINT64}, {"fp8", DataType::kFP8}}};
    std::vector<DataType> types;
    for (std::string const& piece : piecesOf(text, ','))
    {
        size_t const before = types.size();
        for (auto const& [name, type] : kNames)
            if (piece == name)
                types.push_back(type);
        if (types.size() == before)
            throw std::invalid_argument(
                "'" + piece + "' is no type: float32, float16, bfloat16, int8, int32, int64 or fp8");
    }
    return types;
}

Fields::Fields(std::string const& text, PluginFieldCollection const* advertised)
{
    for (std::string const& piece : piecesOf(text, ','))
    {
        size_t const equals = piece.find('=');
        if (equals == std::string::npos)
            throw std::invalid_argument("'" + piece + "' in --fields has no '=': write name=value or name=1:2:3");
        add(piece.substr(0, equals), piece.substr(equals + 1), advertised);
    }
    mCollection.nbFields = static_cast<int32_t>(mFields.size());
    mCollection.fields = mFields.data();
}

void Fields::add(std::string const& name, std::string const& value, PluginFieldCollection const* advertised)
{
    std::string known;
    for (int32_t i = 0; advertised != nullptr && i < advertised->nbFields; ++i)
    {
        PluginField const& field = advertised->fields[i];
        if (field.name == nullptr || name != field.name)
        {
            known += std::string{known.empty() ? "" : ", "} + (field.name == nullptr ? "" : field.name);
            continue;
        }
        bool const isBytes = field.type == PluginFieldType::kCHAR || field.type == PluginFieldType::kUNKNOWN;
        mNames.push_back(name);
        mData.push_back(dataOf(field.type, value, name + "=" + value));
        auto const count = isBytes ? mData.back().size() : piecesOf(value, ':').size();
        mFields.emplace_back(mNames.back().c_str(), mData.back().data(), field.type, static_cast<int32_t>(count));
        return;
    }
    throw std::invalid_argument("the creator has no field '" + name + "'; it has " + (known.empty() ? "none" : known));
}

} // namespace tenon::cli
