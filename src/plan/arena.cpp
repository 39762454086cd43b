// Arena: offsets by size, largest first, with best fit.
#include "plan/arena.h"

#include <algorithm>
#include <numeric>

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

bool liveTogether(ArenaBlock const& a, ArenaBlock const& b) noexcept
{
    bool const areBeside = a.region >= 0 && a.region == b.region && a.stream != b.stream;
    return areBeside || (a.first <= b.last && b.first <= a.last);
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
} // namespace

ArenaLayout layOut(std::span<ArenaBlock const> blocks, int64_t alignment)
{
    ArenaLayout layout;
    layout.offsets.assign(blocks.size(), 0);
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
    std::vector<Placed> placed; // Sorted by begin.
    placed.reserve(blocks.size());
    for (size_t const i : order)
    {
        ArenaBlock const& block = blocks[i];
        if (block.bytes <= 0)
            break;
        int64_t const bytes = (block.bytes + alignment - 1) / alignment * alignment;
        int64_t const begin = bestFit(placed, block, bytes);
        layout.offsets[i] = begin;
        layout.bytes = std::max(layout.bytes, begin + bytes);
        Placed const mine{begin, begin + bytes, block};
        placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                          [](Placed const& a, Placed const& b) { return a.begin < b.begin; }),
            mine);
    }
    return layout;
}

} // namespace tenon
