// Shuffles: algebra of transposes and reshapes.
#include "passes/shuffles.h"

namespace tenon::passes
{

AxisOrder composed(AxisOrder const& inner, AxisOrder const& outer)
{
    AxisOrder order{};
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = inner[static_cast<size_t>(outer[i])];
    return order;
}

AxisOrder inverted(AxisOrder const& order)
{
    AxisOrder result{};
    // Backwards: users leave zeros behind the last axis, which must not hide where axis 0 went.
    for (size_t i = order.size(); i-- > 0;)
        result.at(static_cast<size_t>(order[i])) = static_cast<int32_t>(i);
    return result;
}

bool isIdentity(AxisOrder const& order)
{
    return order == kSameOrder;
}

Shape permuted(Shape const& shape, AxisOrder const& order)
{
    Shape result;
    for (size_t i = 0; i < shape.size(); ++i)
        result.push_back(shape[static_cast<size_t>(order[i])]);
    return result;
}

namespace
{
//! Whether an extent is what a reshape takes for -1, also where an extent that it copies is 0.
bool isRest(ShapeExpr const& extent, Shape const& moved, ShapeExpr const& known)
{
    ShapeExpr const volume = TensorType{DType::kINT32, moved}.volume();
    return extent * known == volume || extent == floorDiv(volume, known);
}
} // namespace

std::optional<nvinfer1::Dims> dimensionsFor(Shape const& from, Shape const& to)
{
    nvinfer1::Dims dims{};
    std::optional<ShapeExpr> rest;
    ShapeExpr known{1}; // Times the rest this is what remains of `from` without what is copied.
    Shape moved{from};
    dims.nbDims = static_cast<int32_t>(to.size());
    for (size_t i = to.size(); i-- > 0;)
    {
        std::optional<int64_t> const extent = to[i].constant();
        bool const stays = i < from.size() && from[i] == to[i];
        if (stays && extent.value_or(0) == 0)
        {
            dims.d[i] = 0;
            moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(i));
        }
        else if (extent && *extent == 0)
            return std::nullopt; // Would be read as a placeholder.
        else if (!extent && std::exchange(rest, to[i]))
            return std::nullopt;
        else
        {
            dims.d[i] = extent.value_or(-1);
            known = known * extent.value_or(1);
        }
    }
    bool const isTold = !rest || moved.size() == from.size() || isRest(*rest, moved, known);
    return isTold ? std::optional{dims} : std::nullopt;
}

std::optional<Shuffle> reshapeTo(Shape const& from, Shape const& to)
{
    std::optional<nvinfer1::Dims> const dims = dimensionsFor(from, to);
    if (!dims)
        return std::nullopt;
    Shuffle shuffle;
    shuffle.reshapeDimensions = *dims;
    return shuffle;
}

std::optional<AxisOrder> transposeOf(Graph const& graph, Node const* node)
{
    Shuffle const* shuffle = layerOf<Shuffle>(node);
    if (shuffle == nullptr)
        return std::nullopt;
    bool const reshapes = shuffle->reshapeDimensions.nbDims >= 0 || node->input(1) != kNone;
    if (reshapes && middleShape(graph, *node) != permuted(graph.typeOf(node->input(0)).shape, shuffle->firstTranspose))
        return std::nullopt;
    return composed(shuffle->firstTranspose, shuffle->secondTranspose);
}

bool isReshape(Graph const& graph, Node const* node)
{
    Shuffle const* shuffle = layerOf<Shuffle>(node);
    return shuffle != nullptr && shuffle->isReshape(graph.typeOf(node->input(0)).shape);
}

Shape middleShape(Graph const& graph, Node const& node)
{
    Shuffle const& shuffle = *layerOf<Shuffle>(&node);
    return permuted(graph.typeOf(node.output()).shape, inverted(shuffle.secondTranspose));
}

std::optional<std::vector<std::vector<size_t>>> axisGroups(Shape const& merged, Shape const& split)
{
    ShapeExpr const one{1};
    std::vector<std::vector<size_t>> groups(merged.size());
    size_t next{0};
    for (size_t axis = 0; axis < merged.size(); ++axis)
    {
        ShapeExpr product{1};
        while (product != merged[axis])
        {
            if (next == split.size())
                return std::nullopt;
            product = product * split[next];
            groups[axis].push_back(next++);
        }
    }
    for (; next < split.size(); ++next)
        if (split[next] != one || groups.empty())
            return std::nullopt;
        else
            groups.back().push_back(next);
    return groups;
}

} // namespace tenon::passes
