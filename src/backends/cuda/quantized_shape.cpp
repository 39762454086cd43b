// QuantizedShape: from the operands of a convolution or product of int8 or fp8 numbers to rows, columns and windows.
#include "backends/cuda/cublas_product.h"
#include "backends/cuda/quantized_product.h"
#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
using nvinfer1::MatrixOperation;

//! Spatial axes of an image, with a height of 1 where it has none.
std::array<int64_t, 2> twoAxes(std::vector<int64_t> const& axes, int64_t height)
{
    return axes.size() == 1 ? std::array{height, axes[0]} : std::array{axes[0], axes[1]};
}

Result<QuantizedShape> shapeOfConvolution(
    QuantizedLayer const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    TensorArg const& x = inputs[0];
    Window const& window = layer.window;
    if (x.layout != Layout::kChannelsLast || out.layout != Layout::kChannelsLast)
        return badArgument("its images are not channels last");
    std::vector<int64_t> padding;
    bool isPadded{false};
    for (size_t axis = 0; axis < window.rank(); ++axis)
    {
        WindowPadding const own = window.padding(axis, x.extents[2 + axis]);
        padding.push_back(own.pre);
        isPadded = isPadded || own.pre != 0 || own.post != 0;
    }
    auto const isOne = [](int64_t extent) { return extent == 1; };
    QuantizedShape shape;
    shape.columns = out.extents[1];
    shape.rows = volumeOf(out.extents) / std::max<int64_t>(shape.columns, 1);
    shape.taps = volumeOf(window.size);
    shape.depth = shape.taps * x.extents[1];
    shape.in = twoAxes({x.extents.begin() + 2, x.extents.end()}, 1);
    shape.out = twoAxes({out.extents.begin() + 2, out.extents.end()}, 1);
    shape.stride = twoAxes(window.stride, 1);
    shape.padding = twoAxes(padding, 0);
    shape.dilation = twoAxes(window.dilation, 1);
    shape.windowWidth = window.size.back();
    shape.hasWindow =
        isPadded || !std::ranges::all_of(window.size, isOne) || !std::ranges::all_of(window.stride, isOne);
    return shape;
}

//! Extents in front of the matrices, and how far matrices stand apart along each; 0: the same along the axis.
std::pair<std::vector<int64_t>, std::vector<int64_t>> matricesOf(std::vector<int64_t> const& extents)
{
    std::vector<int64_t> const front(extents.begin(), extents.end() - 2);
    std::vector<int64_t> strides = broadcastStrides(extents);
    strides.resize(front.size());
    return {front, strides};
}

Result<QuantizedShape> shapeOfProduct(std::span<TensorArg const> inputs, TensorArg const& out, bool isTransposed)
{
    std::vector<int64_t> const& a = inputs[0].extents;
    std::vector<int64_t> const& b = inputs[1].extents;
    if (inputs[0].layout != Layout::kLinear || out.layout != Layout::kLinear || a.size() < 2 || a.size() != b.size())
        return badArgument("its operands are not row-major matrices of one rank");
    ProductShape plain{.rows = a[a.size() - 2], .columns = out.extents.back(), .depth = a.back(), .isTurnedB = true};
    if (b[b.size() - (isTransposed ? 2 : 1)] != plain.columns || b[b.size() - (isTransposed ? 1 : 2)] != plain.depth)
        return badArgument("its right operand has other extents than the layer says");
    auto [frontA, stridesA] = matricesOf(a);
    auto [frontB, stridesB] = matricesOf(b);
    for (size_t i = 0; i < frontA.size(); ++i)
        plain.extents.push_back(frontA[i] == 1 ? frontB[i] : frontA[i]);
    plain.aBatch = std::move(stridesA);
    plain.bBatch = std::move(stridesB);
    LtShape const found = ltShapeOf(std::move(plain));
    QuantizedShape shape;
    shape.rows = found.matrices.rows;
    shape.columns = found.matrices.columns;
    shape.depth = found.matrices.depth;
    shape.batch = found.batch;
    shape.strides = found.strides;
    shape.calls = found.calls;
    constexpr size_t kMaxCalls{64};
    if (shape.calls.size() > kMaxCalls)
        return badArgument("no one stride describes its batches");
    return shape;
}
} // namespace

QuantizedLayer quantizedLayer(QuantizedConvolution const& layer)
{
    return {.window = layer.product.window(),
        .isConvolution = true,
        .isTurned = false,
        .epilogue = layer.product.epilogue,
        .factor = layer.inputScale,
        .outputScale = layer.outputScale,
        .realType = layer.realType};
}

QuantizedLayer quantizedLayer(QuantizedMatrixMultiply const& layer)
{
    return {.window = {},
        .isConvolution = false,
        .isTurned = layer.product.operation1 == MatrixOperation::kTRANSPOSE,
        .epilogue = layer.product.epilogue,
        .factor = layer.inputScale * layer.product.alpha,
        .outputScale = layer.outputScale,
        .realType = layer.realType};
}

Result<QuantizedShape> quantizedShape(
    QuantizedLayer const& layer, std::span<TensorArg const> inputs, TensorArg const& out)
{
    QuantizedShape shape = layer.isConvolution ? TENON_TRY(shapeOfConvolution(layer, inputs, out))
                                               : TENON_TRY(shapeOfProduct(inputs, out, layer.isTurned));
    if (shape.depth / std::max<int64_t>(shape.taps, 1) % kQuantizedGrain != 0)
        return badArgument("a depth of {}, which is no multiple of {}", shape.depth / shape.taps, kQuantizedGrain);
    for (int64_t const count : {shape.rows, shape.columns, shape.depth, volumeOf({shape.in.begin(), shape.in.end()})})
        if (!isSmall(count))
            return badArgument("{} rows, columns or products of a sum are too many", count);
    return shape;
}

} // namespace tenon::cuda
