// Positions: walking over tensors, and picking elements, for references that move data.
#pragma once

#include "base/cancellation.h"
#include "ir/host_tensor.h"

#include <vector>

namespace tenon
{

//! Calls visit(linear, coordinates) for each element, row-major.
template <typename Visit>
void forEachPosition(std::vector<int64_t> const& extents, Visit&& visit)
{
    std::vector<int64_t> at(extents.size(), 0);
    int64_t const count = volumeOf(extents);
    CancellationCounter counter;
    for (int64_t linear = 0; linear < count; ++linear)
    {
        counter.next();
        visit(linear, static_cast<std::vector<int64_t> const&>(at));
        for (size_t axis = extents.size(); axis-- > 0;)
        {
            if (++at[axis] < extents[axis])
                break;
            at[axis] = 0;
        }
    }
}

//! Sum of position · stride.
inline int64_t linearOf(std::vector<int64_t> const& at, std::vector<int64_t> const& strides)
{
    int64_t linear{0};
    for (size_t axis = 0; axis < at.size(); ++axis)
        linear += at[axis] * strides[axis];
    return linear;
}

//! Element `to` of one tensor becomes element `from` of another of the same type.
inline void copyElement(HostTensor& target, int64_t to, HostTensor const& source, int64_t from)
{
    if (source.isReal())
        target.reals[static_cast<size_t>(to)] = source.reals[static_cast<size_t>(from)];
    else
        target.integers[static_cast<size_t>(to)] = source.integers[static_cast<size_t>(from)];
}

//! The same elements under another shape.
inline HostTensor withExtents(HostTensor tensor, std::vector<int64_t> extents)
{
    tensor.extents = std::move(extents);
    return tensor;
}

//! Extents before, at and behind an axis, each multiplied together.
struct Lanes
{
    int64_t outer{1};
    int64_t length{1};
    int64_t inner{1};

    Lanes(std::vector<int64_t> const& extents, size_t axis)
    {
        for (size_t i = 0; i < extents.size(); ++i)
            (i < axis ? outer : i == axis ? length : inner) *= extents[i];
    }
    //! Calls visit(first) for each lane; its elements are first + i · inner.
    template <typename Visit>
    void forEach(Visit&& visit) const
    {
        CancellationCounter counter;
        for (int64_t o = 0; o < outer; ++o)
            for (int64_t i = 0; i < inner; ++i)
            {
                counter.next();
                visit(o * length * inner + i);
            }
    }
};

} // namespace tenon
