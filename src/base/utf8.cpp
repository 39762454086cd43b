// Utf8: the ranges of RFC 3629.
#include "base/utf8.h"

namespace tenon
{

size_t lengthOfCharacter(std::string_view text) noexcept
{
    auto const first = static_cast<unsigned char>(text.front());
    size_t const bytes = first < 0x80   ? 1
        : first >= 0xC2 && first < 0xE0 ? 2
        : (first & 0xF0) == 0xE0        ? 3
        : first >= 0xF0 && first < 0xF5 ? 4
                                        : 0;
    if (bytes == 0 || bytes > text.size())
        return 0;
    uint32_t code = bytes == 1 ? first : first & (0xFFU >> (bytes + 1));
    for (size_t i = 1; i < bytes; ++i)
    {
        auto const next = static_cast<unsigned char>(text[i]);
        if ((next & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (next & 0x3FU);
    }
    bool const isShort = (bytes == 3 && code < 0x800) || (bytes == 4 && (code < 0x10000 || code > 0x10FFFF));
    return isShort || (code >= 0xD800 && code < 0xE000) ? 0 : bytes;
}

} // namespace tenon
