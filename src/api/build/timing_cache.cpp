// TimingCache: entries by key. As bytes: a head with version and device, the entries, and a digest of both.
#include "api/build/timing_cache.h"

#include "api/boundary.h"
#include "api/build/builder.h"
#include "api/host_memory.h"
#include "base/sha256.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
using Key = TimedTactics::Key;
using Entry = TimedTactics::Entry;

using CacheMagic = std::array<char, 8>;
constexpr CacheMagic kCacheMagic{'t', 'e', 'n', 'o', 'n', 't', 'c', '\0'};
constexpr uint32_t kCacheFormat{1};
constexpr TimingCacheValue kUnknownValue{TimingCacheValue::kINVALID_TACTIC_HASH, 0.0F};

//! Infinity is one: what has it is never chosen while something else can be. A number below zero and NaN are none.
bool isTime(float milliseconds) noexcept
{
    return milliseconds >= 0.0F;
}

Key keyOf(TimingCacheKey const& key) noexcept
{
    Key own{};
    std::copy_n(key.data, own.size(), own.begin());
    return own;
}

template <typename T>
Result<T> next(ByteReader& reader)
{
    T value{};
    TENON_TRY(reader.raw(value));
    return value;
}

Result<TimingCache::Origin> readHead(ByteReader& reader)
{
    if (TENON_TRY(next<CacheMagic>(reader)) != kCacheMagic)
        return badArgument("the bytes are no timing cache: they begin otherwise");
    uint32_t const format = TENON_TRY(next<uint32_t>(reader));
    if (format != kCacheFormat)
        return badArgument("the timing cache has format {}, this version reads {}", format, kCacheFormat);
    TimingCache::Origin origin;
    origin.version = TENON_TRY(next<int32_t>(reader));
    ByteView const device = TENON_TRY(reader.take(TENON_TRY(next<uint32_t>(reader))));
    origin.device.assign(device.begin(), device.end());
    return origin;
}

Result<TimedTactics::Entries> readEntries(ByteReader& reader)
{
    TimedTactics::Entries entries;
    auto const count = TENON_TRY(next<uint64_t>(reader));
    for (uint64_t i = 0; i < count; ++i)
    {
        Key const key = TENON_TRY(next<Key>(reader));
        Entry entry;
        TENON_TRY(reader.raw(entry.tactic));
        TENON_TRY(reader.raw(entry.milliseconds));
        if (!isTime(entry.milliseconds))
            return badArgument("entry {} of the timing cache has the time {}", i, entry.milliseconds);
        entries.emplace(key, entry);
    }
    return entries;
}
} // namespace

Bytes writeTimes(TimingCache::Origin const& origin, TimedTactics::Entries const& entries)
{
    ByteWriter writer;
    writer.raw(kCacheMagic);
    writer.raw(kCacheFormat);
    writer.raw(origin.version);
    writer.raw(static_cast<uint32_t>(origin.device.size()));
    writer.raw(ByteView{reinterpret_cast<uint8_t const*>(origin.device.data()), origin.device.size()});
    writer.raw(static_cast<uint64_t>(entries.size()));
    for (auto const& [key, entry] : entries)
    {
        writer.raw(key);
        writer.raw(entry.tactic);
        writer.raw(entry.milliseconds);
    }
    writer.raw(sha256(writer.bytes()));
    return writer.take();
}

Result<StoredTimes> readTimes(ByteView bytes)
{
    Sha256 stored{};
    if (bytes.size() < stored.size())
        return badArgument("{} bytes are no timing cache", bytes.size());
    ByteView const body = bytes.first(bytes.size() - stored.size());
    ByteReader reader{body};
    StoredTimes times{TENON_TRY(readHead(reader)), {}};
    std::copy_n(bytes.end() - static_cast<std::ptrdiff_t>(stored.size()), stored.size(), stored.begin());
    if (sha256(body) != stored)
        return badArgument("the timing cache is damaged: its digest is another one");
    times.entries = TENON_TRY(readEntries(reader));
    if (reader.left() != 0)
        return badArgument("{} bytes stand behind the entries of the timing cache", reader.left());
    return times;
}

