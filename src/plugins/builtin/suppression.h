// What the plugins of non-maximum suppression share: the best of many candidates in little memory, and boxes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tenon::plugins::builtin
{

//! Two opposite corners, in either order of axes.
struct Box
{
    float x1;
    float y1;
    float x2;
    float y2;

    //! With the lower corner first.
    Box ordered() const noexcept
    {
        return {std::min(x1, x2), std::min(y1, y2), std::max(x1, x2), std::max(y1, y2)};
    }
};

struct ScoredBox
{
    float score;
    int64_t index;
};

//! Of equal scores the lower index comes first, so that results do not depend on the order of offers.
inline bool isBetter(ScoredBox const& a, ScoredBox const& b) noexcept
{
    return a.score != b.score ? a.score > b.score : a.index < b.index;
}

//! Keeps the best `limit` (at least one) of all candidates offered, in memory for twice as many.
class Best
{
  public:
    //! Candidates that the memory has to hold.
    static constexpr int64_t room(int64_t limit) noexcept
    {
        return 2 * limit;
    }
    Best(ScoredBox* memory, int64_t limit) noexcept
        : mFirst{memory},
          mLimit{limit}
    {
    }
    //! Whether it may be among the best, by what is known so far.
    bool wants(ScoredBox const& candidate) const noexcept
    {
        return !mHasBar || isBetter(candidate, mBar);
    }
    //! Scores are numbers.
    void offer(ScoredBox const& candidate) noexcept
    {
        if (!wants(candidate))
            return;
        mFirst[mCount++] = candidate;
        if (mCount == room(mLimit))
            shrink();
    }
    //! The best ones, best first. Ends the offers.
    std::span<ScoredBox const> sorted() noexcept
    {
        if (mCount > mLimit)
            shrink();
        std::sort(mFirst, mFirst + mCount, isBetter);
        return {mFirst, static_cast<size_t>(mCount)};
    }

  private:
    void shrink() noexcept
    {
        std::nth_element(mFirst, mFirst + mLimit - 1, mFirst + mCount, isBetter);
        mCount = mLimit;
        mBar = mFirst[mLimit - 1];
        mHasBar = true;
    }

    ScoredBox* mFirst;
    int64_t mLimit;
    int64_t mCount{0};
    ScoredBox mBar{}; //!< The worst one that was kept.
    bool mHasBar{false};
};

} // namespace tenon::plugins::builtin
