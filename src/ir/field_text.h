// Field text: reads back what showFields prints, so that graphs can be written down in tests.
#pragma once

#include "base/fields.h"
#include "ir/expr.h"

#include <array>
#include <span>
#include <string_view>
#include <tuple>

namespace tenon
{

//! A cursor over text; blanks are skipped before each token.
class TextReader
{
  public:
    explicit TextReader(std::string_view text)
        : mText{text}
    {
    }
    bool atEnd();
    //! The next character after blanks; 0 at the end.
    char peek();
    //! Takes the token when it is next.
    bool take(std::string_view token);
    Result<Done> expect(std::string_view token);
    //! Letters, digits and '_'.
    std::string_view word();
    Result<double> number();
    Result<int64_t> integer();
    //! A text in double quotes, without escapes.
    Result<std::string> quoted();
    //! All up to the character that closes the bracket just opened; takes that too.
    Result<std::string_view> upTo(char closing);
    //! All up to the next ',' or '}' outside of brackets, which stays.
    std::string_view operand();
    std::string_view rest() const noexcept
    {
        return mText.substr(mAt);
    }
    Error error(std::string_view expected) const;

  private:
    std::string_view mText;
    size_t mAt{0};
};

//! As Expr::show prints; constants become floats.
Result<Expr> parseExpr(std::string_view text);

template <HasFields S>
Result<Done> parseFields(TextReader& in, S& value);

template <typename T>
Result<Done> parseValue(TextReader& in, T& value)
{
    if constexpr (std::is_same_v<T, Expr>)
        value = TENON_TRY(parseExpr(in.operand()));
    else if constexpr (HasFields<T>)
    {
        TENON_TRY(in.expect("{"));
        TENON_TRY(parseFields(in, value));
    }
    else if constexpr (std::is_same_v<T, std::string>)
        value = TENON_TRY(in.quoted());
    else if constexpr (detail::kIsVector<T> || detail::kIsArray<T>)
    {
        TENON_TRY(in.expect("["));
        size_t at{0};
        if constexpr (detail::kIsVector<T>)
            value.clear();
        while (!in.take("]"))
        {
            if (at > 0)
                TENON_TRY(in.expect(","));
            if constexpr (detail::kIsVector<T>)
                value.emplace_back();
            if (at >= value.size())
                return in.error("fewer elements");
            TENON_TRY(parseValue(in, value[at++]));
        }
    }
    else if constexpr (detail::kIsOptional<T>)
    {
        if (in.take("none"))
            value.reset();
        else
            TENON_TRY(parseValue(in, value.emplace()));
    }
    else if constexpr (std::is_same_v<T, nvinfer1::Dims64>)
    {
        TENON_TRY(in.expect("("));
        value = {};
        while (!in.take(")"))
        {
            if (value.nbDims > 0)
                TENON_TRY(in.expect(","));
            if (value.nbDims == nvinfer1::Dims64::MAX_DIMS)
                return in.error("at most 8 extents");
            value.d[value.nbDims++] = static_cast<int64_t>(TENON_TRY(in.number()));
        }
    }
    else if constexpr (std::is_same_v<T, bool>)
    {
        value = in.take("true");
        if (!value)
            TENON_TRY(in.expect("false"));
    }
    else
        value = static_cast<T>(
            static_cast<std::conditional_t<std::is_floating_point_v<T>, double, int64_t>>(TENON_TRY(in.number())));
    return Done{};
}

namespace detail
{
//! A field of a value that is read, by a function that knows its type.
struct FieldToParse
{
    std::string_view name;
    void* value;
    Result<Done> (*parse)(TextReader& in, void* value);
};
Result<Done> parseFields(TextReader& in, std::span<FieldToParse const> fields);

template <typename T>
Result<Done> parseInto(TextReader& in, void* value)
{
    return parseValue(in, *static_cast<T*>(value));
}

template <typename S, typename T>
FieldToParse fieldToParse(Field<S, T> const& field, S& value)
{
    return {field.name, &(value.*field.member), &parseInto<T>};
}
} // namespace detail

//! "name=value, …}" with the closing brace; fields that are not named keep their defaults.
template <HasFields S>
Result<Done> parseFields(TextReader& in, S& value)
{
    auto const fields = std::apply(
        [&](auto const&... each) {
            return std::array<detail::FieldToParse, sizeof...(each)>{detail::fieldToParse(each, value)...};
        },
        S::fields());
    return detail::parseFields(in, fields);
}

} // namespace tenon
