// Poolings that the engine's layer has not: with dilations, and maxima that tell where they lay. One slice per place of
// the window, joined element by element. And MaxUnpool.
#include "taps.h"

#include <algorithm>
#include <limits>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

constexpr int64_t kMaxTaps{512};
//! Along an axis: a number is written down for each.
constexpr int64_t kMaxPositions{int64_t{1} << 22};

//! The geometry of the windows along the spatial axes, whose extents are known.
struct Grid
{
    WindowAttributes window;
    Shape in;
    Shape out;

    int64_t spanOf(size_t axis) const
    {
        return (window.kernel[axis] - 1) * window.dilations[axis] + 1;
    }
};

Grid gridOf(Node& node, Value const& x, WindowAttributes const& window)
{
    Shape const shape = x.shape();
    Grid grid{window, spatialOf(shape), {}};
    bool const isCeil = node.intOr("ceil_mode", 0) != 0;
    for (size_t i = 0; i < grid.in.size(); ++i)
    {
        int64_t const in = grid.in[i];
        int64_t const stride = window.strides[i];
        int64_t& before = grid.window.padsBefore[i];
        int64_t& after = grid.window.padsAfter[i];
        if (in < 0)
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_DYNAMIC,
                fmt::format(
                    "{} with dilations or indices of a shape with open extents, {}", node.op(), shapeText(shape)));
        }
        if (window.autoPad == "SAME_UPPER" || window.autoPad == "SAME_LOWER")
        {
            grid.out.push_back((in + stride - 1) / stride);
            int64_t const all = std::max<int64_t>((grid.out.back() - 1) * stride + grid.spanOf(i) - in, 0);
            before = window.autoPad == "SAME_UPPER" ? all / 2 : all - all / 2;
            after = all - before;
            continue;
        }
        int64_t const room = in + before + after - grid.spanOf(i);
        int64_t out = (isCeil ? (room + stride - 1) / stride : room / stride) + 1;
        out -= isCeil && (out - 1) * stride >= in + before ? 1 : 0; // It would start behind the input.
        if (room < 0 || out < 1)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("{}: windows of {} do not fit {}", node.op(), grid.spanOf(i), shapeText(shape)));
        }
        grid.out.push_back(out);
    }
    return grid;
}

//! x at one place of all windows; what is outside is `fill`.
Value tapOf(Node& node, Value const& x, Grid const& grid, Shape const& place, double fill)
{
    size_t const rank = grid.in.size() + 2;
    Cut cut{.start = Extents(rank, 0), .size = extentsOf(node, x), .stride = Extents(rank, 1), .fill = {}};
    cut.mode = nvinfer1::SampleMode::kFILL;
    cut.fill = node.scalar(fill, x.type());
    for (size_t i = 0; i < grid.in.size(); ++i)
    {
        cut.start[i + 2] = place[i] * grid.window.dilations[i] - grid.window.padsBefore[i];
        cut.size[i + 2] = grid.out[i];
        cut.stride[i + 2] = grid.window.strides[i];
    }
    return slice(node, x, cut, "tap");
}

template <typename Visit>
void forEachPlace(Grid const& grid, Visit const& visit)
{
    int64_t const count = volumeOf(grid.window.kernel);
    if (count > kMaxTaps)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("dilated windows or indices of windows of {}", shapeText(grid.window.kernel)));
    }
    for (int64_t linear = 0; linear < count; ++linear)
    {
        Shape place(grid.in.size());
        int64_t rest = linear;
        for (size_t axis = place.size(); axis-- > 0;)
        {
            place[axis] = rest % grid.window.kernel[axis];
            rest /= grid.window.kernel[axis];
        }
        visit(place);
    }
}

//! [1, 1, out…] of a function of the output's position along each axis, joined over the axes.
template <typename Function>
Value perOutput(Node& node, Grid const& grid, DataType type, ElementWiseOperation join, Function const& function)
{
    Value joined;
    for (size_t axis = 0; axis < grid.out.size(); ++axis)
    {
        int64_t const positions = grid.out[axis];
        if (positions > kMaxPositions)
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
                fmt::format("{} with dilations or indices has {} results along axis {}, {} at most are supported",
                    node.op(), positions, axis + 2, kMaxPositions));
        }
        std::vector<double> numbers;
        for (int64_t at = 0; at < positions; ++at)
        {
            numbers.push_back(function(axis, at));
        }
        Shape shape(grid.out.size() + 2, 1);
        shape[axis + 2] = positions;
        Value const own = node.numbers(numbers, shape, type);
        joined = joined.exists() ? node.binary(joined, own, join) : own;
    }
    return joined;
}

