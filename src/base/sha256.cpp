// SHA-256: the constants are the first 32 bits of the fractional parts of square and cube roots of primes, as FIPS
// 180-4 derives them, here computed in integers.
#include "base/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tenon
{

namespace
{
using Words = std::array<uint32_t, 8>;
using Wide = unsigned __int128;

constexpr std::array<uint32_t, 64> firstPrimes()
{
    std::array<uint32_t, 64> primes{};
    size_t count{0};
    for (uint32_t candidate = 2; count < primes.size(); ++candidate)
    {
        bool isPrime{true};
        for (size_t i = 0; i < count && isPrime; ++i)
            isPrime = candidate % primes[i] != 0;
        if (isPrime)
            primes[count++] = candidate;
    }
    return primes;
}

//! The largest r with r^power <= value · 2^(32 · power): its low 32 bits are the fraction of the root.
constexpr uint32_t fractionOfRoot(uint32_t value, int32_t power)
{
    uint64_t root{0};
    for (int32_t bit = 36; bit >= 0; --bit)
    {
        uint64_t const next = root | uint64_t{1} << bit;
        Wide raised{1};
        for (int32_t i = 0; i < power; ++i)
            raised *= next;
        if (raised <= Wide{value} << (32 * power))
            root = next;
    }
    return static_cast<uint32_t>(root);
}

constexpr std::array<uint32_t, 64> kPrimes = firstPrimes();

constexpr Words startWords()
{
    Words words{};
    for (size_t i = 0; i < words.size(); ++i)
        words[i] = fractionOfRoot(kPrimes[i], 2);
    return words;
}

constexpr std::array<uint32_t, 64> roundConstants()
{
    std::array<uint32_t, 64> constants{};
    for (size_t i = 0; i < constants.size(); ++i)
        constants[i] = fractionOfRoot(kPrimes[i], 3);
    return constants;
}

constexpr Words kStart = startWords();
constexpr std::array<uint32_t, 64> kRound = roundConstants();
static_assert(kStart[0] == 0x6A09E667 && kRound[0] == 0x428A2F98 && kRound[63] == 0xC67178F2);

uint32_t bigEndian(uint8_t const* bytes) noexcept
{
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

void mix(Words& state, uint8_t const* block) noexcept
{
    std::array<uint32_t, 64> w;
    for (size_t i = 0; i < 16; ++i)
        w[i] = bigEndian(block + 4 * i);
    for (size_t i = 16; i < 64; ++i)
    {
        uint32_t const s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t const s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < 64; ++i)
    {
        uint32_t const s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        uint32_t const first = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
        uint32_t const s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        uint32_t const second = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    Words const mixed{a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i)
        state[i] += mixed[i];
}
} // namespace

Sha256 sha256(ByteView bytes) noexcept
{
    Words state = kStart;
    size_t at{0};
    for (; at + 64 <= bytes.size(); at += 64)
        mix(state, bytes.data() + at);
    std::array<uint8_t, 128> tail{};
    size_t const left = bytes.size() - at;
    std::copy(bytes.begin() + static_cast<int64_t>(at), bytes.end(), tail.begin());
    tail[left] = 0x80;
    size_t const end = left < 56 ? 64 : 128;
    for (size_t i = 0; i < 8; ++i)
        tail[end - 1 - i] = static_cast<uint8_t>(uint64_t{bytes.size()} * 8 >> (8 * i));
    for (size_t block = 0; block < end; block += 64)
        mix(state, tail.data() + block);
    Sha256 digest;
    for (size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

std::string hexOf(Sha256 const& digest)
{
    std::string text;
    for (uint8_t const byte : digest)
        text += fmt::format("{:02x}", byte);
    return text;
}

} // namespace tenon
