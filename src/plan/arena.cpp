// Arena: offsets by size, largest first, with best fit; of very many blocks, by time.
#include "plan/arena.h"

#include "base/cancellation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>

namespace tenon
{

namespace
{
struct Placed
{
    int64_t begin;
    int64_t end;
    ArenaBlock life;
};

bool areBeside(OneStream const& a, OneStream const& b) noexcept
{
    return a.region >= 0 && a.region == b.region && a.stream != b.stream;
}

bool liveTogether(ArenaBlock const& a, ArenaBlock const& b) noexcept
{
    return (a.first <= b.last && b.first <= a.last) || areBeside(a.begin, b.begin) || areBeside(a.begin, b.end)
        || areBeside(a.end, b.begin) || areBeside(a.end, b.end);
}

//! Start of the tightest gap of at least `bytes` between those blocks of `placed`, sorted by begin, that live together
//! with `block`.
int64_t bestFit(std::vector<Placed> const& placed, ArenaBlock const& block, int64_t bytes)
{
    int64_t best{-1};
    int64_t bestSlack{INT64_MAX};
    int64_t edge{0};
    for (Placed const& other : placed)
    {
        if (!liveTogether(other.life, block))
            continue;
        int64_t const slack = other.begin - edge - bytes;
        if (slack >= 0 && slack < bestSlack)
        {
            best = edge;
            bestSlack = slack;
        }
        edge = std::max(edge, other.end);
    }
    return best < 0 ? edge : best;
}

int64_t rounded(int64_t bytes, int64_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

//! Memory that is taken and given back as time goes on: the tightest gap is taken, neighbouring gaps become one.
class Sweep
{
  public:
    int64_t take(int64_t bytes)
    {
        auto const tightest = mBySize.lower_bound({bytes, 0});
        bool const fits = tightest != mBySize.end();
        // What is free below the top is part of what is added to it.
        int64_t const begin = fits                             ? tightest->second
            : !mGaps.empty() && mGaps.rbegin()->second == mTop ? mGaps.rbegin()->first
                                                               : mTop;
        int64_t const end = begin < mTop ? mGaps.at(begin) : mTop;
        if (begin < mTop)
            erase(begin, end);
        if (begin + bytes < end)
            insert(begin + bytes, end);
        mTop = std::max(mTop, begin + bytes);
        return begin;
    }
    void give(int64_t begin, int64_t end)
    {
        auto const next = mGaps.lower_bound(begin);
        if (next != mGaps.end() && next->first == end)
        {
            end = next->second;
            erase(next->first, end);
        }
        auto const behind = mGaps.lower_bound(begin);
        if (behind != mGaps.begin() && std::prev(behind)->second == begin)
        {
            begin = std::prev(behind)->first;
            erase(begin, std::prev(behind)->second);
        }
        insert(begin, end);
    }
    int64_t top() const
    {
        return mTop;
    }

  private:
    void insert(int64_t begin, int64_t end)
    {
        mGaps.emplace(begin, end);
        mBySize.emplace(end - begin, begin);
    }
    void erase(int64_t begin, int64_t end)
    {
        mGaps.erase(begin);
        mBySize.erase({end - begin, begin});
    }

    std::map<int64_t, int64_t> mGaps;              //!< Begin and end.
    std::set<std::pair<int64_t, int64_t>> mBySize; //!< Size and begin.
    int64_t mTop{0};
};

//! What one stream touches in a split region lives to the region's end: there all such blocks are alive together.
std::vector<ArenaBlock> toEndsOfRegions(std::span<ArenaBlock const> blocks)
{
    std::vector<ArenaBlock> longer(blocks.begin(), blocks.end());
    for (ArenaBlock& block : longer)
        block.last = std::max({block.last, block.begin.last, block.end.last});
    return longer;
}

//! In the order of time: n · log n, with some more memory than by size. Answers the bytes that the blocks named take.
int64_t layOutByTime(
    std::span<ArenaBlock const> given, std::vector<size_t> order, int64_t alignment, std::vector<int64_t>& offsets)
{
    std::vector<ArenaBlock> const blocks = toEndsOfRegions(given);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return std::pair{blocks[i].first, -blocks[i].bytes}; });
    Sweep sweep;
    using Alive = std::pair<int32_t, size_t>; // The last step of a block, and the block.
    std::priority_queue<Alive, std::vector<Alive>, std::greater<>> alive;
    for (size_t const i : order)
    {
        cancellationPoint();
        for (; !alive.empty() && alive.top().first < blocks[i].first; alive.pop())
        {
            size_t const gone = alive.top().second;
            sweep.give(offsets[gone], offsets[gone] + rounded(blocks[gone].bytes, alignment));
        }
        if (blocks[i].bytes <= 0)
            continue;
        offsets[i] = sweep.take(rounded(blocks[i].bytes, alignment));
        alive.emplace(std::max(blocks[i].last, blocks[i].first), i);
    }
    return sweep.top();
}

//! Largest first, each into the tightest gap that is free for its whole life.
int64_t layOutBySize(
    std::span<ArenaBlock const> blocks, std::vector<size_t> order, int64_t alignment, std::vector<int64_t>& offsets)
{
    std::ranges::stable_sort(order, std::greater<>{}, [&](size_t i) { return blocks[i].bytes; });
    int64_t total{0};
    std::vector<Placed> placed; // Sorted by begin.
    placed.reserve(order.size());
    for (size_t const i : order)
    {
        ArenaBlock const& block = blocks[i];
        if (block.bytes <= 0)
            break;
        int64_t const bytes = rounded(block.bytes, alignment);
        int64_t const begin = bestFit(placed, block, bytes);
        offsets[i] = begin;
        total = std::max(total, begin + bytes);
        Placed const mine{begin, begin + bytes, block};
        placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                          [](Placed const& a, Placed const& b) { return a.begin < b.begin; }),
            mine);
    }
    return total;
}
} // namespace

ArenaLayout layOut(std::span<ArenaBlock const> blocks, int64_t alignment)
{
    constexpr size_t kMaxBySize{4096}; // Each block is compared with all that are placed.
    ArenaLayout layout;
    layout.offsets.assign(blocks.size(), 0);
    for (Place const place : {Place::kDevice, Place::kHost})
    {
        std::vector<size_t> members;
        for (size_t i = 0; i < blocks.size(); ++i)
            if (blocks[i].place == place)
                members.push_back(i);
        bool const isMany = members.size() > kMaxBySize;
        int64_t const bytes = isMany ? layOutByTime(blocks, std::move(members), alignment, layout.offsets)
                                     : layOutBySize(blocks, std::move(members), alignment, layout.offsets);
        (place == Place::kDevice ? layout.bytes : layout.hostBytes) = bytes;
    }
    return layout;
}

} // namespace tenon
