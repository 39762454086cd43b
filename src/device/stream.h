// Streams: which handles stand for which order of work.
#pragma once

#include "base/result.h"

#include <cstdint>

namespace tenon
{

//! Handles 0 and 1 (CUDA's legacy stream by its two names) are the caller's thread; there are no other streams yet.
inline Result<Done> checkStream(void const* stream)
{
    if (reinterpret_cast<uintptr_t>(stream) > 1)
        return badArgument(
            "stream {} is not one of Tenon's: only streams 0 and 1, the caller's thread, exist so far", stream);
    return Done{};
}

} // namespace tenon
