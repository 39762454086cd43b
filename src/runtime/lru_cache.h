// LruCache: the most recently used values of a few dozen keys, for several threads.
#pragma once

#include "base/bytes.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tenon
{

using ShapeKey = std::vector<int64_t>;

template <typename V>
class LruCache
{
  public:
    using Ptr = std::shared_ptr<V const>;

    explicit LruCache(size_t capacity)
        : mCapacity{capacity}
    {
    }

    //! Null when absent. Allocates nothing.
    Ptr find(std::span<int64_t const> key)
    {
        uint64_t const hash = hashOf(key);
        std::scoped_lock const lock{mMutex};
        for (Entry& entry : mEntries)
            if (entry.hash == hash && std::ranges::equal(entry.key, key))
            {
                entry.used = ++mClock;
                return entry.value;
            }
        return nullptr;
    }
    //! The value used last, of whatever key; null when empty.
    Ptr latest()
    {
        std::scoped_lock const lock{mMutex};
        auto const at = std::ranges::max_element(mEntries, {}, &Entry::used);
        return at == mEntries.end() ? nullptr : at->value;
    }
    //! Keeps the value that stands already when another thread was faster, and gives the one that counts.
    Ptr insert(ShapeKey key, Ptr value)
    {
        uint64_t const hash = hashOf(key);
        Ptr evicted; // Freed after the lock: it may be large.
        std::scoped_lock const lock{mMutex};
        for (Entry& entry : mEntries)
            if (entry.hash == hash && entry.key == key)
                return entry.value;
        if (mEntries.size() == mCapacity)
        {
            auto const oldest = std::ranges::min_element(mEntries, {}, &Entry::used);
            evicted = std::move(oldest->value);
            *oldest = {hash, ++mClock, std::move(key), value};
        }
        else
            mEntries.push_back({hash, ++mClock, std::move(key), value});
        return value;
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
        uint64_t used{0};
        ShapeKey key;
        Ptr value;
    };

    static uint64_t hashOf(std::span<int64_t const> key)
    {
        uint64_t hash{0};
        for (int64_t const value : key)
            hash = (hash ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
        return hash;
    }

    size_t mCapacity;
    mutable std::mutex mMutex;
    uint64_t mClock{0};
    std::vector<Entry> mEntries;
};

} // namespace tenon
