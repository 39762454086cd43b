// TimingCache: what builds have measured, and its form as bytes.
#pragma once

#include "api/handle.h"
#include "api/not_implemented.h"
#include "base/log.h"
#include "base/timed_tactics.h"

#include <memory>
#include <string>

namespace tenon::api
{

class Builder;

class TimingCache final : public nvinfer1::apiv::VTimingCache,
                          public Fronted<nvinfer1::ITimingCache, TimingCache>,
                          public std::enable_shared_from_this<TimingCache>
{
  public:
    //! What the times hold for: another version or device measures others.
    struct Origin
    {
        int32_t version{0};
        std::string device;
    };

    //! An empty one, for the builder's device.
    explicit TimingCache(std::shared_ptr<Builder> builder);
    //! What serialize() gave; the error says what is wrong with the bytes.
    static Result<std::shared_ptr<TimingCache>> read(std::shared_ptr<Builder> builder, ByteView bytes);

    //! Whether builds on a device may use it; an error names what differs.
    Result<Done> checkFits(Origin const& wanted, bool ignoresMismatch) const;
    Origin const& origin() const noexcept
    {
        return mOrigin;
    }
    TimedTactics& tactics() noexcept
    {
        return mTactics;
    }

    nvinfer1::IHostMemory* serialize() const noexcept override;
    bool combine(nvinfer1::ITimingCache const& inputCache, bool ignoreMismatch) noexcept override;
    bool reset() noexcept override;
    int64_t queryKeys(nvinfer1::TimingCacheKey* keyBuffer, int64_t capacity) const noexcept override;
    nvinfer1::TimingCacheValue query(nvinfer1::TimingCacheKey const& key) const noexcept override;
    bool update(nvinfer1::TimingCacheKey const& key, nvinfer1::TimingCacheValue const& value) noexcept override;

  private:
    Log const& log() const noexcept;

    std::shared_ptr<Builder> mBuilder;
    Origin mOrigin;
    TimedTactics mTactics;
};

struct StoredTimes
{
    TimingCache::Origin origin;
    TimedTactics::Entries entries;
};
//! Times as bytes with a digest; reading says what is wrong with them.
Bytes writeTimes(TimingCache::Origin const& origin, TimedTactics::Entries const& entries);
Result<StoredTimes> readTimes(ByteView bytes);

//! The origin of what is measured for a builder now.
TimingCache::Origin originOf(Builder const& builder);

} // namespace tenon::api
