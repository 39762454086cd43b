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

Result<ByteView> ByteReader::take(uint64_t count)
{
    if (left() < count)
        return badArgument("{} bytes are left where {} are needed", left(), count);
    ByteView const view = mBytes.subspan(mAt, count);
    mAt += count;
    return view;
}

Result<Done> ByteReader::copy(void* to, size_t count)
{
    ByteView const view = TENON_TRY(take(count));
    std::memcpy(to, view.data(), count);
    return Done{};
}

} // namespace tenon
