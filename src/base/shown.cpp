// Shown: escaping and shortening.
#include "base/shown.h"

#include "base/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace tenon
{

namespace
{
constexpr size_t kMaxName{200};
constexpr size_t kMaxLine{2000};
constexpr size_t kMaxMessage{64 * 1024};

//! Controls of both sets (ECMA-48), what is no UTF-8, and marks that turn the direction of what follows.
bool steers(std::string_view character) noexcept
{
    auto const first = static_cast<unsigned char>(character.front());
    if (character.size() == 1)
        return first < 0x20 || first >= 0x7F;
    auto const second = static_cast<unsigned char>(character[1]);
    if (first == 0xC2)
        return second < 0xA0;
    if (first != 0xE2 || character.size() != 3)
        return false;
    auto const third = static_cast<unsigned char>(character[2]);
    return (second == 0x80 && third >= 0xAA && third <= 0xAE) || (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

std::string escaped(std::string_view text, std::string_view kept)
{
    std::string plain;
    plain.reserve(text.size());
    while (!text.empty())
    {
        std::string_view const character = text.substr(0, std::max<size_t>(lengthOfCharacter(text), 1));
        text.remove_prefix(character.size());
        if (!steers(character) || kept.find(character.front()) != std::string_view::npos)
            plain += character;
        else if (character == "\n")
            plain += "\\n";
        else
            for (char const byte : character)
                plain += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    }
    return plain;
}

std::string shortened(std::string text, size_t limit)
{
    if (text.size() <= limit)
        return text;
    return withoutMiddle(text, limit, fmt::format(" ... ({} bytes left out) ... ", text.size() - limit));
}
} // namespace

std::string withoutMiddle(std::string_view text, size_t limit, std::string_view gap)
{
    if (text.size() <= limit)
        return std::string{text};
    size_t start{limit / 3};
    while (start > 0 && isInsideCharacter(text[start]))
        --start;
    size_t end = text.size() - (limit - limit / 3 - gap.size());
    while (end < text.size() && isInsideCharacter(text[end]))
        ++end;
    return std::string{text.substr(0, start)}.append(gap).append(text.substr(end));
}

std::string shownMessage(std::string_view text)
{
    std::string const plain = escaped(text, "\n\t");
    std::string message;
    for (size_t from = 0; from <= plain.size();)
    {
        size_t const to = std::min(plain.find('\n', from), plain.size());
        message += shortened(plain.substr(from, to - from), kMaxLine);
        if (to < plain.size())
            message += '\n';
        from = to + 1;
    }
    return shortened(std::move(message), kMaxMessage);
}

std::string shownName(std::string_view text)
{
    return shortened(escaped(text, ""), kMaxName);
}

} // namespace tenon
