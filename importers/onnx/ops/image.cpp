// Operators of images and of parts of tensors: AffineGrid, CenterCropPad, Col2Im, LpPool.
#include "convolution.h"
#include "window.h"

#include <algorithm>
#include <numeric>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

//! Points −1 … 1 along an axis: the middles of elements, or with `corners` those of the outermost at −1 and 1; of one
//! element alone, 0.
double pointOf(int64_t i, int64_t extent, bool corners)
{
    int64_t const intervals = corners ? std::max<int64_t>(extent - 1, 1) : extent;
    return static_cast<double>(2 * i + 1 - extent) / static_cast<double>(intervals);
}

//! Every point [1, points, axes + 1] of a grid whose extents are known, the innermost axis first, with a 1 behind it.
Value knownGrid(Node& node, Shape const& spatial, bool corners, DataType type)
{
    int64_t const points = volumeOf(spatial);
    std::vector<double> grid;
    for (int64_t point = 0; point < points; ++point)
    {
        int64_t rest = point;
        for (size_t axis = spatial.size(); axis-- > 0;)
        {
            grid.push_back(pointOf(rest % spatial[axis], spatial[axis], corners));
            rest /= spatial[axis];
        }
        grid.push_back(1.0);
    }
    return node.numbers(grid, {1, points, static_cast<int64_t>(spatial.size()) + 1}, type);
}

//! The points along an axis, [extent].
Value pointsAlong(Node& node, Extent const& extent, bool corners, DataType type)
{
    Extent const intervals = corners ? larger(node, subtract(node, extent, 1), 1) : extent;
    Value const numerators = range(node, extent, subtract(node, 1, extent), 2);
    Value const real = node.cast(numerators, type);
    return node.binary(real, node.cast(tensorOf(node, Extents{intervals}), type), ElementWiseOperation::kDIV);
}

//! The same of extents that only the run knows, or of a large grid.
Value grid(Node& node, Extents const& spatial, bool corners, DataType type)
{
    Extents column = spatial;
    column.emplace_back(1);
    auto const axes = static_cast<int32_t>(spatial.size());
    std::vector<nvinfer1::ITensor*> columns;
    for (int32_t axis = axes; axis-- > 0;)
    {
        std::vector<int32_t> others(static_cast<size_t>(axes) + 1);
        std::iota(others.begin(), others.end(), 0);
        others.erase(others.begin() + axis);
        Value const points = pointsAlong(node, spatial[static_cast<size_t>(axis)], corners, type);
        columns.push_back(&node.tensor(expandTo(node, node.unsqueeze(points, others), column)));
    }
    columns.push_back(&node.tensor(expandTo(node, node.scalar(1.0, type, axes + 1), column)));
    nvinfer1::IConcatenationLayer* const layer =
        node.added(node.api().addConcatenation(columns.data(), static_cast<int32_t>(columns.size())), "grid");
    layer->setAxis(axes);
    return reshapeTo(node, layer->getOutput(0), {1, product(node, spatial), axes + 1});
}

//! theta [n, axes, axes + 1] times every point of the grid with a 1 behind it.
Outputs importAffineGrid(Node& node)
{
    constexpr int64_t kMaxKnown{4096}; // As constants; what is larger is made by layers.
    Value const theta = node.in(0);
    Extents const size = elementsOf(node, node.in(1));
    bool const corners = node.intOr("align_corners", 0) != 0;
    auto const axes = static_cast<int64_t>(size.size()) - 2;
    auto const isNone = [](Extent const& extent) { return extent.known && *extent.known < 1; };
    if (axes < 2 || axes > 3 || std::any_of(size.begin(), size.end(), isNone))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("AffineGrid of {} extents, of which the least may be 1: four or five are taken", size.size()));
    }
    Extents const spatial(size.begin() + 2, size.end());
    bool const isKnown = areKnown(spatial) && volumeOf(knownOf(spatial)) <= kMaxKnown;
    DataType const type = theta.type();
    Value const base = isKnown ? knownGrid(node, knownOf(spatial), corners, type)
                               : node.cast(grid(node, spatial, corners, wideOf(type)), type);
    Value const moved = node.output(node.api().addMatrixMultiply(node.tensor(base), nvinfer1::MatrixOperation::kNONE,
                                        node.tensor(theta), nvinfer1::MatrixOperation::kTRANSPOSE),
        "points");
    Extents shape{extentOf(node, theta, 0)};
    shape.insert(shape.end(), spatial.begin(), spatial.end());
    shape.emplace_back(axes);
    return {reshapeTo(node, moved, shape)};
}

