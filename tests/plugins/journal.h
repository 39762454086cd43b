// Journal: what happened to the plugin objects of a test, in order.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace plugintest
{

struct Entry
{
    int32_t object{0};
    std::string call;
    std::string what; //!< Arguments, as text.
};

//! One for all objects of the process; a test clears it first.
class Journal
{
  public:
    static Journal& get()
    {
        static Journal journal;
        return journal;
    }
    void clear()
    {
        std::scoped_lock const lock{mMutex};
        mEntries.clear();
        mBorn = 0;
        mGone = 0;
    }
    int32_t born()
    {
        std::scoped_lock const lock{mMutex};
        ++mBorn;
        return ++mNext;
    }
    void gone()
    {
        std::scoped_lock const lock{mMutex};
        ++mGone;
    }
    void note(int32_t object, std::string call, std::string what = {})
    {
        std::scoped_lock const lock{mMutex};
        mEntries.push_back({object, std::move(call), std::move(what)});
    }
    std::vector<Entry> all()
    {
        std::scoped_lock const lock{mMutex};
        return mEntries;
    }
    int32_t count(std::string const& call, int32_t object = 0)
    {
        std::scoped_lock const lock{mMutex};
        return static_cast<int32_t>(std::count_if(mEntries.begin(), mEntries.end(),
            [&](Entry const& each) { return each.call == call && (object == 0 || each.object == object); }));
    }
    //! Position of the first entry of the call, −1 when there is none.
    int32_t first(std::string const& call, int32_t object = 0, size_t from = 0)
    {
        std::scoped_lock const lock{mMutex};
        for (size_t i = from; i < mEntries.size(); ++i)
            if (mEntries[i].call == call && (object == 0 || mEntries[i].object == object))
                return static_cast<int32_t>(i);
        return -1;
    }
    int32_t alive()
    {
        std::scoped_lock const lock{mMutex};
        return mBorn - mGone;
    }
    size_t size()
    {
        std::scoped_lock const lock{mMutex};
        return mEntries.size();
    }

  private:
    std::mutex mMutex;
    std::vector<Entry> mEntries;
    int32_t mNext{0};
    int32_t mBorn{0};
    int32_t mGone{0};
};

//! Base of a plugin: a number, and its life in the journal.
class Journaled
{
  public:
    Journaled()
        : mNumber{Journal::get().born()}
    {
    }
    Journaled(Journaled const&)
        : Journaled{}
    {
    }
    Journaled& operator=(Journaled const&) = delete;
    virtual ~Journaled()
    {
        Journal::get().gone();
    }
    int32_t number() const noexcept
    {
        return mNumber;
    }

  protected:
    void note(std::string call, std::string what = {}) const
    {
        Journal::get().note(mNumber, std::move(call), std::move(what));
    }

  private:
    int32_t mNumber;
};

} // namespace plugintest
