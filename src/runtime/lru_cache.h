// LruCache: the most recently used values by key, as many as fit into a number of bytes, for several threads.
#pragma once

#include "base/bytes.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenon
{

using ShapeKey = std::vector<int64_t>;

template <typename V>
class LruCache
{
  public:
    using Ptr = std::shared_ptr<V const>;

    //! The latest value stays, however large it is.
    explicit LruCache(size_t maxBytes)
        : mMaxBytes{maxBytes}
    {
    }

    //! Null when absent. Allocates nothing.
    Ptr find(std::span<int64_t const> key)
    {
        std::scoped_lock const lock{mMutex};
        auto const [first, last] = mByHash.equal_range(hashOf(key));
        auto const found =
            std::find_if(first, last, [&](auto const& each) { return std::ranges::equal(each.second->key, key); });
        if (found == last)
            return nullptr;
        mEntries.splice(mEntries.begin(), mEntries, found->second);
        return found->second->value;
    }
    //! The value used last, of whatever key; null when empty.
    Ptr latest() const
    {
        std::scoped_lock const lock{mMutex};
        return mEntries.empty() ? nullptr : mEntries.front().value;
    }
    //! Keeps the value that stands already when another thread was faster, and gives the one that counts. `bytes` is
    //! what the value takes, about.
    Ptr insert(ShapeKey key, Ptr value, size_t bytes)
    {
        std::list<Entry> evicted; // Freed behind the lock: they may be large.
        uint64_t const hash = hashOf(key);
        std::scoped_lock const lock{mMutex};
        auto const [first, last] = mByHash.equal_range(hash);
        for (auto at = first; at != last; ++at)
            if (at->second->key == key)
                return at->second->value;
        mEntries.push_front({hash, bytes, std::move(key), std::move(value)});
        mByHash.emplace(hash, mEntries.begin());
        mBytes += bytes;
        while (mBytes > mMaxBytes && mEntries.size() > 1)
            dropOldest(evicted);
        return mEntries.front().value;
    }
    void clear()
    {
        std::list<Entry> gone; // Freed behind the lock.
        std::scoped_lock const lock{mMutex};
        gone.swap(mEntries);
        mByHash.clear();
        mBytes = 0;
    }
    size_t size() const
    {
        std::scoped_lock const lock{mMutex};
        return mEntries.size();
    }

  private:
    struct Entry
    {
        uint64_t hash{0};
        size_t bytes{0};
        ShapeKey key;
        Ptr value;
    };
    using Place = typename std::list<Entry>::iterator;

    void dropOldest(std::list<Entry>& evicted)
    {
        auto const oldest = std::prev(mEntries.end());
        auto const [first, last] = mByHash.equal_range(oldest->hash);
        mByHash.erase(std::find_if(first, last, [&](auto const& each) { return each.second == oldest; }));
        mBytes -= oldest->bytes;
        evicted.splice(evicted.begin(), mEntries, oldest);
    }
    static uint64_t hashOf(std::span<int64_t const> key)
    {
        uint64_t hash{0};
        for (int64_t const value : key)
            hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
        return hash;
    }

    size_t mMaxBytes;
    mutable std::mutex mMutex;
    size_t mBytes{0};
    std::list<Entry> mEntries; //!< Used last first.
    std::unordered_multimap<uint64_t, Place> mByHash;
};

} // namespace tenon
