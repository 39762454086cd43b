// slice-before-split: a part picked by Gather from an axis that a reshape has just split off is a slice of the whole:
// of [s, b, 3·d] made [3, s, b, d], part i is columns [i·d, (i + 1)·d).
#include "layers/gather.h"
#include "layers/slice.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

namespace tenon::passes
{

namespace
{
//! The index when it is one constant.
std::optional<int64_t> pickedIndex(Graph const& graph, Node const& node)
{
    auto const* gather = as<Gather>(*node.layer);
    Constant const* indices = gather == nullptr ? nullptr : graph.constantOf(node.input(1));
    if (indices == nullptr || !indices->extents.empty() || isFloating(indices->dtype)
        || gather->mode != nvinfer1::GatherMode::kDEFAULT || gather->nbElementWiseDims != 0)
        return std::nullopt;
    return HostTensor::fromConstant(*indices).integer(0);
}

template <typename T>
nvinfer1::Dims oneEntry(T value)
{
    nvinfer1::Dims dims{};
    dims.nbDims = 1;
    dims.d[0] = static_cast<int64_t>(value);
    return dims;
}
} // namespace

Rewrite sliceBeforeSplit(Graph const& graph, Node const& node)
{
    std::optional<int64_t> const index = pickedIndex(graph, node);
    Node const* producer = index ? graph.producerOf<Shuffle>(node.input(0)) : nullptr;
    if (producer == nullptr || graph.value(node.output()).contents)
        return skip();
    Shuffle const& shuffle = *layerOf<Shuffle>(producer);
    Shape const& x = graph.typeOf(producer->input(0)).shape;
    Shape middle = middleShape(graph, *producer);
    auto const groups = isIdentity(shuffle.firstTranspose) ? axisGroups(x, middle) : std::nullopt;
    if (!groups || x.empty())
        return skip();
    auto const picked =
        static_cast<size_t>(shuffle.secondTranspose[static_cast<size_t>(as<Gather>(*node.layer)->gatherAxis)]);
    std::vector<size_t> const& parts = groups->back();
    if (parts.size() < 2 || parts.front() != picked || !middle[picked].isConstant() || !x.back().isConstant())
        return skip("the part does not lie together in what was split");
    int64_t const count = *middle[picked].constant();
    if (count <= 0)
        return skip();
    int64_t const width = *x.back().constant() / count;
    int64_t const at = *index < 0 ? *index + count : *index;
    if (at < 0 || at >= count)
        return skip();

    Slice slice;
    slice.axes = oneEntry(x.size() - 1);
    slice.start = oneEntry(at * width);
    slice.size = oneEntry(width);
    slice.stride = oneEntry(1);
    Shape cut{x};
    cut.back() = width;
    middle.erase(middle.begin() + static_cast<std::ptrdiff_t>(picked));
    std::optional<Shuffle> rest = reshapeTo(cut, middle);
    if (!rest)
        return skip("several extents of the reshape are known at run time only");
    size_t to{0};
    for (size_t axis = 0; axis <= middle.size(); ++axis)
    {
        int32_t const from = shuffle.secondTranspose[axis];
        if (from != static_cast<int32_t>(picked))
            rest->secondTranspose[to++] = from > static_cast<int32_t>(picked) ? from - 1 : from;
    }
    Patch patch{graph, node};
    patch.covers({producer->id, node.id});
    patch.replace(node.output(), patch.add(*rest, {patch.add(slice, {producer->input(0)})}));
    return patch;
}

} // namespace tenon::passes
