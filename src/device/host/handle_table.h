// HandleTable: which addresses stand for live objects, so that a handle is looked up before anything reads it; and
// which objects are on their way out, which no handle stands for any more.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace tenon::host
{

template <typename T>
class HandleTable
{
  public:
    void* add(std::shared_ptr<T> object)
    {
        void* const handle = object.get();
        std::unique_lock const lock{mMutex};
        mLive.emplace(handle, std::move(object));
        return handle;
    }
    //! Null when the handle is not live.
    std::shared_ptr<T> find(void const* handle) const
    {
        std::shared_lock const lock{mMutex};
        auto const found = mLive.find(handle);
        return found == mLive.end() ? nullptr : found->second;
    }
    std::shared_ptr<T> remove(void const* handle)
    {
        std::unique_lock const lock{mMutex};
        auto const found = mLive.find(handle);
        if (found == mLive.end())
            return nullptr;
        std::shared_ptr<T> object = std::move(found->second);
        mLive.erase(found);
        return object;
    }
    //! As remove(); but all() and eachLocked() know the object until bury().
    std::shared_ptr<T> retire(void const* handle)
    {
        std::unique_lock const lock{mMutex};
        auto const found = mLive.find(handle);
        if (found == mLive.end())
            return nullptr;
        std::shared_ptr<T> object = found->second;
        mRetired.insert(mLive.extract(found));
        return object;
    }
    //! Once or more for an object that was retired.
    void bury(void const* handle)
    {
        typename Objects::node_type object; // Goes after the lock.
        std::unique_lock const lock{mMutex};
        object = mRetired.extract(handle);
    }
    bool has(void const* handle) const
    {
        std::shared_lock const lock{mMutex};
        return mLive.contains(handle);
    }
    std::vector<std::shared_ptr<T>> all() const
    {
        std::shared_lock const lock{mMutex};
        std::vector<std::shared_ptr<T>> objects;
        objects.reserve(mLive.size() + mRetired.size());
        for (Objects const* const some : {&mLive, &mRetired})
            for (auto const& [handle, object] : *some)
                objects.push_back(object);
        return objects;
    }

    //! Around fork(): held from before until after, in the child made anew, as its waiters exist in the parent only.
    void lockForFork()
    {
        mMutex.lock();
    }
    void unlockInParent()
    {
        mMutex.unlock();
    }
    void unlockInChild()
    {
        std::construct_at(&mMutex);
    }
    //! Buries those that fit. Only between lockForFork() and its end, as the next.
    template <typename Fits>
    void buryLocked(Fits fits)
    {
        std::erase_if(mRetired, [&](auto const& entry) { return fits(*entry.second); });
    }
    template <typename Visit>
    void eachLocked(Visit visit)
    {
        for (Objects* const some : {&mLive, &mRetired})
            for (auto& [handle, object] : *some)
                visit(*object);
    }

  private:
    using Objects = std::unordered_map<void const*, std::shared_ptr<T>>;

    mutable std::shared_mutex mMutex;
    Objects mLive;
    Objects mRetired;
};

} // namespace tenon::host
