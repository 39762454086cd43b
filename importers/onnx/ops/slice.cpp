// Slice and Split.
#include "../operators.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

//! Starts, ends, axes and steps, from attributes (opset 1) or inputs (10 on).
struct Bounds
{
    Extents starts;
    Extents ends;
    Integers axes;
    Integers steps;
};

Bounds boundsOf(Node& node)
{
    Bounds bounds;
    if (node.opset() < 10)
    {
        Shape const starts = node.intsOr("starts", {});
        Shape const ends = node.intsOr("ends", {});
        bounds.starts.assign(starts.begin(), starts.end());
        bounds.ends.assign(ends.begin(), ends.end());
        bounds.axes = node.intsOr("axes", {});
    }
    else
    {
        bounds.starts = elementsOf(node, node.in(1));
        bounds.ends = elementsOf(node, node.in(2));
        bounds.axes = node.has(3) ? node.integers(3, "axes") : Integers{};
        bounds.steps = node.has(4) ? node.integers(4, "steps") : Integers{};
    }
    size_t const count = bounds.starts.size();
    if (bounds.axes.empty())
    {
        bounds.axes.resize(count);
        std::iota(bounds.axes.begin(), bounds.axes.end(), 0);
    }
    bounds.steps.resize(bounds.steps.empty() ? count : bounds.steps.size(), 1);
    if (bounds.ends.size() != count || bounds.axes.size() != count || bounds.steps.size() != count)
    {
        fail(ErrorCode::kINVALID_NODE, "starts, ends, axes and steps of Slice differ in length");
    }
    return bounds;
}

//! A bound counted from the start of the axis: negative ones count from the end.
Extent counted(Node& node, Extent const& bound, Extent const& extent)
{
    constexpr int64_t kFar{int64_t{1} << 62}; // Beyond it, bounds mean "to the end" and sums would overflow.
    if (bound.known)
    {
        int64_t const near = std::clamp(*bound.known, -kFar, kFar);
        return near < 0 ? add(node, near, extent) : Extent{near};
    }
    Extent const near = larger(node, smaller(node, bound, kFar), -kFar);
    // min(1, max(0, −bound)) is 1 for negative bounds, else 0.
    Extent const isNegative = smaller(node, 1, larger(node, 0, subtract(node, 0, near)));
    return add(node, near, multiply(node, isNegative, extent));
}

Extent clamped(Node& node, Extent const& x, Extent const& low, Extent const& high)
{
    if (x.is(0) && low.is(0))
    {
        return x; // Extents are not negative.
    }
    return larger(node, smaller(node, x, high), low);
}

struct SliceRun
{
    Extent start;
    Extent size;
};

SliceRun runOf(Node& node, Extent const& extent, Extent const& start, Extent const& end, int64_t step)
{
    constexpr int64_t kEnd{INT32_MAX}; // What exporters write for "to the end", or more.
    if (step > 0)
    {
        Extent const first = clamped(node, counted(node, start, extent), 0, extent);
        bool const toTheEnd = end.known && *end.known >= kEnd;
        Extent const last = toTheEnd ? extent : clamped(node, counted(node, end, extent), 0, extent);
        Extent const span = subtract(node, last, first);
        bool const isOrdered = toTheEnd || (first.is(0) && !span.known);
        return {first, ceilDivide(node, isOrdered ? span : larger(node, 0, span), step)};
    }
    Extent const back = subtract(node, extent, 1);
    // The last position bounds last: of no elements it is −1, and nothing is in front of it.
    Extent const first = smaller(node, larger(node, counted(node, start, extent), 0), back);
    bool const toTheStart = end.known && *end.known <= -kEnd;
    Extent const last = toTheStart ? Extent{-1} : clamped(node, counted(node, end, extent), -1, back);
    return {first, ceilDivide(node, larger(node, 0, subtract(node, first, last)), -step)};
}

Outputs importSlice(Node& node)
{
    Value const x = node.in(0);
    auto const rank = static_cast<size_t>(x.rank());
    Bounds const bounds = boundsOf(node);
    static_cast<void>(node.axes(bounds.axes, x.rank())); // Checks range and duplicates.
    Cut cut{.start = Extents(rank, 0), .size = extentsOf(node, x), .stride = Extents(rank, 1), .fill = {}};
    for (size_t i = 0; i < bounds.axes.size(); ++i)
    {
        int64_t const step = bounds.steps[i];
        if (step == 0 || step == INT64_MIN)
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("a step of {}", step));
        }
        int32_t const axis = node.axis(bounds.axes[i], x.rank());
        auto const at = static_cast<size_t>(axis);
        SliceRun const run = runOf(node, extentOf(node, x, axis), bounds.starts[i], bounds.ends[i], step);
        cut.start[at] = run.start;
        cut.size[at] = run.size;
        cut.stride[at] = step;
    }
    return {slice(node, x, cut)};
}

//! The parts' extents: given, or as equal as can be, the last one smaller.
Extents partsOf(Node& node, Extent const& extent)
{
    if (node.has(1))
    {
        return elementsOf(node, node.in(1));
    }
    if (node.hasAttribute("split"))
    {
        Shape const given = node.intsOr("split", {});
        return {given.begin(), given.end()};
    }
    int64_t const count = node.intOr("num_outputs", node.nbOutputs());
    if (count != node.nbOutputs())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("Split has {} outputs for {} parts", node.nbOutputs(), count));
    }
    Extent const most = ceilDivide(node, extent, count);
    Extents parts(static_cast<size_t>(count), most);
    if (!(extent.known && *extent.known % count == 0))
    {
        parts.back() = subtract(node, extent, multiply(node, most, count - 1));
    }
    return parts;
}

Outputs importSplit(Node& node)
{
    Value const x = node.in(0);
    int32_t const axis = node.axis(node.intOr("axis", 0), x.rank());
    Extent const extent = extentOf(node, x, axis);
    Extents const parts = partsOf(node, extent);
    if (static_cast<int>(parts.size()) != node.nbOutputs())
    {
        fail(
            ErrorCode::kINVALID_NODE, fmt::format("Split has {} outputs for {} parts", node.nbOutputs(), parts.size()));
    }
    Extent sum{0};
    for (Extent const& part : parts)
    {
        sum = areKnown(parts) ? add(node, sum, part) : sum;
    }
    if (areKnown(parts) && extent.known && !sum.is(*extent.known))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("the parts of Split do not add up to {}", *extent.known));
    }
    Outputs outputs;
    Extent begin{0};
    for (Extent const& part : parts)
    {
        outputs.push_back(sliceAxis(node, x, axis, begin, part));
        begin = add(node, begin, part);
    }
    return outputs;
}

constexpr Operator kSliceTable[]{
    {"Slice", importSlice},
    {"Split", importSplit},
};

} // namespace

constinit std::span<Operator const> const kSliceOperators{kSliceTable};

} // namespace tenon::onnx
