// WorkRing: a queue of work that allocates only while it grows.
#pragma once

#include "device/host/streams.h"

#include <vector>

namespace tenon::host
{

class WorkRing
{
  public:
    bool isEmpty() const noexcept
    {
        return mCount == 0;
    }
    void push(Work work)
    {
        if (mCount == mSlots.size())
            grow();
        mSlots[(mFirst + mCount) % mSlots.size()] = std::move(work);
        ++mCount;
    }
    Work pop()
    {
        Work work = std::move(mSlots[mFirst]);
        mSlots[mFirst] = nullptr;
        mFirst = (mFirst + 1) % mSlots.size();
        --mCount;
        return work;
    }

  private:
    static constexpr size_t kFirstSize{16};

    void grow()
    {
        std::vector<Work> larger(mSlots.empty() ? kFirstSize : mSlots.size() * 2);
        for (size_t i = 0; i < mCount; ++i)
            larger[i] = std::move(mSlots[(mFirst + i) % mSlots.size()]);
        mSlots = std::move(larger);
        mFirst = 0;
    }

    std::vector<Work> mSlots;
    size_t mFirst{0};
    size_t mCount{0};
};

} // namespace tenon::host
