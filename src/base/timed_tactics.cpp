// TimedTactics: a map with a lock; keys are digests of what makes two measurements the same.
#include "base/timed_tactics.h"

#include "base/sha256.h"

#include <algorithm>

namespace tenon
{

TimedTactics::Key TimedTactics::keyOf(std::string_view problem) noexcept
{
    Sha256 const digest = sha256({reinterpret_cast<uint8_t const*>(problem.data()), problem.size()});
    Key key{};
    std::copy_n(digest.begin(), key.size(), key.begin());
    return key;
}

std::optional<TimedTactics::Entry> TimedTactics::find(Key const& key) const
{
    std::scoped_lock const lock{mMutex};
    auto const found = mEntries.find(key);
    return found == mEntries.end() ? std::nullopt : std::optional{found->second};
}

void TimedTactics::add(Key const& key, Entry const& entry)
{
    std::scoped_lock const lock{mMutex};
    mEntries.try_emplace(key, entry);
}

void TimedTactics::add(Entries const& entries)
{
    std::scoped_lock const lock{mMutex};
    mEntries.insert(entries.begin(), entries.end());
}

bool TimedTactics::update(Key const& key, std::optional<Entry> const& entry)
{
    std::scoped_lock const lock{mMutex};
    auto const found = mEntries.find(key);
    if (found == mEntries.end())
        return false;
    if (entry)
        found->second = *entry;
    else
        mEntries.erase(found);
    return true;
}

void TimedTactics::clear()
{
    std::scoped_lock const lock{mMutex};
    mEntries.clear();
}

size_t TimedTactics::size() const
{
    std::scoped_lock const lock{mMutex};
    return mEntries.size();
}

TimedTactics::Entries TimedTactics::all() const
{
    std::scoped_lock const lock{mMutex};
    return mEntries;
}

} // namespace tenon
