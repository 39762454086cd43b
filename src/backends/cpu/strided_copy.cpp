// StridedCopy: merging of axes, rows, and transposed tiles.
#include "backends/cpu/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace tenon::cpu
{

namespace
{
constexpr int64_t kTile{32};
//! Rows longer than this are cut, so that lanes can share a copy of few long rows.
constexpr int64_t kMaxRow{8192};

//! Destination order: slowest axis first; axes of extent 1 dropped; neighbours that are one run in both memories
//! merged.
std::vector<CopyAxis> normalized(std::vector<CopyAxis> axes)
{
    std::erase_if(axes, [](CopyAxis const& axis) { return axis.extent == 1; });
    std::stable_sort(
        axes.begin(), axes.end(), [](CopyAxis const& a, CopyAxis const& b) { return std::abs(a.to) > std::abs(b.to); });
    std::vector<CopyAxis> merged;
    for (CopyAxis const& axis : axes)
    {
        if (!merged.empty() && merged.back().from == axis.from * axis.extent
            && merged.back().to == axis.to * axis.extent)
            merged.back() = {merged.back().extent * axis.extent, axis.from, axis.to};
        else
            merged.push_back(axis);
    }
    return merged;
}

//! Counts through the outer loops; keeps the offsets of the present position.
struct Odometer
{
    explicit Odometer(std::span<CopyAxis const> axes, int64_t position)
        : mAxes{axes}
    {
        for (size_t i = axes.size(); i-- > 0;)
        {
            mIndex[i] = position % axes[i].extent;
            position /= axes[i].extent;
            from += mIndex[i] * axes[i].from;
            to += mIndex[i] * axes[i].to;
        }
    }
    void next()
    {
        for (size_t i = mAxes.size(); i-- > 0;)
        {
            from += mAxes[i].from;
            to += mAxes[i].to;
            if (++mIndex[i] < mAxes[i].extent)
                return;
            from -= mAxes[i].extent * mAxes[i].from;
            to -= mAxes[i].extent * mAxes[i].to;
            mIndex[i] = 0;
        }
    }
    int64_t from{0};
    int64_t to{0};

  private:
    std::span<CopyAxis const> mAxes;
    std::array<int64_t, 24> mIndex{};
};
} // namespace

StridedCopy::StridedCopy(int32_t elementBytes, std::vector<CopyAxis> axes, int64_t fromOffset, int64_t toOffset)
    : mElementBytes{elementBytes},
      mFromOffset{fromOffset},
      mToOffset{toOffset},
      mElements{1}
{
    for (CopyAxis const& axis : axes)
        mElements *= axis.extent;
    if (mElements == 0)
        return;
    mOuter = normalized(std::move(axes));
    if (!mOuter.empty())
    {
        mInner = mOuter.back();
        mOuter.pop_back();
    }
    bool const scattered = mInner.extent > 1 && mInner.from != 1 && mInner.from != 0;
    auto const across = std::find_if(
        mOuter.begin(), mOuter.end(), [](CopyAxis const& axis) { return axis.from == 1 && axis.extent >= 4; });
    if (scattered && across != mOuter.end())
    {
        mAcross = *across;
        mOuter.erase(across);
    }
}

template <typename T>
void StridedCopy::copyRow(T const* from, T* to, int64_t count) const
{
    if (mInner.from == 1 && mInner.to == 1)
        std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    else if (mInner.from == 0 && mInner.to == 1)
        std::fill(to, to + count, *from);
    else
        for (int64_t i = 0; i < count; ++i)
            to[i * mInner.to] = from[i * mInner.from];
}

template <typename T>
void StridedCopy::copyTile(T const* from, T* to, int64_t across, int64_t inner) const
{
    // Reads run along the source, writes along the destination; a tile of both stays in the first-level cache.
    if (across == kTile && inner == kTile && mInner.to == 1)
    {
        std::array<T, kTile * kTile> tile;
        for (int64_t i = 0; i < kTile; ++i)
            for (int64_t j = 0; j < kTile; ++j)
                tile[static_cast<size_t>(j * kTile + i)] = from[i * mInner.from + j];
        for (int64_t j = 0; j < kTile; ++j)
            std::memcpy(to + j * mAcross.to, &tile[static_cast<size_t>(j * kTile)], sizeof(T) * kTile);
        return;
    }
    for (int64_t j = 0; j < across; ++j)
        for (int64_t i = 0; i < inner; ++i)
            to[j * mAcross.to + i * mInner.to] = from[i * mInner.from + j];
}

template <typename T>
void StridedCopy::runAs(T const* from, T* to, Lane const& lane) const
{
    bool const transposes = mAcross.extent > 1;
    int64_t const step = transposes ? kTile : kMaxRow;
    int64_t const pieces = (mInner.extent + step - 1) / step;
    int64_t const bands = transposes ? (mAcross.extent + kTile - 1) / kTile : 1;
    int64_t outer{1};
    for (CopyAxis const& axis : mOuter)
        outer *= axis.extent;
    auto const [first, last] = lane.part(outer * pieces * bands);
    if (first >= last)
        return;
    Odometer at{mOuter, first / (pieces * bands)};
    for (int64_t unit = first; unit < last; ++unit)
    {
        int64_t const band = unit / pieces % bands;
        int64_t const piece = unit % pieces;
        int64_t const inner = std::min(step, mInner.extent - piece * step);
        T const* source = from + mFromOffset + at.from + piece * step * mInner.from + band * kTile;
        T* target = to + mToOffset + at.to + piece * step * mInner.to + band * kTile * mAcross.to;
        if (transposes)
            copyTile(source, target, std::min(kTile, mAcross.extent - band * kTile), inner);
        else
            copyRow(source, target, inner);
        if (unit % (pieces * bands) == pieces * bands - 1)
            at.next();
    }
}

void StridedCopy::run(void const* from, void* to, Lane const& lane) const
{
    if (mElements == 0)
        return;
    switch (mElementBytes)
    {
    case 1: runAs(static_cast<uint8_t const*>(from), static_cast<uint8_t*>(to), lane); break;
    case 2: runAs(static_cast<uint16_t const*>(from), static_cast<uint16_t*>(to), lane); break;
    case 4: runAs(static_cast<uint32_t const*>(from), static_cast<uint32_t*>(to), lane); break;
    default: runAs(static_cast<uint64_t const*>(from), static_cast<uint64_t*>(to), lane); break;
    }
}

} // namespace tenon::cpu
