// SHA-256 (FIPS 180-4): names the code that a plan carries by what it is.
#pragma once

#include "base/bytes.h"

#include <array>

namespace tenon
{

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(ByteView bytes) noexcept;
//! 64 hexadecimal digits.
std::string hexOf(Sha256 const& digest);

} // namespace tenon
