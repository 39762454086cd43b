// TimedTactics: what measuring has told, by problem, so that a build need not measure again what another one did.
#pragma once

#include "base/bytes.h"

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

namespace tenon
{

//! Safe from several threads.
class TimedTactics
{
  public:
    using Key = std::array<uint8_t, 16>;

    struct Entry
    {
        uint64_t tactic{0};
        float milliseconds{0.0F};
    };
    using Entries = std::map<Key, Entry>;

    //! Problems with the same text have the same key, on every machine.
    static Key keyOf(std::string_view problem) noexcept;

    std::optional<Entry> find(Key const& key) const;
    //! What is there already stays.
    void add(Key const& key, Entry const& entry);
    void add(Entries const& entries);
    //! Changes or, without an entry, takes away what is there; false: nothing is.
    bool update(Key const& key, std::optional<Entry> const& entry);
    void clear();
    size_t size() const;
    Entries all() const;

  private:
    mutable std::mutex mMutex;
    Entries mEntries;
};

//! What a build may take instead of measuring, and keeps what it has measured in.
struct KnownTimes
{
    TimedTactics* tactics{nullptr}; //!< Null: nothing is kept.
    bool mustKnow{false};           //!< Whatever would have to be measured is an error (rule H6).
};

} // namespace tenon
