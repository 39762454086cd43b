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

constexpr int64_t kMaxGrid{int64_t{1} << 22};

//! Points −1 … 1 along an axis: the middles of elements, or with `corners` those of the outermost at −1 and 1.
double pointOf(int64_t i, int64_t extent, bool corners)
{
    auto const x = static_cast<double>(i);
    auto const length = static_cast<double>(extent);
    if (corners)
    {
        return extent == 1 ? 0.0 : 2.0 * x / (length - 1.0) - 1.0;
    }
    return (2.0 * x + 1.0) / length - 1.0;
}

//! theta [n, axes, axes + 1] times every point of the grid with a 1 behind it.
Outputs importAffineGrid(Node& node)
{
    Value const theta = node.in(0);
    Shape const size = node.integers(1, "size");
    bool const corners = node.intOr("align_corners", 0) != 0;
    auto const axes = static_cast<int64_t>(size.size()) - 2;
    if (axes < 2 || axes > 3 || std::any_of(size.begin(), size.end(), [](int64_t extent) { return extent < 1; }))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("AffineGrid of size {}", shapeText(size)));
    }
    Shape const spatial(size.begin() + 2, size.end());
    int64_t const points = volumeOf(spatial);
    if (points > kMaxGrid)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT, fmt::format("AffineGrid of {} points", points));
    }
    std::vector<double> grid; // [points, axes + 1], the innermost axis first.
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
    Value const base = node.numbers(grid, {1, points, axes + 1}, theta.type());
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

//! Blocks are added up where they overlap, as by a transposed convolution each of whose kernels has one 1.
Outputs importCol2Im(Node& node)
{
    Value const x = node.in(0); // [n, channels · block, blocks]
    Shape const image = node.integers(1, "image shape");
    Shape const block = node.integers(2, "block shape");
    size_t const axes = image.size();
    Shape const ones(axes, 1);
    Shape const strides = node.intsOr("strides", ones);
    Shape const dilations = node.intsOr("dilations", ones);
    Shape const pads = node.intsOr("pads", Shape(2 * axes, 0));
    int64_t const inBlock = volumeOf(block);
    int64_t const columns = x.shape()[1];
    if (axes < 1 || axes > 3 || block.size() != axes || strides.size() != axes || dilations.size() != axes
        || pads.size() != 2 * axes || inBlock < 1 || columns < 1 || columns % inBlock != 0)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("Col2Im of {} to an image of {}, in blocks of {}", shapeText(x.shape()), shapeText(image),
                shapeText(block)));
    }
    int64_t const channels = columns / inBlock;
    std::vector<double> kernel(static_cast<size_t>(columns * inBlock), 0.0);
    for (int64_t i = 0; i < columns; ++i)
    {
        kernel[static_cast<size_t>(i * inBlock + i % inBlock)] = 1.0;
    }
    Shape kernelShape{columns, 1};
    kernelShape.insert(kernelShape.end(), block.begin(), block.end());
    Extents grid{extentOf(node, x, 0), columns};
    Shape window = block;
    Shape before(pads.begin(), pads.begin() + static_cast<int64_t>(axes));
    Shape after;
    Shape steps = strides;
    Shape spread = dilations;
    for (size_t i = 0; i < axes; ++i)
    {
        int64_t const room = image[i] + pads[i] + pads[axes + i] - dilations[i] * (block[i] - 1) - 1;
        grid.emplace_back(room / strides[i] + 1);
        after.push_back(pads[axes + i] - room % strides[i]); // The image goes on behind the last block.
    }
    bool const isFlat = axes == 1;
    if (isFlat)
    {
        grid.insert(grid.begin() + 2, 1);
        for (Shape* each : {&window, &steps, &spread})
        {
            each->insert(each->begin(), 1);
        }
        before.insert(before.begin(), 0);
        after.insert(after.begin(), 0);
    }
    Value const weights = node.numbers(kernel, kernelShape, x.type());
    nvinfer1::IDeconvolutionLayer* const layer =
        node.added(node.api().addDeconvolutionNd(node.tensor(reshapeTo(node, x, grid)), channels, dimsOf(window),
                       weights.constant().weights(), nvinfer1::Weights{x.type(), nullptr, 0}),
            "blocks");
    layer->setNbGroups(channels);
    layer->setStrideNd(dimsOf(steps));
    layer->setDilationNd(dimsOf(spread));
    Shape cutAfter = after;
    std::transform(after.begin(), after.end(), cutAfter.begin(), [](int64_t pad) { return std::max<int64_t>(pad, 0); });
    layer->setPrePadding(dimsOf(before));
    layer->setPostPadding(dimsOf(cutAfter));
    Value result = layer->getOutput(0);
    result = isFlat ? node.squeeze(result, {2}) : result;
    if (result.rank() != static_cast<int32_t>(axes) + 2)
    {
        fail(ErrorCode::kINVALID_NODE, "Col2Im whose blocks do not fit");
    }
    Cut cut{.start = Extents(axes + 2, 0), .size = extentsOf(node, result), .stride = Extents(axes + 2, 1), .fill = {}};
    cut.mode = nvinfer1::SampleMode::kFILL;
    std::copy(image.begin(), image.end(), cut.size.begin() + 2);
    return {cutAfter == after ? result : slice(node, result, cut, "image")};
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
                "LpPool of {} with p {} and ceil_mode {}", shapeText(x.shape()), power, node.intOr("ceil_mode", 0)));
    }
    Shape shape{channels, 1};
    shape.insert(shape.end(), kernel.begin(), kernel.end());
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
