// Poolings over windows and over all spatial axes, and LRN.
#include "taps.h"

#include <algorithm>

namespace tenon::onnx
{
namespace
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::PaddingMode;
using nvinfer1::PoolingType;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

bool isDilated(WindowAttributes const& window)
{
    return std::any_of(window.dilations.begin(), window.dilations.end(), [](int64_t d) { return d != 1; });
}

bool isPaddedAsGiven(WindowAttributes const& window)
{
    return window.autoPad != "SAME_UPPER" && window.autoPad != "SAME_LOWER";
}

//! Extent of the result along spatial axis i, rounded up, less the window that would start behind the input.
Extent roundedUp(Node& node, WindowAttributes const& window, size_t i, Extent const& in)
{
    Extent const front = add(node, in, window.padsBefore[i]);
    Extent const free = add(node, front, window.padsAfter[i] - window.kernel[i]);
    Extent const all = add(node, ceilDivide(node, free, window.strides[i]), 1);
    if (window.kernel[i] >= window.padsAfter[i] + window.strides[i])
    {
        return all; // Then the last window reaches back into the input.
    }
    return smaller(node, all, ceilDivide(node, front, window.strides[i]));
}

Extent roundedDown(Node& node, WindowAttributes const& window, size_t i, int64_t in)
{
    int64_t const free = in + window.padsBefore[i] + window.padsAfter[i] - window.kernel[i];
    return add(node, floorDivide(node, free, window.strides[i]), 1);
}

//! The layer rounds all axes up or none, and keeps windows that start behind the input: they are cut off.
Value cutToExtents(Node& node, Value const& pooled, Extents const& wanted)
{
    Extents const made = extentsOf(node, pooled);
    Cut cut{.start = Extents(made.size(), 0), .size = made, .stride = Extents(made.size(), 1), .fill = {}};
    bool changes{false};
    for (size_t i = 0; i < wanted.size(); ++i)
    {
        bool const same = !wanted[i].tensor.exists() && (!wanted[i].known || wanted[i].known == made[i + 2].known);
        cut.size[i + 2] = same ? made[i + 2] : wanted[i];
        changes = changes || !same;
    }
    return changes ? slice(node, pooled, cut, "inside") : pooled;
}

//! Per spatial axis, where it is not what rounding up makes of itself; empty when rounding down gives the same.
Extents extentsRoundedUp(Node& node, WindowAttributes const& window, Value const& x)
{
    Extents wanted;
    bool differs{false};
    for (size_t i = 0; i < window.kernel.size(); ++i)
    {
        Extent const in{x.shape()[i + 2]};
        bool const isOpen = *in.known < 0;
        bool const mayStartBehind = window.kernel[i] < window.padsAfter[i] + window.strides[i];
        wanted.push_back(!isOpen ? roundedUp(node, window, i, in)
                : mayStartBehind ? roundedUp(node, window, i, extentOf(node, x, static_cast<int32_t>(i) + 2))
                                 : Extent{});
        bool const isExact =
            isOpen ? window.strides[i] == 1 : wanted.back().known == roundedDown(node, window, i, *in.known).known;
        differs = differs || !isExact;
    }
    return differs ? wanted : Extents{};
}

Value pool(Node& node, Value const& input, PoolingType type)
{
    bool const wasWidened = input.rank() == 3;
    Value const x = widened(node, input);
    WindowAttributes window = windowOf(node, static_cast<size_t>(input.rank() - 2), {});
    if (wasWidened)
    {
        window.widen();
    }
    bool const mayRoundUp = node.intOr("ceil_mode", 0) != 0 && isPaddedAsGiven(window);
    Extents const wanted = mayRoundUp ? extentsRoundedUp(node, window, x) : Extents{};
    nvinfer1::IPoolingLayer* const layer =
        node.added(node.api().addPoolingNd(node.tensor(x), type, dimsOf(window.kernel)), "pooling");
    setWindow(layer, window, wanted.empty() ? PaddingMode::kEXPLICIT_ROUND_DOWN : PaddingMode::kEXPLICIT_ROUND_UP);
    layer->setAverageCountExcludesPadding(node.intOr("count_include_pad", 0) == 0);
    return narrowed(node, cutToExtents(node, layer->getOutput(0), wanted), wasWidened);
}

Outputs importMaxPool(Node& node)
{
    Value const x = node.in(0);
    WindowAttributes const window = windowOf(node, static_cast<size_t>(std::max(x.rank() - 2, 0)), {});
    return isDilated(window) || node.wants(1) ? maxByTaps(node, x, window) : Outputs{pool(node, x, PoolingType::kMAX)};
}

} // namespace

Value averagePool(Node& node, Value const& x)
{
    WindowAttributes const window = windowOf(node, static_cast<size_t>(std::max(x.rank() - 2, 0)), {});
    return isDilated(window) ? averageByTaps(node, x, window) : pool(node, x, PoolingType::kAVERAGE);
}

namespace
{

Outputs importAveragePool(Node& node)
{
    return {averagePool(node, node.in(0))};
}

Value power(Node& node, Value const& x, double exponent)
{
    return node.binary(x, node.scalar(exponent, x.type()), ElementWiseOperation::kPOW);
}

std::vector<int32_t> spatialAxes(Node const& node, Value const& x)
{
    if (x.rank() < 3)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("{} of an input of rank {}", node.op(), x.rank()));
    }
    std::vector<int32_t> axes;
    for (int32_t axis = 2; axis < x.rank(); ++axis)
    {
        axes.push_back(axis);
    }
    return axes;
}

Outputs importGlobalPool(Node& node)
{
    Value const x = node.in(0);
    auto const operation = node.op() == "GlobalMaxPool" ? ReduceOperation::kMAX : ReduceOperation::kAVG;
    return {node.reduce(x, operation, spatialAxes(node, x), true)};
}

//! The p-norm over the spatial axes.
Outputs importGlobalLpPool(Node& node)
{
    Value const x = node.in(0);
    auto const p = static_cast<double>(node.intOr("p", 2));
    Value const powers = power(node, node.unary(x, UnaryOperation::kABS), p);
    return {power(node, node.reduce(powers, ReduceOperation::kSUM, spatialAxes(node, x), true), 1.0 / p)};
}

Outputs importLrn(Node& node)
{
    return {node.output(node.api().addLRN(node.tensor(node.in(0)), node.intOr("size", 1), node.floatOr("alpha", 1e-4F),
                            node.floatOr("beta", 0.75F), node.floatOr("bias", 1.0F)),
        "lrn")};
}

constexpr Operator kPoolingTable[]{
    {"AveragePool", importAveragePool},
    {"GlobalAveragePool", importGlobalPool},
    {"GlobalLpPool", importGlobalLpPool},
    {"GlobalMaxPool", importGlobalPool},
    {"LRN", importLrn},
    {"MaxPool", importMaxPool},
    {"MaxUnpool", importMaxUnpool},
};

} // namespace

constinit std::span<Operator const> const kPoolingOperators{kPoolingTable};

} // namespace tenon::onnx
