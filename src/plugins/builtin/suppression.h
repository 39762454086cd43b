// What the plugins of non-maximum suppression share: the best of many candidates in little memory, and boxes.
#pragma once

#include <algorithm>
#include <cstddef>
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

//! A box that no better one covers.
struct KeptBox
{
    Box box;
    ScoredBox from;
};

//! Goes through candidates from the best to the worst, and keeps those that no kept one covers, `keep` at most, in
//! memory for as many. `boxOf(candidate)` gives a box, `covers(kept, candidate's KeptBox)` whether it is left out.
template <typename BoxOf, typename Covers>
std::span<KeptBox const> suppress(
    std::span<ScoredBox const> candidates, KeptBox* memory, int64_t keep, BoxOf const& boxOf, Covers const& covers)
{
    int64_t count{0};
    for (ScoredBox const& candidate : candidates)
    {
        if (count == keep)
            break;
        KeptBox const one{boxOf(candidate), candidate};
        if (std::none_of(memory, memory + count, [&](KeptBox const& kept) { return covers(kept, one); }))
            memory[count++] = one;
    }
    return {memory, static_cast<size_t>(count)};
}

//! Suppression as Caffe's DetectionOutput layer has it, of one image: within each class among its topK best boxes above
//! the threshold, then the keep best that are left of all classes. Candidates have the index class · boxes + box.
class ClassSuppression
{
  public:
    int64_t boxes;
    int64_t classes;
    int64_t background;
    int64_t topK;
    int64_t keep;
    float scoreThreshold;
    float overlapThreshold;
    bool isNormalized; //!< Else coordinates are pixels: a side counts both its ends.
    bool isCaffe;      //!< In pixels for intersections, too; boxes apart from each other then have one in common.

    int64_t limit() const noexcept
    {
        return std::min(topK, boxes);
    }
    //! Bytes of run()'s memory.
    size_t workspace() const noexcept
    {
        return static_cast<size_t>(Best::room(limit()) + Best::room(keep)) * sizeof(ScoredBox)
            + static_cast<size_t>(limit()) * sizeof(Box);
    }
    //! `scoreOf(box, class)` and `boxOf(box, class)`. The best first, in `memory`.
    template <typename ScoreOf, typename BoxOf>
    std::span<ScoredBox const> run(void* memory, ScoreOf const& scoreOf, BoxOf const& boxOf) const noexcept
    {
        if (limit() == 0)
            return {};
        auto* const ofClass = static_cast<ScoredBox*>(memory);
        Best ofImage{ofClass + Best::room(limit()), keep};
        for (int64_t label = 0; label < classes; ++label)
            if (label != background)
                runClass(ofClass, ofImage, label, scoreOf, boxOf);
        return ofImage.sorted();
    }

  private:
    //! Offers what is left of one class. What the image does not want cannot matter: it covers worse ones only.
    template <typename ScoreOf, typename BoxOf>
    void runClass(
        ScoredBox* memory, Best& ofImage, int64_t label, ScoreOf const& scoreOf, BoxOf const& boxOf) const noexcept
    {
        Best best{memory, limit()};
        for (int64_t box = 0; box < boxes; ++box)
        {
            float const score = scoreOf(box, label);
            if (score > scoreThreshold && ofImage.wants({score, label * boxes + box})) // Never a NaN.
                best.offer({score, box});
        }
        auto* const kept = reinterpret_cast<Box*>(memory + Best::room(limit()) + Best::room(keep));
        size_t count{0};
        for (ScoredBox const& candidate : best.sorted())
        {
            ScoredBox const inImage{candidate.score, label * boxes + candidate.index};
            if (!ofImage.wants(inImage))
                break; // Nor are those behind it.
            Box const box = boxOf(candidate.index, label).ordered();
            bool const isCovered = std::any_of(
                kept, kept + count, [&](Box const& other) { return overlap(other, box) > overlapThreshold; });
            if (isCovered)
                continue;
            kept[count++] = box;
            ofImage.offer(inImage);
        }
    }
    //! Intersection over union of ordered boxes.
    float overlap(Box const& a, Box const& b) const noexcept
    {
        bool const isApart = b.x1 > a.x2 || b.x2 < a.x1 || b.y1 > a.y2 || b.y2 < a.y1;
        Box const common = isApart
            ? Box{}
            : Box{std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)};
        float const more = isNormalized ? 0.0F : 1.0F;
        float const width = common.x2 - common.x1 + (isCaffe ? more : 0.0F);
        float const height = common.y2 - common.y1 + (isCaffe ? more : 0.0F);
        if (!(width > 0.0F && height > 0.0F))
            return 0.0F;
        float const area = width * height;
        return area / (sideProduct(a, more) + sideProduct(b, more) - area);
    }
    static float sideProduct(Box const& box, float more) noexcept
    {
        if (box.x2 < box.x1 || box.y2 < box.y1)
            return 0.0F;
        return (box.x2 - box.x1 + more) * (box.y2 - box.y1 + more);
    }
};

} // namespace tenon::plugins::builtin
