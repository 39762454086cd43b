// KeptTimes: what builds have measured, in a file of the user's cache folder (decision 82).
#pragma once

#include "api/build/timing_cache.h"
#include "base/kept_file.h"

#include <filesystem>

namespace tenon::api
{

class KeptTimes
{
  public:
    //! Of one device, below a folder; an empty folder keeps none.
    KeptTimes(std::filesystem::path const& folder, TimingCache::Origin origin);

    //! Adds what the file has to times of custom layers, whose code may be another one tomorrow: those are not kept. A
    //! file that is damaged or of another origin is as none.
    void read(TimedTactics& times);
    //! Adds to the file what has been measured since; fails where another process lets nobody write so long.
    Result<Done> write(TimedTactics const& times, std::chrono::milliseconds patience = KeptFileLock::kPatience) const;

  private:
    TimedTactics::Entries stored() const;

    TimingCache::Origin mOrigin;
    std::filesystem::path mPath; //!< Empty: nothing is kept.
    TimedTactics::Entries mCustom;
    size_t mRead{0};
};

//! Where a builder's device has its times: of this build of the engine and of the libraries that its kernels come from.
KeptTimes keptTimesOf(Builder const& builder);

} // namespace tenon::api
