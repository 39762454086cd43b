// Attributes: numbers of fields are those of onnx.proto.
#include "inspect/onnx_attributes.h"

#include <charconv>
#include <optional>

namespace tenon::inspect
{

namespace
{
//! onnx.AttributeProto.AttributeType.
enum class Form : int64_t
{
    kFLOAT = 1,
    kINT = 2,
    kSTRING = 3,
    kINTS = 7,
    kSTRINGS = 8,
};

void add(WireMessage& node, WireMessage& attribute, std::string_view name, Form form)
{
    node.message(5, attribute.text(1, name).number(20, static_cast<int64_t>(form)));
}

std::optional<int64_t> wholeNumber(std::string_view text)
{
    int64_t value{0};
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

//! Of "(1,2)" or "[1,2]".
std::optional<std::vector<int64_t>> wholeNumbers(std::string_view text)
{
    if (text.size() < 2 || (text.front() != '(' && text.front() != '['))
        return std::nullopt;
    std::vector<int64_t> numbers;
    for (std::string_view rest = text.substr(1, text.size() - 2); !rest.empty();)
    {
        size_t const end = std::min(rest.find(','), rest.size());
        std::optional<int64_t> const number = wholeNumber(rest.substr(0, end));
        if (!number)
            return std::nullopt;
        numbers.push_back(*number);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return numbers;
}

void addField(WireMessage& node, std::string_view name, std::string_view value)
{
    WireMessage attribute;
    if (std::optional<int64_t> const number = wholeNumber(value))
        return add(node, attribute.number(3, *number), name, Form::kINT);
    if (std::optional<std::vector<int64_t>> const numbers = wholeNumbers(value))
    {
        for (int64_t const number : *numbers)
            attribute.number(8, number);
        return add(node, attribute, name, Form::kINTS);
    }
    addAttribute(node, std::string{name}, std::string{value});
}

//! Where the first field ends: at a comma outside all brackets and quotes.
size_t endOfField(std::string_view fields)
{
    int32_t depth{0};
    bool isQuoted{false};
    for (size_t i = 0; i < fields.size(); ++i)
    {
        char const c = fields[i];
        isQuoted = isQuoted != (c == '"');
        if (isQuoted)
            continue;
        depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
        if (depth == 0 && c == ',')
            return i;
    }
    return fields.size();
}
} // namespace

void addAttribute(WireMessage& node, std::string const& name, std::string const& value)
{
    WireMessage attribute;
    add(node, attribute.text(4, value), name, Form::kSTRING);
}

void addAttribute(WireMessage& node, std::string const& name, std::vector<std::string> const& values)
{
    WireMessage attribute;
    for (std::string const& value : values)
        attribute.text(9, value);
    add(node, attribute, name, Form::kSTRINGS);
}

void addAttribute(WireMessage& node, std::string const& name, float value)
{
    WireMessage attribute;
    add(node, attribute.real(2, value), name, Form::kFLOAT);
}

void addFieldAttributes(WireMessage& node, std::string_view fields)
{
    while (!fields.empty())
    {
        size_t const end = endOfField(fields);
        std::string_view const field = fields.substr(0, end);
        size_t const equals = std::min(field.find('='), field.size());
        std::string_view const value = equals == field.size() ? std::string_view{} : field.substr(equals + 1);
        addField(node, field.substr(0, equals), value);
        fields.remove_prefix(std::min(end + 2, fields.size()));
    }
}

} // namespace tenon::inspect
