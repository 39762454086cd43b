// NodeOrder: labels.
#include "ir/node_order.h"

namespace tenon
{

void NodeOrder::insertBefore(NodeId at, NodeId node)
{
    constexpr uint64_t kGap{uint64_t{1} << 32}; // Between nodes that are added one behind the other.
    if (mEntries.size() < static_cast<size_t>(node) + 2)
        mEntries.resize(static_cast<size_t>(node) + 2);
    NodeId const before = entry(at).previous;
    if (labelAt(at) - entry(before).label < 2)
        makeRoomBehind(before);
    uint64_t const room = labelAt(at) - entry(before).label;
    bool const isFarFromEnd = at == kNone && room > 2 * kGap;
    entry(node) = {before, at, entry(before).label + (isFarFromEnd ? kGap : room / 2)};
    entry(before).next = node;
    entry(at).previous = node;
    ++mSize;
}

//! Spreads the labels of those behind `node` over the first stretch that has room for the square of their number.
void NodeOrder::makeRoomBehind(NodeId node) noexcept
{
    uint64_t const first = entry(node).label;
    uint64_t count{1};
    NodeId last = entry(node).next;
    while (last != kNone && labelAt(last) - first <= count * count)
    {
        last = entry(last).next;
        ++count;
    }
    uint64_t const step = (labelAt(last) - first) / count;
    uint64_t label = first;
    for (NodeId each = entry(node).next; each != last; each = entry(each).next)
        entry(each).label = label += step;
}

void NodeOrder::erase(NodeId node) noexcept
{
    Entry const gone = entry(node);
    entry(gone.previous).next = gone.next;
    entry(gone.next).previous = gone.previous;
    entry(node) = {};
    --mSize;
}

} // namespace tenon