TimingCache::Origin originOf(Builder const& builder)
{
    DeviceChoice const& device = builder.device();
    return {NV_TENSORRT_VERSION, fmt::format("{}, {}", device.device->name(), device.device->describe())};
}

TimingCache::TimingCache(std::shared_ptr<Builder> builder)
    : mBuilder{std::move(builder)},
      mOrigin{originOf(*mBuilder)}
{
}

Result<std::shared_ptr<TimingCache>> TimingCache::read(std::shared_ptr<Builder> builder, ByteView bytes)
{
    auto cache = std::make_shared<TimingCache>(std::move(builder));
    if (bytes.empty())
        return cache;
    StoredTimes const times = TENON_TRY(readTimes(bytes));
    cache->mOrigin = times.origin;
    cache->mTactics.add(times.entries);
    return cache;
}

Result<Done> TimingCache::checkFits(Origin const& wanted, bool ignoresMismatch) const
{
    if (mOrigin.version != wanted.version)
        return badConfig("the timing cache is from version {}, and this is version {}: what they measure differs",
            mOrigin.version, wanted.version);
    if (mOrigin.device != wanted.device && !ignoresMismatch)
        return badConfig(
            "the timing cache was measured on '{}', and this is '{}'; ignoreMismatch takes it all the same",
            mOrigin.device, wanted.device);
    return Done{};
}

Log const& TimingCache::log() const noexcept
{
    return mBuilder->reporting().log();
}

IHostMemory* TimingCache::serialize() const noexcept
{
    using Made = IHostMemory*;
    return fenced(log(), "ITimingCache::serialize", Made{nullptr},
        [&] { return makeHandle<IHostMemory, HostMemory>(writeTimes(mOrigin, mTactics.all())); });
}

bool TimingCache::combine(ITimingCache const& inputCache, bool ignoreMismatch) noexcept
{
    return fencedDone(log(), "ITimingCache::combine", [&]() -> Result<Done> {
        TimingCache& other = of(inputCache);
        TENON_TRY(other.checkFits(mOrigin, ignoreMismatch));
        mTactics.add(other.mTactics.all()); // Of two entries for one key this cache's stays (rule H3).
        return Done{};
    });
}

bool TimingCache::reset() noexcept
{
    return fencedDone(log(), "ITimingCache::reset", [&]() -> Result<Done> {
        mTactics.clear();
        return Done{};
    });
}

int64_t TimingCache::queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept
{
    return fenced(log(), "ITimingCache::queryKeys", int64_t{-1}, [&]() -> Result<int64_t> {
        if (capacity < 0 || (keyBuffer == nullptr && capacity > 0))
            return badArgument("room for {} keys at {}", capacity, static_cast<void const*>(keyBuffer));
        TimedTactics::Entries const entries = mTactics.all();
        int64_t filled{0};
        for (auto at = entries.begin(); at != entries.end() && filled < capacity; ++at, ++filled)
            std::copy(at->first.begin(), at->first.end(), keyBuffer[filled].data);
        return static_cast<int64_t>(entries.size());
    });
}

TimingCacheValue TimingCache::query(TimingCacheKey const& key) const noexcept
{
    return fenced(log(), "ITimingCache::query", kUnknownValue, [&] {
        std::optional<Entry> const found = mTactics.find(keyOf(key));
        return found ? TimingCacheValue{found->tactic, found->milliseconds} : kUnknownValue;
    });
}

bool TimingCache::update(TimingCacheKey const& key, TimingCacheValue const& value) noexcept
{
    return fencedDone(log(), "ITimingCache::update", [&]() -> Result<Done> {
        std::optional<Entry> entry;
        if (!std::isnan(value.timingMSec)) // Which takes the entry away (rule H4).
        {
            if (value.tacticHash == TimingCacheValue::kINVALID_TACTIC_HASH)
                return badArgument("the value stands for no tactic");
            if (!isTime(value.timingMSec))
                return badArgument("{} ms is no time", value.timingMSec);
            entry = Entry{value.tacticHash, value.timingMSec};
        }
        if (!mTactics.update(keyOf(key), entry))
            return badArgument("the cache has no entry for the key");
        return Done{};
    });
}

} // namespace tenon::api