//! Cut or filled up with zeros around the middle.
Outputs importCenterCropPad(Node& node)
{
    Value const x = node.in(0);
    int32_t const rank = x.rank();
    Integers listed = node.intsOr("axes", {});
    if (listed.empty())
    {
        listed.resize(static_cast<size_t>(rank));
        std::iota(listed.begin(), listed.end(), 0);
    }
    Extents const wanted = elementsOf(node, node.in(1));
    if (wanted.size() != listed.size())
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} extents for {} axes", wanted.size(), listed.size()));
    }
    auto const count = static_cast<size_t>(rank);
    Cut cut{.start = Extents(count, 0), .size = extentsOf(node, x), .stride = Extents(count, 1), .fill = {}};
    cut.mode = nvinfer1::SampleMode::kFILL;
    for (size_t i = 0; i < listed.size(); ++i)
    {
        auto const axis = static_cast<size_t>(node.axis(listed[i], rank));
        Extent const surplus = subtract(node, cut.size[axis], wanted[i]);
        Extent const cutOff = floorDivide(node, larger(node, surplus, 0), 2);
        Extent const added = floorDivide(node, larger(node, subtract(node, 0, surplus), 0), 2);
        cut.start[axis] = subtract(node, cutOff, added);
        cut.size[axis] = wanted[i];
    }
    return {slice(node, x, cut, "crop")};
}

//! How blocks lie in the image of a Col2Im.
struct Blocks
{
    Shape image;
    Shape block;
    Shape strides;
    Shape dilations;
    Shape pads;
    Extents front; //!< Batch and channels.
    Extents grid;

    size_t axes() const noexcept
    {
        return image.size();
    }
    bool areApart() const
    {
        bool apart{true};
        for (size_t i = 0; i < axes(); ++i)
        {
            apart = apart && dilations[i] == 1 && strides[i] >= block[i];
        }
        return apart;
    }
};

//! The extents with those of the axes behind.
Extents followedBy(Extents extents, Extents const& behind)
{
    extents.insert(extents.end(), behind.begin(), behind.end());
    return extents;
}

//! Zeros behind and around x, whose element 0 lies at `at` in the image.
Value inImage(Node& node, Blocks const& blocks, Value const& x, Shape const& at)
{
    Cut cut{.start = Extents(2, 0),
        .size = followedBy(blocks.front, {blocks.image.begin(), blocks.image.end()}),
        .stride = Extents(blocks.axes() + 2, 1),
        .mode = nvinfer1::SampleMode::kFILL,
        .fill = {}};
    for (size_t i = 0; i < blocks.axes(); ++i)
    {
        cut.start.emplace_back(blocks.pads[i] - at[i]);
    }
    return slice(node, x, cut, "image");
}

//! [.., grid, length of each axis in turns] with zeros up to the strides, as [.., grid · stride].
Value spread(Node& node, Blocks const& blocks, Value const& x)
{
    Extents wide = blocks.front;
    Extents joined = blocks.front;
    for (size_t i = 0; i < blocks.axes(); ++i)
    {
        wide.push_back(blocks.grid[i]);
        wide.emplace_back(blocks.strides[i]);
        joined.push_back(multiply(node, blocks.grid[i], blocks.strides[i]));
    }
    Cut cut{.start = Extents(wide.size(), 0),
        .size = wide,
        .stride = Extents(wide.size(), 1),
        .mode = nvinfer1::SampleMode::kFILL,
        .fill = {}};
    return reshapeTo(node, slice(node, x, cut, "between"), joined);
}

//! Blocks that do not overlap are moved.
Value movedBlocks(Node& node, Blocks const& blocks, Value const& x)
{
    auto const axes = static_cast<int32_t>(blocks.axes());
    std::vector<int32_t> order{0, 1};
    for (int32_t i = 0; i < axes; ++i)
    {
        order.insert(order.end(), {2 + axes + i, 2 + i});
    }
    Extents const split = followedBy(followedBy(blocks.front, {blocks.block.begin(), blocks.block.end()}), blocks.grid);
    return inImage(
        node, blocks, spread(node, blocks, node.transpose(reshapeTo(node, x, split), order)), Shape(blocks.axes(), 0));
}

