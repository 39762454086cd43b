// KeptTimes: the bytes of a timing cache, in a file named after what they hold for.
#include "api/build/kept_times.h"

#include "api/build/builder.h"
#include "base/knobs.h"
#include "base/sha256.h"

namespace tenon::api
{

namespace
{
std::string nameOf(TimingCache::Origin const& origin)
{
    std::string const text = fmt::format("{} {}", origin.version, origin.device);
    return hexOf(sha256({reinterpret_cast<uint8_t const*>(text.data()), text.size()})) + ".times";
}
} // namespace

KeptTimes::KeptTimes(std::filesystem::path const& folder, TimingCache::Origin origin)
    : mOrigin{std::move(origin)},
      mPath{folder.empty() ? folder : folder / "times" / nameOf(mOrigin)}
{
}

TimedTactics::Entries KeptTimes::stored() const
{
    Result<StoredTimes> times = readTimes(readKeptFile(mPath));
    if (!times || times->origin.version != mOrigin.version || times->origin.device != mOrigin.device)
        return {};
    return std::move(times->entries);
}

void KeptTimes::read(TimedTactics& times)
{
    if (mPath.empty())
        return;
    mCustom = times.all();
    times.add(stored());
    mRead = times.size();
}

Result<Done> KeptTimes::write(TimedTactics const& times, std::chrono::milliseconds patience) const
{
    if (mPath.empty() || times.size() == mRead)
        return Done{};
    TimedTactics::Entries measured = times.all();
    for (auto const& [key, entry] : mCustom)
        measured.erase(key);
    constexpr size_t kMaxFiles{16}; // Each build of the engine and of its libraries has one.
    KeptFileLock const lock{mPath.parent_path(), patience};
    if (lock.refusal())
        return errorOf(ErrorCode::kINVALID_STATE,
            "times of this build are not kept for the next one: {}; end it if it hangs", *lock.refusal());
    TimedTactics::Entries all = stored(); // Another process may have added some.
    all.merge(measured);
    keepFile(mPath, writeTimes(mOrigin, all));
    keepNewest(mPath.parent_path(), mPath.extension().native(), kMaxFiles);
    return Done{};
}

KeptTimes keptTimesOf(Builder const& builder)
{
    TimingCache::Origin origin = originOf(builder);
    BackendEntry const& backend = *builder.device().backend;
    if (backend.libraries == nullptr)
        return {{}, std::move(origin)};
    origin.device +=
        fmt::format(", {}, {}", loadedFileAt(reinterpret_cast<void const*>(&keptTimesOf)), backend.libraries());
    return {cacheFolder(), std::move(origin)};
}

} // namespace tenon::api
