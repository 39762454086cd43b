// ShuffleAtoms: a transpose–reshape–transpose taken apart into the finest axes that both sides share, so that it
// becomes one strided copy, or no work at all when the order in memory stays.
#pragma once

#include "base/layout.h"
#include "layers/shuffle.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tenon
{

//! A piece of one axis of the input and of one axis of the output. Extent is int64_t, or ShapeExpr while building.
template <typename Extent>
struct ShuffleAtom
{
    Extent extent;
    size_t input;  //!< Axis of the input.
    size_t output; //!< Axis of the output.
};

namespace detail
{
template <typename Extent>
Extent productOf(std::vector<Extent> const& extents, size_t first, size_t count)
{
    Extent product{1};
    for (size_t i = first; i < first + count; ++i)
        product = product * extents[i];
    return product;
}

//! Number of axes from `first` on whose product is `whole`; 0 when there is none.
template <typename Extent>
size_t runOf(std::vector<Extent> const& extents, size_t first, Extent const& whole)
{
    for (size_t count = 1; first + count <= extents.size(); ++count)
        if (productOf(extents, first, count) == whole)
            return count;
    return 0;
}
} // namespace detail

//! Atoms in row-major order of the reshaped shape; none when an axis is cut across axes of the other side. `from` is
//! the input's shape, `middle` the shape after first transpose and reshape. Axes of extent 1 have no atom.
template <typename Extent>
std::optional<std::vector<ShuffleAtom<Extent>>> atomsOf(
    std::vector<Extent> const& from, AxisOrder const& first, std::vector<Extent> const& middle, AxisOrder const& second)
{
    Extent const one{1};
    std::vector<Extent> a;
    std::vector<size_t> aAxis;
    for (size_t i = 0; i < from.size(); ++i)
        if (auto const axis = static_cast<size_t>(first[i]); !(from[axis] == one))
        {
            a.push_back(from[axis]);
            aAxis.push_back(axis);
        }
    std::vector<Extent> b;
    std::vector<size_t> bAxis;
    for (size_t j = 0; j < middle.size(); ++j)
        if (!(middle[j] == one))
        {
            b.push_back(middle[j]);
            size_t output{0};
            for (size_t k = 0; k < middle.size(); ++k)
                if (static_cast<size_t>(second[k]) == j)
                    output = k;
            bAxis.push_back(output);
        }
    std::vector<ShuffleAtom<Extent>> atoms;
    size_t i{0};
    size_t j{0};
    while (i < a.size() && j < b.size())
    {
        if (size_t const count = detail::runOf(a, i, b[j]); count > 0)
        {
            for (size_t k = 0; k < count; ++k)
                atoms.push_back({a[i + k], aAxis[i + k], bAxis[j]});
            i += count;
            ++j;
        }
        else if (size_t const split = detail::runOf(b, j, a[i]); split > 0)
        {
            for (size_t k = 0; k < split; ++k)
                atoms.push_back({b[j + k], aAxis[i], bAxis[j + k]});
            ++i;
            j += split;
        }
        else
            return std::nullopt;
    }
    if (i != a.size() || j != b.size())
        return std::nullopt;
    return atoms;
}

//! True when input and output have their elements in the same order in memory.
template <typename Extent>
bool keepsMemoryOrder(
    std::vector<ShuffleAtom<Extent>> const& atoms, Layout from, size_t fromRank, Layout to, size_t toRank)
{
    auto const sequence = [&](std::vector<size_t> const& order, size_t ShuffleAtom<Extent>::*axis) {
        std::vector<size_t> found;
        for (size_t const each : order)
            for (size_t k = 0; k < atoms.size(); ++k)
                if (atoms[k].*axis == each)
                    found.push_back(k); // Atoms of one axis stand in its own order.
        return found;
    };
    return sequence(memoryAxes(from, fromRank), &ShuffleAtom<Extent>::input)
        == sequence(memoryAxes(to, toRank), &ShuffleAtom<Extent>::output);
}

} // namespace tenon
