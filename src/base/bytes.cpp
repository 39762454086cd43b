// Bytes: hashing.
#include "base/bytes.h"

namespace tenon
{

uint64_t hashBytes(ByteView bytes, uint64_t seed) noexcept
{
    for (uint8_t const byte : bytes)
        seed = (seed ^ byte) * 0x100000001B3ULL;
    return seed;
}

} // namespace tenon
