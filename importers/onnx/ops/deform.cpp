// DeformConv: what the kernels see is read by a grid sample, one place of the kernel after the other; the rest is a
// product of matrices.
#include "window.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;

//! One side of the places that a kernel reads, −1 … 1 from edge to edge: [n, groups, taps, rows, columns].
Value sampledSide(Node& node, Value const& shifts, Value const& regular, Extent const& extent)
{
    DataType const type = shifts.type();
    Value const at = node.binary(shifts, node.cast(regular, type), ElementWiseOperation::kSUM);
    Value const twice = node.binary(node.binary(at, node.scalar(2.0, type), ElementWiseOperation::kPROD),
        node.scalar(1.0, type), ElementWiseOperation::kSUM);
    Value const length =
        extent.known ? node.scalar(static_cast<double>(*extent.known), type) : node.cast(scalarOf(node, extent), type);
    return node.binary(
        node.binary(twice, length, ElementWiseOperation::kDIV), node.scalar(1.0, type), ElementWiseOperation::kSUB);
}

//! Where kernels without shifts read along an axis: by output o and tap t, o · stride − padding + t · dilation.
Value regularPlaces(Node& node, WindowAttributes const& window, size_t axis, Extent const& outputs)
{
    int64_t const taps = volumeOf(window.kernel);
    Integers steps;
    for (int64_t tap = 0; tap < taps; ++tap)
    {
        int64_t const place = axis == 0 ? tap / window.kernel[1] : tap % window.kernel[1];
        steps.push_back(place * window.dilations[axis]);
    }
    Value const first = iota(node, outputs, -window.padsBefore[axis], window.strides[axis]);
    std::vector<int32_t> const around = axis == 0 ? std::vector<int32_t>{0, 1, 2, 4} : std::vector<int32_t>{0, 1, 2, 3};
    Value const byTap = node.reshapedConstant(node.integerConstant(steps), {1, 1, taps, 1, 1});
    return node.binary(node.unsqueeze(first, around), byTap, ElementWiseOperation::kSUM);
}

//! X, weights, shifts [n, groups · taps · 2, rows, columns] (rows before columns), bias, mask.
Outputs importDeformConv(Node& node)
{
    Value const x = node.in(0);
    Value const kernel = node.in(1);
    Value const shifts = node.in(2);
    Shape const weights = kernel.shape();
    if (x.rank() != 4 || weights.size() != 4 || shifts.rank() != 4
        || std::any_of(weights.begin(), weights.end(), [](int64_t extent) { return extent < 1; }))
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
            fmt::format("DeformConv of {} by {}: two spatial axes, and weights whose extents are known",
                shapeText(x.shape()), shapeText(weights)));
    }
    WindowAttributes const window = windowOf(node, 2, Shape{weights[2], weights[3]});
    int64_t const taps = volumeOf(window.kernel);
    int64_t const groups = node.intOr("group", 1);
    int64_t const parts = node.intOr("offset_group", 1);
    int64_t const channels = weights[1] * groups;
    if (groups < 1 || parts < 1 || channels % parts != 0 || weights[0] % groups != 0)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("DeformConv of {} channels in {} groups, shifted in {}", channels, groups, parts));
    }
    Extents const image = extentsOf(node, x);
    Extents const made = extentsOf(node, shifts);
    Extent const& batch = image[0];
    Value const sides = reshapeTo(node, shifts, {multiply(node, batch, parts), taps, 2, made[2], made[3]});
    auto const side = [&](int64_t which, size_t axis) {
        Value const own = node.unsqueeze(node.squeeze(sliceAxis(node, sides, 2, which, 1), {2}), {1});
        Value const points = sampledSide(node, own, regularPlaces(node, window, axis, made[axis + 2]), image[axis + 2]);
        return node.unsqueeze(points, {5});
    };
    Value const rows = side(0, 0);
    Value const columns = side(1, 1);
    nvinfer1::ITensor* const both[]{&node.tensor(columns), &node.tensor(rows)};
    nvinfer1::IConcatenationLayer* const joined = node.added(node.api().addConcatenation(both, 2), "grid");
    joined->setAxis(5);
    Extent const images = multiply(node, batch, parts);
    Extent const tall = multiply(node, taps, made[2]);
    Value const grid = reshapeTo(node, joined->getOutput(0), {images, tall, made[3], 2});
    Value const cut = reshapeTo(node, x, {images, channels / parts, image[2], image[3]});
    nvinfer1::IGridSampleLayer* const read =
        node.added(node.api().addGridSample(node.tensor(cut), node.tensor(grid)), "samples");
    Value seen = read->getOutput(0); // [n · parts, channels / parts, taps · rows, columns]
    if (node.has(4))
    {
        Value const mask = reshapeTo(node, node.in(4), {images, 1, tall, made[3]});
        seen = node.binary(seen, mask, ElementWiseOperation::kPROD);
    }
    Extent const points = multiply(node, made[2], made[3]);
    Value const operand = reshapeTo(node, seen, {batch, groups, weights[1] * taps, points});
    Value const matrix = reshapeTo(node, kernel, {1, groups, weights[0] / groups, weights[1] * taps});
    constexpr auto kNone = nvinfer1::MatrixOperation::kNONE;
    Value const sums =
        node.output(node.api().addMatrixMultiply(node.tensor(matrix), kNone, node.tensor(operand), kNone), "product");
    Value const result = reshapeTo(node, sums, {batch, weights[0], made[2], made[3]});
    return {
        node.has(3) ? node.binary(result, node.unsqueeze(node.in(3), {0, 2, 3}), ElementWiseOperation::kSUM) : result};
}

constexpr Operator kDeformTable[]{
    {"DeformConv", importDeformConv},
};

} // namespace

constinit std::span<Operator const> const kDeformOperators{kDeformTable};

} // namespace tenon::onnx
