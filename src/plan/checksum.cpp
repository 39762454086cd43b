// Checksums of plan sections.
#include "plan/checksum.h"

#include "base/cpus.h"
#include "plan/chunks.h"
#include "plan/paged_memory.h"

#include <bit>

namespace tenon
{

namespace
{
constexpr uint64_t kOdd{0x9E3779B97F4A7C15ULL}; // 2^64 / golden ratio, odd: multiplying by it is a bijection.
constexpr size_t kStripe{64};

uint64_t wordAt(uint8_t const* at) noexcept
{
    uint64_t word{0};
    std::memcpy(&word, at, sizeof(word));
    return word;
}

uint64_t mix(uint64_t chain, uint64_t word) noexcept
{
    return std::rotl((chain ^ word) * kOdd, 29);
}

template <typename Before, typename After>
uint64_t sumOfChunks(ByteView bytes, int32_t maxThreads, Before const& before, After const& after)
{
    std::vector<uint64_t> sums((bytes.size() + kChunk - 1) / kChunk);
    forEachChunk(bytes.size(), maxThreads, [&](size_t first, size_t count) {
        before(first, count);
        sums[first / kChunk] = checksum(bytes.subspan(first, count));
        after(first, count);
    });
    return checksum({reinterpret_cast<uint8_t const*>(sums.data()), sums.size() * sizeof(uint64_t)});
}
} // namespace

uint64_t checksum(ByteView bytes) noexcept
{
    uint64_t chains[8];
    for (size_t i = 0; i < 8; ++i)
        chains[i] = (i + 1) * kOdd;
    uint8_t const* at = bytes.data();
    size_t left = bytes.size();
    for (; left >= kStripe; left -= kStripe, at += kStripe)
        for (size_t i = 0; i < 8; ++i)
            chains[i] = mix(chains[i], wordAt(at + i * sizeof(uint64_t)));
    uint64_t result = mix(0, bytes.size());
    for (uint64_t const chain : chains)
        result = mix(result, chain);
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t))
        result = mix(result, wordAt(at));
    for (; left > 0; --left, ++at)
        result = mix(result, *at);
    result ^= result >> 32;
    return result * kOdd;
}

uint64_t chunkedChecksum(ByteView bytes, PagedMemory const* pages)
{
    return sumOfChunks(
        bytes, usableCpus(), [](size_t, size_t) {},
        [&](size_t first, size_t count) {
            if (pages != nullptr)
                pages->drop(bytes.data() + first, count);
        });
}

uint64_t chunkedChecksum(
    ByteView bytes, int32_t maxThreads, std::function<void(size_t first, size_t count)> const& fill)
{
    return sumOfChunks(bytes, maxThreads, fill, [](size_t, size_t) {});
}

} // namespace tenon
