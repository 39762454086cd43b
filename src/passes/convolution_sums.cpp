// Rules fuse-convolution-sum, for residual blocks whose shortcut is a convolution of single pixels, and
// undo-convolution-sum.
#include "layers/convolution_sum.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
constexpr size_t kChannels{1};

//! Whether a node convolves single pixels of images with a constant filter, alone, in a type that is added up.
bool isOfPixels(Graph const& graph, Node const& node, Convolution const& conv, FusionLimits const& limits)
{
    Window const window = conv.window();
    TensorType const& x = graph.typeOf(node.input(0));
    auto const isOne = [](int64_t extent) { return extent == 1; };
    bool const isUnpadded = std::ranges::all_of(window.pre, [](int64_t extent) { return extent == 0; })
        && std::ranges::all_of(window.post, [](int64_t extent) { return extent == 0; });
    return limits.summedTypes.has(x.dtype) && window.rank() == 2 && std::ranges::all_of(window.size, isOne)
        && isUnpadded && window.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN && conv.nbGroups == 1
        && !conv.isByImage && graph.constantOf(node.input(1)) != nullptr
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

//! Of two biases, of which one may be missing.
std::shared_ptr<Constant const> sumOf(Constant const& first, Constant const& second)
{
    HostTensor sum = HostTensor::fromConstant(first);
    HostTensor const other = HostTensor::fromConstant(second);
    for (int64_t i = 0; i < sum.count(); ++i)
        sum.set(i, sum.real(i) + other.real(i));
    return sum.toConstant();
}
} // namespace

Rewrite fuseConvolutionSum(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const conv = as<Convolution>(*node.layer);
    if (conv == nullptr || limits.summedTypes.empty() || conv->epilogue.empty()
        || conv->epilogue.steps.front().kind != EpilogueKind::kAdd || conv->epilogue.extraInputs() != 1)
        return skip();
    ValueId const added = node.input(Convolution::kFirstExtra);
    Node const* const before = graph.producerOf<Convolution>(added);
    if (before == nullptr)
        return skip();
    Convolution const& other = *layerOf<Convolution>(before);
    if (!other.epilogue.empty() || !isOfPixels(graph, node, *conv, limits) || !isOfPixels(graph, *before, other, limits)
        || graph.typeOf(added) != graph.typeOf(node.output()))
        return skip();
    if (!isReadOnce(graph, added))
        return skip("another layer reads what is added");
    struct Part
    {
        Node const* node;
        nvinfer1::Dims stride;
        int64_t channels;
    };
    auto const partOfNode = [&](Node const& each, Convolution const& layer) {
        return Part{&each, layer.stride, graph.typeOf(each.input(0)).shape[kChannels].constant().value_or(0)};
    };
    Part parts[]{partOfNode(*before, other), partOfNode(node, *conv)};
    auto const fits = [&](Part const& first, Part const& second) {
        return first.channels > 0 && first.channels % limits.summedChannels == 0 && second.channels > 0
            && second.channels % limits.summedColumns == 0;
    };
    // Pixels without strides come faster, as rows of a matrix: they are the first where there are such.
    auto const isStrided = [](Part const& part) {
        return std::any_of(part.stride.d, part.stride.d + part.stride.nbDims, [](auto each) { return each != 1; });
    };
    if ((isStrided(parts[0]) && !isStrided(parts[1]) && fits(parts[1], parts[0])) || !fits(parts[0], parts[1]))
        std::swap(parts[0], parts[1]);
    if (!fits(parts[0], parts[1]) || conv->nbOutputMaps % limits.summedColumns != 0)
        return skip("channels or maps are none that one kernel takes");
    ConvolutionSum made{.nbOutputMaps = conv->nbOutputMaps,
        .firstStride = parts[0].stride,
        .secondStride = parts[1].stride,
        .epilogue = conv->epilogue};
    made.epilogue.steps.erase(made.epilogue.steps.begin());
    Patch patch{graph, node};
    patch.covers({before->id, node.id});
    auto const constantOf = [&](Part const& part, size_t input) { return graph.constantOf(part.node->input(input)); };
    ValueId const filter =
        patch.constant(node.name + " filters", joined(*constantOf(parts[0], 1), *constantOf(parts[1], 1)));
    std::vector<Constant const*> biases;
    for (Part const& part : parts)
        if (Constant const* const bias = constantOf(part, 2))
            biases.push_back(bias);
    ValueId bias{kNone};
    if (biases.size() == 2)
        bias = patch.constant(node.name + " bias", sumOf(*biases[0], *biases[1]));
    else if (biases.size() == 1)
        bias = parts[constantOf(parts[0], 2) != nullptr ? 0 : 1].node->input(2);
    patch.replace(
        node.output(), patch.add(std::move(made), {parts[0].node->input(0), filter, bias, parts[1].node->input(0)}));
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
