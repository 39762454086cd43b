// RowSort: the order of rows by words of eight bytes, of which each row is read as far as it takes to tell it from
// others. Rows that a word leaves equal are sorted by the next one in which they differ.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace tenon::cpu
{

enum class ElementOrder : uint8_t
{
    kUnsigned,
    kSigned,
    kFloating,
};

//! Rows of elements of so many bits, behind each other. `infinite`: of floating numbers, the magnitude above which bits
//! stand for none.
template <typename Bits, ElementOrder order>
struct SortedRows
{
    static constexpr Bits kSign{static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1))};
    static constexpr int64_t kInWord{static_cast<int64_t>(sizeof(uint64_t) / sizeof(Bits))};
    int64_t rows{0};
    int64_t columns{0};
    Bits infinite{0};

    bool isNone(Bits element) const noexcept
    {
        return order == ElementOrder::kFloating && static_cast<Bits>(element & ~kSign) > infinite;
    }
    //! In the order of the numbers: zeros are one, and behind all others stands what is none.
    Bits keyOf(Bits element) const noexcept
    {
        if constexpr (order == ElementOrder::kUnsigned)
            return element;
        else if constexpr (order == ElementOrder::kSigned)
            return static_cast<Bits>(element ^ kSign);
        else
        {
            auto const magnitude = static_cast<Bits>(element & ~kSign);
            auto const ordered = static_cast<Bits>((element & kSign) != 0 ? kSign - magnitude : kSign | magnitude);
            return magnitude > infinite ? std::numeric_limits<Bits>::max() : ordered;
        }
    }
    //! As many elements from a column on as a word has, the first one on top.
    uint64_t wordOf(Bits const* row, int64_t column) const noexcept
    {
        int64_t const last = std::min(column + kInWord, columns);
        uint64_t word{0};
        for (int64_t i = column; i < last; ++i)
            word = (kInWord == 1 ? 0 : word << std::numeric_limits<Bits>::digits % 64) | keyOf(row[i]);
        return word;
    }
    //! The first column, in blocks, at or behind `column` in which two rows have unlike bits; `end` if there is none.
    int64_t firstUnlike(Bits const* a, Bits const* b, int64_t column, int64_t end) const noexcept
    {
        while (column + kBlock <= end && std::memcmp(a + column, b + column, kBlock * sizeof(Bits)) == 0)
            column += kBlock;
        while (column < end && a[column] == b[column])
            ++column;
        return column;
    }
    //! Whether some element is another number, or none.
    bool areUnlike(Bits const* a, Bits const* b) const noexcept
    {
        int64_t column{0};
        for (; column + kBlock <= columns; column += kBlock)
            if (hasUnlike(a + column, b + column, kBlock))
                return true;
        return hasUnlike(a + column, b + column, columns - column);
    }

  private:
    static constexpr int64_t kBlock{static_cast<int64_t>(64 / sizeof(Bits))};

    bool hasUnlike(Bits const* a, Bits const* b, int64_t count) const noexcept
    {
        bool unlike{false};
        for (int64_t i = 0; i < count; ++i)
            unlike |= keyOf(a[i]) != keyOf(b[i]) || isNone(a[i]);
        return unlike;
    }
};

struct SortedRow
{
    uint64_t word{0};
    int64_t row{0};
};

//! By words; those with equal ones keep their order. `spare` has room for as many.
inline void sortByWord(SortedRow* rows, int64_t count, SortedRow* spare)
{
    constexpr int64_t kFew{256};
    if (count <= kFew)
    {
        std::sort(rows, rows + count, [](SortedRow const& a, SortedRow const& b) {
            return a.word < b.word || (a.word == b.word && a.row < b.row);
        });
        return;
    }
    constexpr size_t kBytes{sizeof(uint64_t)};
    std::array<std::array<int64_t, 256>, kBytes> starts{};
    for (int64_t i = 0; i < count; ++i)
        for (size_t byte = 0; byte < kBytes; ++byte)
            ++starts[byte][rows[i].word >> 8 * byte & 0xFF];
    SortedRow* from = rows;
    SortedRow* to = spare;
    for (size_t byte = 0; byte < kBytes; ++byte)
    {
        std::array<int64_t, 256>& start = starts[byte];
        if (start[from[0].word >> 8 * byte & 0xFF] == count)
            continue; // All have this byte.
        int64_t sum{0};
        for (int64_t& each : start)
            sum += std::exchange(each, sum);
        for (int64_t i = 0; i < count; ++i)
            to[start[from[i].word >> 8 * byte & 0xFF]++] = from[i];
        std::swap(from, to);
    }
    if (from != rows)
        std::copy(from, from + count, rows);
}

//! Memory of a sort.
struct RowSortMemory
{
    struct Group
    {
        int64_t first; //!< Of rows that are equal so far.
        int64_t last;
        int64_t column; //!< They are, in front of it.
    };
    SortedRow* rows{nullptr};
    SortedRow* spare{nullptr};
    Group* groups{nullptr}; //!< They are apart and have two rows at least.

    static size_t bytes(int64_t rows) noexcept
    {
        return static_cast<size_t>(rows) * 2 * sizeof(SortedRow) + static_cast<size_t>(rows / 2 + 1) * sizeof(Group);
    }
    static RowSortMemory at(void* memory, int64_t rows) noexcept
    {
        auto* const first = static_cast<SortedRow*>(memory);
        return {first, first + rows, reinterpret_cast<Group*>(first + 2 * rows)};
    }
};

//! Leaves the numbers of the rows in `memory.rows`, in order.
template <typename Bits, ElementOrder order>
void sortRows(SortedRows<Bits, order> const& form, Bits const* x, RowSortMemory const& memory)
{
    for (int64_t row = 0; row < form.rows; ++row)
        memory.rows[row].row = row;
    int64_t open{0};
    if (form.rows > 1)
        memory.groups[open++] = {0, form.rows, 0};
    auto const rowOf = [&](int64_t at) { return x + memory.rows[at].row * form.columns; };
    while (open > 0)
    {
        auto [first, last, column] = memory.groups[--open];
        int64_t unlike{form.columns};
        for (int64_t at = first + 1; at < last && unlike > column; ++at)
            unlike = form.firstUnlike(rowOf(first), rowOf(at), column, unlike);
        if (unlike == form.columns)
            continue;
        for (int64_t at = first; at < last; ++at)
            memory.rows[at].word = form.wordOf(rowOf(at), unlike);
        sortByWord(memory.rows + first, last - first, memory.spare);
        column = unlike + form.kInWord;
        for (int64_t end = first; column < form.columns && end < last; first = end)
        {
            while (end < last && memory.rows[end].word == memory.rows[first].word)
                ++end;
            if (end - first > 1)
                memory.groups[open++] = {first, end, column};
        }
    }
}

} // namespace tenon::cpu
