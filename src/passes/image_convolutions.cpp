// Rules for a network's first convolution, fuse-image-cast and fuse-image-pooling, and what takes apart what they make.
#include "layers/cast.h"
#include "layers/image_convolution.h"
#include "passes/image_patches.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
//! Whether the device has a kernel for such a convolution.
bool isOfImage(Graph const& graph, Node const& node, Convolution const& conv, FusionLimits const& limits)
{
    Window const window = conv.window();
    DType const type = graph.typeOf(node.output()).dtype;
    std::optional<int64_t> const channels = graph.typeOf(node.input(0)).shape[1].constant();
    if (!limits.imageTypes.has(type) || !channels || *channels > limits.imageChannels || window.rank() != 2)
        return false;
    bool const isSmall = std::ranges::all_of(window.size, [&](int64_t size) { return size <= limits.imageWindow; })
        && std::ranges::all_of(window.stride, [&](int64_t stride) { return stride <= limits.imageStride; })
        && std::ranges::all_of(window.dilation, [](int64_t dilation) { return dilation == 1; });
    return isSmall && window.stride[1] % 2 == 0 && conv.nbGroups == 1 && conv.epilogue.extraInputs() == 0;
}

//! The same of windows side by side, as at the entry of vision transformers.
bool isOfImagePatches(Graph const& graph, Node const& node, Convolution const& conv, FusionLimits const& limits)
{
    std::optional<int64_t> const channels = graph.typeOf(node.input(0)).shape[1].constant();
    return channels && *channels <= limits.imageChannels && conv.epilogue.extraInputs() == 0
        && isOfPatches(graph, node, conv, limits);
}

bool isPoolOfImage(Pooling const& pooling, FusionLimits const& limits)
{
    Window const window = pooling.window();
    auto const fits = [&](int64_t extent) { return extent <= limits.imagePool; };
    return pooling.poolingType == nvinfer1::PoolingType::kMAX && window.rank() == 2
        && std::ranges::all_of(window.size, fits) && std::ranges::all_of(window.stride, fits);
}
} // namespace

bool isOfPatches(Graph const& graph, Node const& node, Convolution const& conv, FusionLimits const& limits)
{
    Window const window = conv.window();
    if (limits.imagePatch == 0 || !limits.imageTypes.has(graph.typeOf(node.output()).dtype) || window.rank() != 2
        || window.size[1] % limits.imagePatch != 0 || conv.nbGroups != 1
        || window.mode != nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN)
        return false;
    for (size_t axis = 0; axis < window.rank(); ++axis)
        if (window.stride[axis] != window.size[axis] || window.dilation[axis] != 1 || window.pre[axis] != 0
            || window.post[axis] > 0)
            return false;
    return true;
}

Rewrite fuseImageCast(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const conv = as<Convolution>(*node.layer);
    Node const* const cast = conv == nullptr ? nullptr : graph.producerOf<Cast>(node.input(0));
    if (cast == nullptr || graph.typeOf(cast->input(0)).dtype != DType::kFLOAT
        || (!isOfImage(graph, node, *conv, limits) && !isOfImagePatches(graph, node, *conv, limits)))
        return skip();
    if (!isReadOnce(graph, node.input(0)))
        return skip("another layer reads the rounded image");
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = cast->input(0);
    Patch patch{graph, node};
    patch.covers({cast->id, node.id});
    patch.replace(node.output(), patch.add(ImageConvolution{*conv, {}}, std::move(inputs)));
    return patch;
}

Rewrite fuseImagePooling(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const pooling = as<Pooling>(*node.layer);
    if (pooling == nullptr || limits.imageTypes.empty() || !isPoolOfImage(*pooling, limits))
        return skip();
    Node const* const before = graph.producerOf(node.input(0));
    auto const* const image = layerOf<ImageConvolution>(before);
    auto const* const conv = image != nullptr ? &image->product : layerOf<Convolution>(before);
    if (conv == nullptr || (image != nullptr && image->isPooled()) || !isOfImage(graph, *before, *conv, limits))
        return skip();
    if (!isReadOnce(graph, node.input(0)))
        return skip("another layer reads what is pooled");
    Patch patch{graph, node};
    patch.covers({before->id, node.id});
    patch.replace(node.output(), patch.add(ImageConvolution{*conv, *pooling}, before->inputs));
    return patch;
}

Rewrite undoImageConvolution(Graph const& graph, Node const& node)
{
    auto const* const image = as<ImageConvolution>(*node.layer);
    if (image == nullptr)
        return skip();
    Patch patch{graph, node};
    std::vector<ValueId> inputs = node.inputs;
    DType const type = graph.typeOf(node.output()).dtype;
    if (graph.typeOf(inputs[0]).dtype != type)
        inputs[0] = patch.add(Cast{type}, {inputs[0]});
    ValueId const product = patch.add(Convolution{image->product}, std::move(inputs));
    patch.replace(node.output(), image->isPooled() ? patch.add(Pooling{image->pooling}, {product}) : product);
    return patch;
}

} // namespace tenon::passes