//! How many elements, or elements and paddings, the windows hold; one at least along each axis.
Value countsOf(Node& node, Grid const& grid, bool withPadding, DataType type)
{
    return perOutput(node, grid, type, ElementWiseOperation::kPROD, [&](size_t axis, int64_t at) {
        int64_t const first = at * grid.window.strides[axis] - grid.window.padsBefore[axis];
        int64_t const from = withPadding ? -grid.window.padsBefore[axis] : 0;
        int64_t const to = grid.in[axis] + (withPadding ? grid.window.padsAfter[axis] : 0);
        int64_t inside{0};
        for (int64_t i = 0; i < grid.window.kernel[axis]; ++i)
        {
            int64_t const x = first + i * grid.window.dilations[axis];
            inside += x >= from && x < to ? 1 : 0;
        }
        return static_cast<double>(std::max<int64_t>(inside, 1));
    });
}

//! Where the first element of each channel lies in x, [n, c, 1, …].
Value channelStarts(Node& node, Value const& x, int64_t volume)
{
    Extents const own = extentsOf(node, x);
    std::vector<int32_t> behind;
    for (int32_t axis = 2; axis < x.rank(); ++axis)
    {
        behind.push_back(axis);
    }
    Value const channels = reshapeTo(node, iota(node, multiply(node, own[0], own[1]), 0, volume), {own[0], own[1]});
    return node.unsqueeze(channels, behind);
}

//! Which element of the axis this place of a window holds; outside of it: padding.
int64_t positionOf(Grid const& grid, int64_t at, Shape const& place, size_t axis)
{
    return at * grid.window.strides[axis] + place[axis] * grid.window.dilations[axis] - grid.window.padsBefore[axis];
}

//! Whether this place of the window holds an element of x rather than padding.
Value isWithin(Node& node, Grid const& grid, Shape const& place)
{
    return perOutput(node, grid, DataType::kBOOL, ElementWiseOperation::kAND, [&](size_t axis, int64_t at) {
        int64_t const x = positionOf(grid, at, place, axis);
        return x >= 0 && x < grid.in[axis] ? 1.0 : 0.0;
    });
}

//! Where indices are wanted, each place of the windows has numbers of its own.
void checkIndices(Node const& node, Grid const& grid)
{
    constexpr int64_t kMaxNumbers{int64_t{1} << 24};
    int64_t const longest = grid.out.empty() ? 0 : *std::max_element(grid.out.begin(), grid.out.end());
    if (longest > kMaxNumbers / std::max<int64_t>(volumeOf(grid.window.kernel), 1))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format("{} with indices: windows of {} at {} places along one axis", node.op(),
                shapeText(grid.window.kernel), longest));
    }
}

//! The element's number within its channel, by rows or with the first spatial axis fastest.
Value numberInChannel(Node& node, Grid const& grid, Shape const& place, bool byColumns)
{
    return perOutput(node, grid, DataType::kINT64, ElementWiseOperation::kSUM, [&](size_t axis, int64_t at) {
        int64_t step{1};
        for (size_t other = byColumns ? 0 : axis + 1; other < (byColumns ? axis : grid.in.size()); ++other)
        {
            step *= grid.in[other];
        }
        return static_cast<double>(positionOf(grid, at, place, axis) * step);
    });
}

//! Whether `tap` takes the place of `best`. A NaN is above all numbers, as in the values, and the first of them stays.
Value isAbove(Node& node, Value const& tap, Value const& best)
{
    using nvinfer1::UnaryOperation;
    Value const isGreater = node.binary(tap, best, ElementWiseOperation::kGREATER);
    if (!isFloating(tap.type()))
    {
        return isGreater;
    }
    Value const isNumber = node.unary(node.unary(best, UnaryOperation::kISNAN), UnaryOperation::kNOT);
    Value const isFirstNan = node.binary(node.unary(tap, UnaryOperation::kISNAN), isNumber, ElementWiseOperation::kAND);
    return node.binary(isGreater, isFirstNan, ElementWiseOperation::kOR);
}

