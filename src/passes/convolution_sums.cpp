// Rules fuse-convolution-sum, for residual blocks whose shortcut is a convolution of single pixels, and
// undo-convolution-sum.
#include "layers/convolution_sum.h"
#include "passes/rules.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tenon::passes
{

namespace
{
constexpr size_t kChannels{1};

//! Whether there are no more elements than kernels count, whatever the extents.
bool isCounted(Graph const& graph, Shape const& shape, FusionLimits const& limits)
{
    int64_t most{1};
    for (ShapeExpr const& extent : shape)
    {
        Range const range = extent.range(graph.symbols());
        if (range.max > 0 && most > limits.summedElements / range.max)
            return false;
        most *= std::max<int64_t>(range.max, 1);
    }
    return true;
}

//! Whether a node convolves single pixels of images with a constant filter, alone, as one kernel adds two.
bool isOfPixels(Graph const& graph, Node const& node, Convolution const& conv, FusionLimits const& limits)
{
    Window const window = conv.window();
    TensorType const& x = graph.typeOf(node.input(0));
    auto const isOne = [](int64_t extent) { return extent == 1; };
    bool const isUnpadded = std::ranges::all_of(window.pre, [](int64_t extent) { return extent == 0; })
        && std::ranges::all_of(window.post, [](int64_t extent) { return extent == 0; });
    bool const isNear =
        std::ranges::all_of(window.stride, [&](int64_t stride) { return stride <= limits.summedStride; });
    return limits.summedTypes.has(x.dtype) && window.rank() == 2 && std::ranges::all_of(window.size, isOne)
        && isUnpadded && isNear && window.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN && conv.nbGroups == 1
        && !conv.isByImage && isCounted(graph, x.shape, limits) && graph.constantOf(node.input(1)) != nullptr
        && (node.input(2) == kNone || graph.constantOf(node.input(2)) != nullptr);
}

//! Both filters' channels of each map behind each other.
std::shared_ptr<Constant const> joined(Constant const& first, Constant const& second)
{
    HostTensor const parts[]{HostTensor::fromConstant(first), HostTensor::fromConstant(second)};
    int64_t const depths[]{first.extents[kChannels], second.extents[kChannels]};
    int64_t const depth = depths[0] + depths[1];
    HostTensor filter{first.dtype, {first.extents[0], depth, 1, 1}};
    for (int64_t i = 0; i < filter.count(); ++i)
    {
        int64_t const map = i / depth;
        int64_t const channel = i % depth;
        bool const isSecond = channel >= depths[0];
        filter.set(
            i, parts[isSecond ? 1 : 0].real(map * depths[isSecond ? 1 : 0] + channel - (isSecond ? depths[0] : 0)));
    }
    return filter.toConstant();
}

//! The channels from there on of such a filter.
std::shared_ptr<Constant const> partOf(Constant const& filter, int64_t first, int64_t count)
{
    HostTensor const whole = HostTensor::fromConstant(filter);
    int64_t const depth = filter.extents[kChannels];
    HostTensor part{filter.dtype, {filter.extents[0], count, 1, 1}};
    for (int64_t i = 0; i < part.count(); ++i)
        part.set(i, whole.real(i / count * depth + first + i % count));
    return part.toConstant();
}

//! Of two biases; null: the type has no number for one of their sums.
std::shared_ptr<Constant const> sumOf(Constant const& first, Constant const& second)
{
    constexpr double kOfRounding{0x1p-6};
    HostTensor sum = HostTensor::fromConstant(first);
    HostTensor const other = HostTensor::fromConstant(second);
    for (int64_t i = 0; i < sum.count(); ++i)
    {
        double const exact = sum.real(i) + other.real(i);
        sum.set(i, exact);
        if (!(std::abs(sum.real(i) - exact) <= kOfRounding * std::max(std::abs(exact), 1.0)))
            return nullptr;
    }
    return sum.toConstant();
}

//! One of both convolutions.
struct Part
{
    Node const* node;
    nvinfer1::Dims stride;
    int64_t channels; //!< 0: not known.

    Part(Graph const& graph, Node const& of, Convolution const& layer)
        : node{&of},
          stride{layer.stride},
          channels{graph.typeOf(of.input(0)).shape[kChannels].constant().value_or(0)}
    {
    }
    bool isStrided() const
    {
        return std::any_of(stride.d, stride.d + stride.nbDims, [](auto each) { return each != 1; });
    }
};

//! In the order that the kernel takes them; none: there is no such. Pixels without strides come faster, as rows of a
//! matrix: they are the first where they can be.
std::optional<std::array<Part, 2>> inKernelsOrder(Part const& a, Part const& b, FusionLimits const& limits)
{
    auto const fits = [&](Part const& first, Part const& second) {
        return first.channels > 0 && first.channels % limits.summedChannels == 0 && second.channels > 0
            && second.channels % limits.summedColumns == 0;
    };
    bool const isTurned = fits(b, a) && (!fits(a, b) || (a.isStrided() && !b.isStrided()));
    if (!isTurned && !fits(a, b))
        return std::nullopt;
    return isTurned ? std::array{b, a} : std::array{a, b};
}

//! The convolution whose result one adds before anything else, which could be part of it; null: there is none.
Node const* addedConvolution(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const conv = as<Convolution>(*node.layer);
    if (conv == nullptr || limits.summedTypes.empty() || conv->epilogue.empty()
        || conv->epilogue.steps.front().kind != EpilogueKind::kAdd || conv->epilogue.extraInputs() != 1)
        return nullptr;
    ValueId const added = node.input(Convolution::kFirstExtra);
    Node const* const before = graph.producerOf<Convolution>(added);
    bool const isPlain = before != nullptr && layerOf<Convolution>(before)->epilogue.empty()
        && isOfPixels(graph, node, *conv, limits) && isOfPixels(graph, *before, *layerOf<Convolution>(before), limits)
        && graph.typeOf(added) == graph.typeOf(node.output()) && isCounted(graph, graph.typeOf(added).shape, limits);
    return isPlain ? before : nullptr;
}
} // namespace

Rewrite fuseConvolutionSum(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    Node const* const before = addedConvolution(graph, node, limits);
    if (before == nullptr)
        return skip();
    if (!isReadOnce(graph, before->output()))
        return skip("another layer reads what is added");
    Convolution const& conv = *as<Convolution>(*node.layer);
    auto const parts =
        inKernelsOrder(Part{graph, *before, *layerOf<Convolution>(before)}, Part{graph, node, conv}, limits);
    if (!parts || conv.nbOutputMaps % limits.summedColumns != 0)
        return skip("channels or maps are none that one kernel takes");
    auto const& [first, second] = *parts;
    auto const constantOf = [&](Part const& part, size_t input) { return graph.constantOf(part.node->input(input)); };
    Patch patch{graph, node};
    patch.covers({before->id, node.id});
    ValueId bias = first.node->input(2) != kNone ? first.node->input(2) : second.node->input(2);
    if (first.node->input(2) != kNone && second.node->input(2) != kNone)
    {
        auto sum = sumOf(*constantOf(first, 2), *constantOf(second, 2));
        if (sum == nullptr)
            return skip("the type has no number for the sum of both biases");
        bias = patch.constant(node.name + " bias", std::move(sum));
    }
    ConvolutionSum made{.nbOutputMaps = conv.nbOutputMaps,
        .firstStride = first.stride,
        .secondStride = second.stride,
        .epilogue = conv.epilogue};
    made.epilogue.steps.erase(made.epilogue.steps.begin());
    ValueId const filter =
        patch.constant(node.name + " filters", joined(*constantOf(first, 1), *constantOf(second, 1)));
    patch.replace(
        node.output(), patch.add(std::move(made), {first.node->input(0), filter, bias, second.node->input(0)}));
    return patch;
}

Rewrite undoConvolutionSum(Graph const& graph, Node const& node)
{
    auto const* const sum = as<ConvolutionSum>(*node.layer);
    Constant const* const filter = sum == nullptr ? nullptr : graph.constantOf(node.input(1));
    if (filter == nullptr)
        return skip();
    int64_t const depth = filter->extents[kChannels];
    std::optional<int64_t> const channels = graph.typeOf(node.input(0)).shape[kChannels].constant();
    if (!channels)
        return skip();
    Patch patch{graph, node};
    Convolution second = sum->second();
    second.epilogue = sum->epilogue;
    second.epilogue.steps.insert(second.epilogue.steps.begin(), {EpilogueKind::kAdd});
    std::string const& name = graph.value(node.input(1)).name;
    std::vector<ValueId> operands{node.input(0), patch.constant(name + " [0]", partOf(*filter, 0, *channels))};
    ValueId const first = patch.add(sum->first(), std::move(operands));
    ValueId const rest = patch.constant(name + " [1]", partOf(*filter, *channels, depth - *channels));
    patch.replace(
        node.output(), patch.add(std::move(second), {node.input(ConvolutionSum::kSecond), rest, node.input(2), first}));
    return patch;
}

} // namespace tenon::passes
