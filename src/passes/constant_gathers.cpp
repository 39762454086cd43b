// Rules for gathers by constant indices, as exporters write masks and embeddings of types: gather-in-order-to-reshape
// and gather-row-once.
#include "layers/element_wise.h"
#include "layers/gather.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <cstring>

namespace tenon::passes
{

namespace
{
using nvinfer1::GatherMode;

//! A gather that picks from all of its data by constant indices; null: the node is none.
Constant const* indicesOf(Graph const& graph, Node const* node)
{
    constexpr int64_t kMostIndices{int64_t{1} << 20}; // More are not looked through.
    auto const* const gather = layerOf<Gather>(node);
    Constant const* const indices = gather == nullptr ? nullptr : graph.constantOf(node->input(1));
    bool const isTaken = indices != nullptr && gather->mode != GatherMode::kELEMENT && gather->nbElementWiseDims == 0
        && indices->count() > 0 && indices->count() <= kMostIndices;
    return isTaken ? indices : nullptr;
}

//! One of them, without a copy of all: most lists are told by their first two.
int64_t indexAt(Constant const& indices, int64_t i)
{
    auto const at = [&]<typename Stored>(Stored index) {
        std::memcpy(&index, static_cast<uint8_t const*>(indices.data) + i * int64_t{sizeof(Stored)}, sizeof(Stored));
        return int64_t{index};
    };
    return indices.dtype == DType::kINT32 ? at(int32_t{}) : at(int64_t{});
}

//! Whether indices name the positions of the axes that they pick from one after the other.
bool areInOrder(Gather const& gather, Constant const& indices, Shape const& data)
{
    bool const isByPosition = gather.mode == GatherMode::kND;
    int64_t const depth = isByPosition ? indices.extents.back() : 1;
    size_t const first = isByPosition ? 0 : static_cast<size_t>(gather.gatherAxis);
    std::vector<int64_t> extents;
    for (int64_t d = 0; d < depth; ++d)
    {
        std::optional<int64_t> const extent = data[first + static_cast<size_t>(d)].constant();
        if (!extent)
            return false;
        extents.push_back(*extent);
    }
    if (depth == 0 || volumeOf(extents) * depth != indices.count())
        return false;
    std::vector<int64_t> const strides = stridesOf(extents);
    for (int64_t i = 0; i < indices.count(); ++i)
    {
        auto const d = static_cast<size_t>(i % depth);
        if (indexAt(indices, i) != i / depth / strides[d] % extents[d])
            return false;
    }
    return true;
}

//! The gather whose row is the same for all indices, one of several; null: the value is made in another way.
Node const* gatherOfOneRow(Graph const& graph, ValueId value)
{
    Node const* const node = graph.producerOf(value);
    Constant const* const indices = indicesOf(graph, node);
    if (indices == nullptr || indices->count() == 1 || layerOf<Gather>(node)->mode != GatherMode::kDEFAULT)
        return nullptr;
    for (int64_t i = 1; i < indices->count(); ++i)
        if (indexAt(*indices, i) != indexAt(*indices, 0))
            return nullptr;
    return node;
}
} // namespace

Rewrite gatherInOrderToReshape(Graph const& graph, Node const& node)
{
    Constant const* const indices = indicesOf(graph, &node);
    if (indices == nullptr)
        return skip();
    Shape const& data = graph.typeOf(node.input(0)).shape;
    if (!areInOrder(*as<Gather>(*node.layer), *indices, data))
        return skip();
    std::optional<Shuffle> const reshape = reshapeTo(data, graph.typeOf(node.output()).shape);
    if (!reshape)
        return skip("a reshape cannot say its extents");
    Patch patch{graph, node};
    patch.replace(node.output(), patch.add(*reshape, {node.input(0)}));
    return patch;
}

Rewrite gatherRowOnce(Graph const& graph, Node const& node)
{
    if (as<ElementWise>(*node.layer) == nullptr)
        return skip();
    for (size_t i = 0; i < 2; ++i)
    {
        // The other operand has all extents of the result, so that this one may repeat.
        if (graph.typeOf(node.input(1 - i)).shape != graph.typeOf(node.output()).shape)
            continue;
        Node const* const gather = gatherOfOneRow(graph, node.input(i));
        bool const isGatheredAnyway = graph.isOutput(node.input(i)) || node.input(0) == node.input(1);
        if (gather == nullptr || isGatheredAnyway)
            continue;
        Constant const& indices = *graph.constantOf(gather->input(1));
        HostTensor one{indices.dtype, std::vector<int64_t>(indices.extents.size(), 1)};
        one.setInteger(0, indexAt(indices, 0));
        Patch patch{graph, node};
        patch.covers({gather->id, node.id});
        std::vector<ValueId> operands = node.inputs;
        operands[i] = patch.add(*layerOf<Gather>(gather),
            {gather->input(0), patch.constant(graph.value(gather->input(1)).name + " once", one.toConstant())});
        patch.replace(node.output(), patch.add(*as<ElementWise>(*node.layer), std::move(operands)));
        return patch;
    }
    return skip();
}

} // namespace tenon::passes