//! The places of all blocks, one after the other, are added to the image.
Value addedBlocks(Node& node, Blocks const& blocks, Value const& x)
{
    int64_t const count = volumeOf(blocks.block);
    Value const places = reshapeTo(node, x, followedBy(followedBy(blocks.front, {count}), blocks.grid));
    Extents apart = blocks.front;
    for (Extent const& extent : blocks.grid)
    {
        apart.push_back(extent);
        apart.emplace_back(1);
    }
    Value sum;
    for (int64_t place = 0; place < count; ++place)
    {
        Shape at(blocks.axes(), 0);
        int64_t left = place;
        for (size_t i = blocks.axes(); i-- > 0; left /= blocks.block[i])
        {
            at[i] = left % blocks.block[i] * blocks.dilations[i];
        }
        Value const one = spread(node, blocks, reshapeTo(node, sliceAxis(node, places, 2, place, 1), apart));
        Value const here = inImage(node, blocks, one, at);
        sum = sum.exists() ? node.binary(sum, here, ElementWiseOperation::kSUM) : here;
    }
    return sum;
}

Outputs importCol2Im(Node& node)
{
    constexpr int64_t kMaxPlaces{4096};
    Value const x = node.in(0); // [n, channels · block, blocks]
    Blocks blocks;
    blocks.image = node.integers(1, "image shape");
    blocks.block = node.integers(2, "block shape");
    size_t const axes = blocks.image.size();
    Shape const ones(axes, 1);
    blocks.strides = node.intsOr("strides", ones);
    blocks.dilations = node.intsOr("dilations", ones);
    blocks.pads = node.intsOr("pads", Shape(2 * axes, 0));
    int64_t const inBlock = volumeOf(blocks.block);
    int64_t const columns = x.rank() == 3 ? x.shape()[1] : -1;
    auto const arePositive = [](Shape const& list) {
        return std::all_of(list.begin(), list.end(), [](int64_t each) { return each > 0; });
    };
    if (axes < 1 || axes > 3 || blocks.block.size() != axes || blocks.strides.size() != axes
        || blocks.dilations.size() != axes || blocks.pads.size() != 2 * axes || inBlock < 1 || columns < 1
        || columns % inBlock != 0 || !arePositive(blocks.strides) || !arePositive(blocks.dilations))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("Col2Im of {} to an image of {}, in blocks of {}", shapeText(x.shape()),
                shapeText(blocks.image), shapeText(blocks.block)));
    }
    if (inBlock > kMaxPlaces && !blocks.areApart())
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("Col2Im of blocks of {}", shapeText(blocks.block)));
    }
    blocks.front = {extentOf(node, x, 0), columns / inBlock};
    for (size_t i = 0; i < axes; ++i)
    {
        int64_t const room =
            blocks.image[i] + blocks.pads[i] + blocks.pads[axes + i] - blocks.dilations[i] * (blocks.block[i] - 1) - 1;
        if (room < 0)
        {
            fail(ErrorCode::kINVALID_NODE, "Col2Im whose blocks do not fit");
        }
        blocks.grid.emplace_back(room / blocks.strides[i] + 1);
    }
    return {blocks.areApart() ? movedBlocks(node, blocks, x) : addedBlocks(node, blocks, x)};
}

//! The p-th root of the sum of p-th powers: the sum is a convolution of each channel with ones.
Outputs importLpPool(Node& node)
{
    Value const x = node.in(0);
    auto const power = static_cast<double>(node.intOr("p", 2));
    int64_t const channels = x.rank() > 1 ? x.shape()[1] : -1;
    Shape const kernel = node.intsOr("kernel_shape", {});
    if (channels < 1 || kernel.empty() || power < 1.0 || node.intOr("ceil_mode", 0) != 0)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format(
                "LpPool of {} with p {} and ceil_mode {}: it takes known channels, p of 1 or more, and no ceil_mode",
                shapeText(x.shape()), power, node.intOr("ceil_mode", 0)));
    }
    Shape shape{channels, 1};
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    constexpr int64_t kMaxOnes{int64_t{1} << 19}; // What the convolution's kernel is.
    if (volumeOf(shape) > kMaxOnes)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
            fmt::format("LpPool of {} channels has windows of {}: {} numbers in all are supported", channels,
                shapeText(kernel), kMaxOnes));
    }
    Value const magnitudes = node.unary(x, UnaryOperation::kABS);
    Value const powers = node.binary(magnitudes, node.scalar(power, x.type()), ElementWiseOperation::kPOW);
    Value const sums = convolveChannels(node, powers, node.filled(1.0, x.type(), shape));
    return {node.binary(sums, node.scalar(1.0 / power, x.type()), ElementWiseOperation::kPOW)};
}

constexpr Operator kImageTable[]{
    {"AffineGrid", importAffineGrid},
    {"CenterCropPad", importCenterCropPad},
    {"Col2Im", importCol2Im},
    {"LpPool", importLpPool},
};

} // namespace

constinit std::span<Operator const> const kImageOperators{kImageTable};

} // namespace tenon::onnx
