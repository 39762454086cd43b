// Checksums of plan sections: against damage, not against tampering (that is what checkPlan and the kernels guard).
#pragma once

#include "base/bytes.h"

#include <functional>

namespace tenon
{

class PagedMemory;

//! Eight independent multiply chains over 64-byte stripes: as fast as memory gives the bytes. Every change of one word
//! changes the result, since each round is a bijection of its chain.
uint64_t checksum(ByteView bytes) noexcept;

//! checksum over the checksums of 4 MiB chunks, which threads share when there are many: a weight section is always
//! checked, at memory speed, rather than lazily, so that damage shows at load and never as a wrong result. Bytes in
//! `pages` leave memory behind it.
uint64_t chunkedChecksum(ByteView bytes, PagedMemory const* pages = nullptr);
//! The same of bytes that `fill` writes chunk by chunk, from up to `maxThreads` threads; they are still in a cache when
//! they are summed up.
uint64_t chunkedChecksum(
    ByteView bytes, int32_t maxThreads, std::function<void(size_t first, size_t count)> const& fill);

} // namespace tenon
