// NodeOrder: the order of a graph's nodes. Inserting anywhere, erasing and comparing two places take constant time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace tenon
{

using NodeId = int32_t;
inline constexpr int32_t kNone{-1};

//! A list whose entries carry growing labels, as in Dietz and Sleator, "Two Algorithms for Maintaining Order in a List"
//! (1987): of two entries the one with the smaller label comes first.
class NodeOrder
{
  public:
    class Iterator
    {
      public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = NodeId;
        using difference_type = std::ptrdiff_t;
        using pointer = NodeId const*;
        using reference = NodeId;

        Iterator() = default;
        NodeId operator*() const noexcept
        {
            return mAt;
        }
        Iterator& operator++() noexcept
        {
            mAt = mOrder->entry(mAt).next;
            return *this;
        }
        Iterator operator++(int) noexcept
        {
            Iterator const before = *this;
            ++*this;
            return before;
        }
        Iterator& operator--() noexcept
        {
            mAt = mOrder->entry(mAt).previous;
            return *this;
        }
        Iterator operator--(int) noexcept
        {
            Iterator const before = *this;
            --*this;
            return before;
        }
        bool operator==(Iterator const&) const = default;

      private:
        friend class NodeOrder;
        Iterator(NodeOrder const* order, NodeId at) noexcept
            : mOrder{order},
              mAt{at}
        {
        }
        NodeOrder const* mOrder{nullptr};
        NodeId mAt{kNone};
    };
    using const_iterator = Iterator;
    using value_type = NodeId;

    Iterator begin() const noexcept
    {
        return {this, mEntries.front().next};
    }
    Iterator end() const noexcept
    {
        return {this, kNone};
    }
    size_t size() const noexcept
    {
        return mSize;
    }
    bool empty() const noexcept
    {
        return mSize == 0;
    }
    //! kNone when there is none.
    NodeId front() const noexcept
    {
        return mEntries.front().next;
    }
    NodeId back() const noexcept
    {
        return mEntries.front().previous;
    }
    bool contains(NodeId node) const noexcept
    {
        return node >= 0 && static_cast<size_t>(node) + 1 < mEntries.size() && entry(node).label != kAbsent;
    }
    //! Both must be in the list.
    bool isBefore(NodeId a, NodeId b) const noexcept
    {
        return entry(a).label < entry(b).label;
    }
    //! `at` kNone: at the end.
    void insertBefore(NodeId at, NodeId node);
    void erase(NodeId node) noexcept;

  private:
    static constexpr uint64_t kAbsent{0}; //!< The label of the entry before the first one, too.
    static constexpr uint64_t kEnd{UINT64_MAX};
    struct Entry
    {
        NodeId previous{kNone};
        NodeId next{kNone};
        uint64_t label{kAbsent};
    };
    Entry& entry(NodeId node) noexcept
    {
        return mEntries[static_cast<size_t>(node) + 1];
    }
    Entry const& entry(NodeId node) const noexcept
    {
        return mEntries[static_cast<size_t>(node) + 1];
    }
    //! The label of what follows: the end has the largest one.
    uint64_t labelAt(NodeId next) const noexcept
    {
        return next == kNone ? kEnd : entry(next).label;
    }
    void makeRoomBehind(NodeId node) noexcept;

    std::vector<Entry> mEntries{1}; //!< By node; the one at 0 stands before the first and behind the last node.
    size_t mSize{0};
};

} // namespace tenon
