// Guarded: mapped pages.
#include "plugins/check/guarded.h"

#include <utility>

#include <sys/mman.h>

namespace tenon::plugins::check
{

namespace
{
constexpr size_t kPage{4096};
constexpr size_t kLimit{size_t{1} << 36};
constexpr uint32_t kMarginSeed{0x5EED};
} // namespace

uint8_t patternAt(size_t position, uint32_t seed) noexcept
{
    uint64_t mixed = (position + 1) * 0x9E3779B97F4A7C15ULL + seed * 0xD1B54A32D192ED03ULL;
    mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9ULL;
    return static_cast<uint8_t>(mixed >> 40);
}

// Pages: locked, margin, data up to a page's end, margin, locked.
Result<Guarded> Guarded::make(size_t size)
{
    if (size > kLimit)
        return badConfig("{} bytes were asked for", size);
    size_t const total = (size + kPage - 1) / kPage * kPage + 4 * kPage;
    void* const all = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return errorOf(ErrorCode::kFAILED_ALLOCATION, "there is no memory for {} bytes", size);
    auto* const first = static_cast<uint8_t*>(all);
    mprotect(first, kPage, PROT_NONE);
    mprotect(first + total - kPage, kPage, PROT_NONE);
    Guarded guarded{first, total, size};
    guarded.fill(0, false);
    return guarded;
}

Guarded::Guarded(uint8_t* all, size_t total, size_t size) noexcept
    : mAll{all},
      mTotal{total},
      mData{all + 2 * kPage},
      mSize{size}
{
}

Guarded::Guarded(Guarded&& other) noexcept
    : mAll{std::exchange(other.mAll, nullptr)},
      mTotal{other.mTotal},
      mData{other.mData},
      mSize{other.mSize}
{
}

Guarded::~Guarded()
{
    if (mAll != nullptr)
        munmap(mAll, mTotal);
}

uint8_t* Guarded::behind() const noexcept
{
    return mAll + mTotal - kPage;
}

void Guarded::fill(uint32_t seed, bool isInverted) noexcept
{
    for (uint8_t* at = mAll + kPage; at != mData; ++at)
        *at = patternAt(static_cast<size_t>(at - mAll), kMarginSeed);
    for (size_t i = 0; i < mSize; ++i)
        mData[i] = static_cast<uint8_t>(patternAt(i, seed) ^ (isInverted ? 0xFF : 0));
    for (uint8_t* at = mData + mSize; at != behind(); ++at)
        *at = patternAt(static_cast<size_t>(at - mAll), kMarginSeed);
}

std::optional<int64_t> Guarded::damage() const noexcept
{
    for (uint8_t const* at = mAll + kPage; at != behind(); ++at)
    {
        bool const isMargin = at < mData || at >= mData + mSize;
        if (isMargin && *at != patternAt(static_cast<size_t>(at - mAll), kMarginSeed))
            return at - mData;
    }
    return std::nullopt;
}

} // namespace tenon::plugins::check
