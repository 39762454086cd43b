// Fields of stock plugins: found by name, converted, and refused with a message that says what was wanted.
#include "plugins/builtin/field_reader.h"

#include "base/half.h"

#include <algorithm>
#include <limits>

namespace tenon::plugins::builtin
{

using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;

namespace
{
//! The nearest number that T can hold; 0 for a NaN where T has none.
template <typename T, typename From>
T nearest(From value) noexcept
{
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(value);
    else
    {
        if (value != value)
            return T{0};
        // Both limits of T are numbers of every wider type; those of int32_t are not floats, hence double.
        using Wide = std::conditional_t<std::is_floating_point_v<From>, double, int64_t>;
        auto const wide = static_cast<Wide>(value);
        if (wide <= static_cast<Wide>(std::numeric_limits<T>::min()))
            return std::numeric_limits<T>::min();
        if (wide >= static_cast<Wide>(std::numeric_limits<T>::max()))
            return std::numeric_limits<T>::max();
        return static_cast<T>(wide);
    }
}

template <typename From, typename T>
std::vector<T> converted(PluginField const& field)
{
    auto const* const first = static_cast<From const*>(field.data);
    std::vector<T> values(static_cast<size_t>(field.length));
    std::transform(first, first + field.length, values.begin(), [](From value) { return nearest<T>(value); });
    return values;
}

//! Of 16-bit floats.
template <typename T>
std::vector<T> widened(PluginField const& field, float (*toFloat)(uint16_t) noexcept)
{
    auto const* const first = static_cast<uint16_t const*>(field.data);
    std::vector<T> values(static_cast<size_t>(field.length));
    std::transform(
        first, first + field.length, values.begin(), [&](uint16_t bits) { return nearest<T>(toFloat(bits)); });
    return values;
}

bool isInteger(PluginFieldType type) noexcept
{
    return type == PluginFieldType::kINT8 || type == PluginFieldType::kINT16 || type == PluginFieldType::kINT32
        || type == PluginFieldType::kINT64;
}
bool isFloat(PluginFieldType type) noexcept
{
    return type == PluginFieldType::kFLOAT16 || type == PluginFieldType::kFLOAT32 || type == PluginFieldType::kFLOAT64
        || type == PluginFieldType::kBF16;
}
//! Whether what is asked for can be had from it.
bool isKin(PluginFieldType given, PluginFieldType wanted) noexcept
{
    return given == wanted || (isInteger(given) && isInteger(wanted)) || (isFloat(given) && isFloat(wanted));
}
char const* wordsOf(PluginFieldType type) noexcept
{
    return isInteger(type) ? "of integers, such as kINT32"
        : isFloat(type)    ? "of floating-point numbers, such as kFLOAT32"
                           : "kCHAR";
}
} // namespace

Error FieldReader::refused(std::string_view name, std::string_view is, std::string_view must) const
{
    return badArgument("field '{}' of plugin '{}' version '{}' {}: it must {}", name, mPlugin, mVersion, is, must);
}

Result<Done> FieldReader::check(std::span<PluginField const> known) const
{
    int32_t const count = mFields == nullptr ? 0 : mFields->nbFields;
    if (count != 0 && (count < 0 || mFields->fields == nullptr))
        return badArgument(
            "the fields of plugin '{}' version '{}' are {}, and there is no list of them", mPlugin, mVersion, count);
    for (int32_t i = 0; i < count; ++i)
    {
        PluginField const& field = mFields->fields[i];
        if (field.name == nullptr)
            return badArgument("field {} of plugin '{}' version '{}' has no name", i, mPlugin, mVersion);
        if (find(field.name) != &field)
            return refused(field.name, "is there twice", "be there once");
        TENON_TRY(checkOne(field, known));
    }
    return Done{};
}

Result<Done> FieldReader::checkOne(PluginField const& field, std::span<PluginField const> known) const
{
    auto const row =
        std::ranges::find_if(known, [&](PluginField const& each) { return std::string_view{each.name} == field.name; });
    if (row == known.end())
    {
        std::vector<std::string_view> names;
        for (PluginField const& each : known)
            names.emplace_back(each.name);
        return refused(field.name, "is none that it has",
            names.empty() ? "be left out, as there are no fields"
                          : fmt::format("be one of {}", fmt::join(names, ", ")));
    }
    if (!isKin(field.type, row->type))
        return refused(field.name, fmt::format("is of PluginFieldType {}", static_cast<int32_t>(field.type)),
            fmt::format("be of a type {}", wordsOf(row->type)));
    if (field.length < 0 || (field.length > 0 && field.data == nullptr))
        return refused(field.name, fmt::format("has {} numbers and no data", field.length), "have both");
    if (field.length > 0 && row->length > 0 && field.length != row->length)
        return refused(field.name, fmt::format("has {} numbers", field.length), fmt::format("have {}", row->length));
    return Done{};
}

PluginField const* FieldReader::find(std::string_view name) const noexcept
{
    for (int32_t i = 0; mFields != nullptr && mFields->fields != nullptr && i < mFields->nbFields; ++i)
        if (mFields->fields[i].name != nullptr && mFields->fields[i].name == name)
            return &mFields->fields[i];
    return nullptr;
}

template <typename T>
Result<std::vector<T>> FieldReader::list(std::string_view name) const
{
    PluginField const* const field = find(name);
    if (field == nullptr || field->length == 0)
        return std::vector<T>{};
    if (field->length < 0 || field->data == nullptr)
        return refused(name, fmt::format("has {} numbers and no data", field->length), "have both");
    switch (field->type)
    {
    case PluginFieldType::kFLOAT32: return converted<float, T>(*field);
    case PluginFieldType::kFLOAT64: return converted<double, T>(*field);
    case PluginFieldType::kCHAR:
    case PluginFieldType::kINT8: return converted<int8_t, T>(*field);
    case PluginFieldType::kINT16: return converted<int16_t, T>(*field);
    case PluginFieldType::kINT32: return converted<int32_t, T>(*field);
    case PluginFieldType::kINT64: return converted<int64_t, T>(*field);
    case PluginFieldType::kFLOAT16: return widened<T>(*field, &halfToFloat);
    case PluginFieldType::kBF16: return widened<T>(*field, &bfloatToFloat);
    default:
        return refused(name, fmt::format("is of PluginFieldType {}", static_cast<int32_t>(field->type)),
            "be of a type whose elements are numbers of 8 bits or more");
    }
}

template <typename T>
Result<std::vector<T>> FieldReader::requiredList(std::string_view name, std::string_view must) const
{
    std::vector<T> values = TENON_TRY(list<T>(name));
    if (values.empty())
        return refused(name, "is missing", must);
    return values;
}

Result<Done> FieldReader::sameCount(
    std::string_view name, size_t count, std::string_view other, size_t otherCount) const
{
    if (count != otherCount)
        return refused(
            name, fmt::format("has {} numbers", count), fmt::format("have {}, as '{}' has", otherCount, other));
    return Done{};
}

template <typename T>
Result<T> FieldReader::checked(std::string_view name, T value, Allowed<T> const& allowed) const
{
    if (allowed.holds != nullptr && !allowed.holds(value))
        return refused(name, fmt::format("is {}", value), fmt::format("be {}", allowed.words));
    return value;
}

template <typename T>
Result<T> FieldReader::required(std::string_view name, Allowed<T> const& allowed) const
{
    std::vector<T> const values = TENON_TRY(list<T>(name));
    if (values.empty())
        return refused(name, "is missing", fmt::format("be {}", allowed.words));
    return checked(name, values.front(), allowed);
}

template <typename T>
Result<T> FieldReader::optional(std::string_view name, T otherwise, Allowed<T> const& allowed) const
{
    std::vector<T> const values = TENON_TRY(list<T>(name));
    return checked(name, values.empty() ? otherwise : values.front(), allowed);
}

Result<std::string> FieldReader::text(std::string_view name) const
{
    std::vector<char> const characters = TENON_TRY(list<char>(name));
    return std::string{characters.begin(), std::ranges::find(characters, '\0')};
}

template Result<std::vector<float>> FieldReader::list<float>(std::string_view) const;
template Result<std::vector<int32_t>> FieldReader::list<int32_t>(std::string_view) const;
template Result<std::vector<float>> FieldReader::requiredList<float>(std::string_view, std::string_view) const;
template Result<std::vector<int32_t>> FieldReader::requiredList<int32_t>(std::string_view, std::string_view) const;
template Result<float> FieldReader::required<float>(std::string_view, Allowed<float> const&) const;
template Result<int32_t> FieldReader::required<int32_t>(std::string_view, Allowed<int32_t> const&) const;
template Result<float> FieldReader::optional<float>(std::string_view, float, Allowed<float> const&) const;
template Result<int32_t> FieldReader::optional<int32_t>(std::string_view, int32_t, Allowed<int32_t> const&) const;

} // namespace tenon::plugins::builtin
