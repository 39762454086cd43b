// Utf8: where the characters of a text begin and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon
{

//! Bytes of the UTF-8 character that the text begins with; 0: it begins with none.
size_t lengthOfCharacter(std::string_view text) noexcept;

//! Whether a byte is one of a character's later ones.
inline bool isInsideCharacter(char byte) noexcept
{
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

} // namespace tenon
