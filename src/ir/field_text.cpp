// Field text: tokens and expressions.
#include "ir/field_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

namespace tenon
{

bool TextReader::atEnd()
{
    return peek() == '\0';
}

char TextReader::peek()
{
    while (mAt < mText.size() && (mText[mAt] == ' ' || mText[mAt] == '\t'))
        ++mAt;
    return mAt < mText.size() ? mText[mAt] : '\0';
}

bool TextReader::take(std::string_view token)
{
    peek();
    if (mText.substr(mAt, token.size()) != token)
        return false;
    mAt += token.size();
    return true;
}

Result<Done> TextReader::expect(std::string_view token)
{
    if (!take(token))
        return error(token);
    return Done{};
}

std::string_view TextReader::word()
{
    peek();
    size_t const first = mAt;
    while (mAt < mText.size() && (std::isalnum(static_cast<unsigned char>(mText[mAt])) != 0 || mText[mAt] == '_'))
        ++mAt;
    return mText.substr(first, mAt - first);
}

namespace
{
template <typename T>
bool readNumber(std::string_view text, size_t& at, T& value)
{
    auto const [end, failure] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (failure == std::errc{})
        at = static_cast<size_t>(end - text.data());
    return failure == std::errc{};
}
} // namespace

Result<double> TextReader::number()
{
    peek();
    double value{0.0};
    return readNumber(mText, mAt, value) ? Result<double>{value} : error("a number");
}

Result<int64_t> TextReader::integer()
{
    peek();
    int64_t value{0};
    return readNumber(mText, mAt, value) ? Result<int64_t>{value} : error("a whole number");
}

Result<std::string> TextReader::quoted()
{
    TENON_TRY(expect("\""));
    return std::string{TENON_TRY(upTo('"'))};
}

Result<std::string_view> TextReader::upTo(char closing)
{
    size_t const end = mText.find(closing, mAt);
    if (end == std::string_view::npos)
        return error(std::string_view{&closing, 1});
    std::string_view const inner = mText.substr(mAt, end - mAt);
    mAt = end + 1;
    return inner;
}

std::string_view TextReader::operand()
{
    size_t const first = mAt;
    for (int32_t depth = 0; mAt < mText.size(); ++mAt)
    {
        char const c = mText[mAt];
        if (depth == 0 && (c == ',' || c == '}'))
            break;
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    return mText.substr(first, mAt - first);
}

Error TextReader::error(std::string_view expected) const
{
    return badArgument("'{}' is expected before '{}'", expected, rest().substr(0, 40));
}

namespace
{
class ExprReader
{
  public:
    explicit ExprReader(std::string_view text)
        : mIn{text}
    {
    }
    Result<Expr> whole()
    {
        for (;;)
        {
            std::string name;
            TextReader ahead{mIn.rest()};
            std::string_view const word = ahead.word();
            if (!word.empty() && word.front() == 't' && ahead.take("="))
            {
                name = std::string{mIn.word()};
                mIn.take("=");
            }
            Expr const value = TENON_TRY(one());
            if (name.empty())
                return mIn.atEnd() ? Result<Expr>{value} : mIn.error("the end");
            mShared[name] = value;
            TENON_TRY(mIn.expect(";"));
        }
    }

  private:
    Result<Expr> one()
    {
        char const next = mIn.peek();
        if (std::isdigit(static_cast<unsigned char>(next)) != 0 || next == '-')
            return Expr{TENON_TRY(mIn.number())};
        std::string const word{mIn.word()};
        if (auto const known = mShared.find(word); known != mShared.end())
            return known->second;
        if (word.size() > 1 && word[0] == 'x' && std::isdigit(static_cast<unsigned char>(word[1])) != 0)
        {
            int32_t index{0};
            size_t at{1};
            if (!readNumber(word, at, index) || at != word.size())
                return badArgument("there is no input '{}'", word);
            return Expr::input(index);
        }
        for (int32_t op = 0; op < kExprOps; ++op)
            if (nameOf(static_cast<ExprOp>(op)) == word)
                return call(static_cast<ExprOp>(op));
        return mIn.error("an operation");
    }
    Result<Expr> call(ExprOp op)
    {
        TENON_TRY(mIn.expect("("));
        std::vector<Expr> operands{TENON_TRY(one())};
        while (static_cast<int32_t>(operands.size()) < operandCount(op))
        {
            TENON_TRY(mIn.expect(","));
            operands.push_back(TENON_TRY(one()));
        }
        Expr result;
        if (isReduction(op))
        {
            TENON_TRY(mIn.expect(",axes="));
            result = reduce(op, operands[0], static_cast<uint32_t>(TENON_TRY(mIn.number())));
        }
        else if (op == ExprOp::kCast)
            result = TENON_TRY(castTo(operands[0]));
        else if (operands.size() == 1)
            result = apply(op, {operands[0]});
        else if (operands.size() == 2)
            result = apply(op, {operands[0], operands[1]});
        else
            result = apply(op, {operands[0], operands[1], operands[2]});
        TENON_TRY(mIn.expect(")"));
        return result;
    }
    Result<Expr> castTo(Expr const& operand)
    {
        TENON_TRY(mIn.expect(","));
        std::string const type{mIn.word()};
        for (int32_t i = 0; i < kTypeNumbers; ++i)
            if (isValid(static_cast<DType>(i)) && nameOf(static_cast<DType>(i)) == type)
                return cast(operand, static_cast<DType>(i));
        return mIn.error("an element type");
    }

    TextReader mIn;
    std::map<std::string, Expr> mShared;
};
} // namespace

Result<Expr> parseExpr(std::string_view text)
{
    return ExprReader{text}.whole();
}

Result<Done> detail::parseFields(TextReader& in, std::span<FieldToParse const> fields)
{
    bool first{true};
    while (!in.take("}"))
    {
        if (!std::exchange(first, false))
            TENON_TRY(in.expect(","));
        std::string_view const name = in.word();
        TENON_TRY(in.expect("="));
        auto const isMeant = [&](FieldToParse const& field) { return field.name == name; };
        auto const found = std::find_if(fields.begin(), fields.end(), isMeant);
        if (found == fields.end())
            return in.error("the name of a field");
        TENON_TRY(found->parse(in, found->value));
    }
    return Done{};
}

} // namespace tenon
