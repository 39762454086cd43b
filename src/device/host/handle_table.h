// HandleTable: which addresses stand for live objects, so that a handle is looked up before anything reads it.
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
    bool has(void const* handle) const
    {
        std::shared_lock const lock{mMutex};
        return mLive.contains(handle);
    }
    std::vector<std::shared_ptr<T>> all() const
    {
        std::shared_lock const lock{mMutex};
        std::vector<std::shared_ptr<T>> objects;
        objects.reserve(mLive.size());
        for (auto const& [handle, object] : mLive)
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
    //! Only between lockForFork() and its end.
    template <typename Visit>
    void eachLocked(Visit visit)
    {
        for (auto& [handle, object] : mLive)
            visit(*object);
    }

  private:
    mutable std::shared_mutex mMutex;
    std::unordered_map<void const*, std::shared_ptr<T>> mLive;
};

} // namespace tenon::host
