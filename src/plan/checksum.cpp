// Checksums of plan sections.
#include "plan/checksum.h"

#include "base/cpus.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

namespace tenon
{

namespace
{
constexpr uint64_t kOdd{0x9E3779B97F4A7C15ULL}; // 2^64 / golden ratio, odd: multiplying by it is a bijection.
constexpr size_t kStripe{64};
constexpr size_t kChunk{size_t{4} << 20};

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

uint64_t chunkedChecksum(ByteView bytes)
{
    size_t const chunks = (bytes.size() + kChunk - 1) / kChunk;
    std::vector<uint64_t> sums(chunks);
    std::atomic<size_t> next{0};
    auto const work = [&] {
        for (size_t i = next++; i < chunks; i = next++)
            sums[i] = checksum(bytes.subspan(i * kChunk, std::min(kChunk, bytes.size() - i * kChunk)));
    };
    size_t const threads = std::min<size_t>({static_cast<size_t>(usableCpus()), chunks / 2, 8});
    {
        std::vector<std::jthread> team;
        for (size_t i = 1; i < threads; ++i)
            team.emplace_back(work);
        work();
    }
    return checksum({reinterpret_cast<uint8_t const*>(sums.data()), sums.size() * sizeof(uint64_t)});
}

} // namespace tenon