double leastOf(DataType type)
{
    switch (type)
    {
    case DataType::kUINT8: return 0.0;
    case DataType::kINT8: return -128.0;
    default: return -std::numeric_limits<double>::infinity();
    }
}

} // namespace

Outputs maxByTaps(Node& node, Value const& x, WindowAttributes const& window)
{
    Grid const grid = gridOf(node, x, window);
    bool const byColumns = node.intOr("storage_order", 0) != 0;
    if (node.wants(1))
    {
        checkIndices(node, grid);
    }
    Value best;
    Value index;
    Value isKeptInside; // The least number may stand in x, too: it goes before one of the padding's.
    forEachPlace(grid, [&](Shape const& place) {
        Value const tap = tapOf(node, x, grid, place, leastOf(x.type()));
        Value here;
        if (node.wants(1))
        {
            here = numberInChannel(node, grid, place, byColumns);
            Value const isInside = isWithin(node, grid, place);
            if (index.exists())
            {
                Value const isFirst = node.binary(
                    node.unary(isKeptInside, nvinfer1::UnaryOperation::kNOT), isInside, ElementWiseOperation::kAND);
                Value const isBetter = node.binary(isAbove(node, tap, best), isFirst, ElementWiseOperation::kOR);
                index = node.select(isBetter, here, index);
                isKeptInside = node.binary(isKeptInside, isInside, ElementWiseOperation::kOR);
            }
            else
            {
                index = here;
                isKeptInside = isInside;
            }
        }
        best = best.exists() ? node.binary(best, tap, ElementWiseOperation::kMAX) : tap;
    });
    if (node.wants(1))
    {
        index = node.binary(index, channelStarts(node, x, volumeOf(grid.in)), ElementWiseOperation::kSUM);
    }
    return {best, index};
}

Value averageByTaps(Node& node, Value const& x, WindowAttributes const& window)
{
    Grid const grid = gridOf(node, x, window);
    Value sum;
    forEachPlace(grid, [&](Shape const& place) {
        Value const tap = tapOf(node, x, grid, place, 0.0);
        sum = sum.exists() ? node.binary(sum, tap, ElementWiseOperation::kSUM) : tap;
    });
    bool const withPadding = node.intOr("count_include_pad", 0) != 0;
    return node.binary(sum, countsOf(node, grid, withPadding, x.type()), ElementWiseOperation::kDIV);
}

//! Elements put where a MaxPool found them, zeros elsewhere. The indices count in a result without a shape of its own.
Outputs importMaxUnpool(Node& node)
{
    Value const x = node.in(0);
    WindowAttributes const window = windowOf(node, static_cast<size_t>(std::max(x.rank() - 2, 0)), {});
    Extents made = extentsOf(node, x);
    for (size_t i = 0; i < window.kernel.size(); ++i)
    {
        Extent const steps = multiply(node, subtract(node, made[i + 2], 1), window.strides[i]);
        made[i + 2] = add(node, steps, window.kernel[i] - window.padsBefore[i] - window.padsAfter[i]);
    }
    Value const zeros = expandTo(node, node.scalar(0.0, x.type(), 1), {product(node, made)});
    Extent const count = product(node, extentsOf(node, x));
    nvinfer1::IScatterLayer* const layer =
        node.added(node.api().addScatter(node.tensor(zeros), node.tensor(reshapeTo(node, node.in(1), {count})),
                       node.tensor(reshapeTo(node, x, {count})), nvinfer1::ScatterMode::kELEMENT),
            "scatter");
    layer->setAxis(0);
    Value const result = reshapeTo(node, layer->getOutput(0), made);
    if (!node.has(2))
    {
        return {result};
    }
    auto const rank = static_cast<size_t>(x.rank());
    Cut cut{.start = Extents(rank, 0),
        .size = elementsOf(node, node.in(2)),
        .stride = Extents(rank, 1),
        .mode = nvinfer1::SampleMode::kFILL,
        .fill = {}};
    return {slice(node, result, cut, "shape")};
}

} // namespace tenon::onnx
