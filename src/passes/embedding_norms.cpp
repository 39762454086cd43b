// Rules fuse-embedding-norm, for the entry of encoders of text, and undo-embedding-norm.
#include "layers/cast.h"
#include "layers/element_wise.h"
#include "layers/embedding_norm.h"
#include "layers/gather.h"
#include "passes/int8_products.h"
#include "passes/normalized_rows.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
using nvinfer1::ElementWiseOperation;

//! A sum of rows, in the order in which they are added.
struct EmbeddingSum
{
    std::vector<ValueId> operands; //!< Of each term two, as the layer has them.
    std::vector<NodeId> nodes;
    bool hasPicked{false}; //!< Whether a term is of rows that indices pick.
};

bool isAddition(Node const* node)
{
    auto const* const sum = layerOf<ElementWise>(node);
    return sum != nullptr && sum->operation == ElementWiseOperation::kSUM;
}

//! Rows of a table that indices pick.
bool isLookup(Graph const& graph, Node const* node)
{
    auto const* const gather = layerOf<Gather>(node);
    constexpr int32_t kTableRank{2};
    return gather != nullptr && gather->mode == nvinfer1::GatherMode::kDEFAULT && gather->gatherAxis == 0
        && gather->nbElementWiseDims == 0 && graph.typeOf(node->input(0)).rank() == kTableRank;
}

//! What is added, with what makes it where nothing else reads that.
void addTerm(Graph const& graph, ValueId value, FusionLimits const& limits, EmbeddingSum& to)
{
    Node const* const cast = graph.producerOf<Cast>(value);
    if (cast != nullptr && isReadOnce(graph, value) && limits.embeddingTypes.has(graph.typeOf(cast->input(0)).dtype))
    {
        to.nodes.push_back(cast->id);
        value = cast->input(0);
    }
    Node const* const lookup = graph.producerOf(value);
    if (isLookup(graph, lookup) && isReadOnce(graph, value))
    {
        to.nodes.push_back(lookup->id);
        to.operands.insert(to.operands.end(), {lookup->input(0), lookup->input(1)});
        to.hasPicked = true;
    }
    else
        to.operands.insert(to.operands.end(), {value, kNone});
}

//! None: there are more terms than the kernel adds.
std::optional<EmbeddingSum> embeddingSumOf(Graph const& graph, ValueId value, FusionLimits const& limits)
{
    EmbeddingSum sum;
    std::vector<ValueId> open{value}; // The next one last.
    while (!open.empty())
    {
        if (open.size() + sum.operands.size() / 2 > limits.embeddingTerms)
            return std::nullopt;
        ValueId const next = open.back();
        open.pop_back();
        Node const* const node = graph.producerOf(next);
        if (isAddition(node) && isReadOnce(graph, next))
        {
            sum.nodes.push_back(node->id);
            open.insert(open.end(), {node->input(1), node->input(0)});
        }
        else
            addTerm(graph, next, limits, sum);
    }
    return sum;
}

//! Whether a value has a number per element of a row.
bool isOfElements(Graph const& graph, ValueId value, ShapeExpr const& length)
{
    Shape const& shape = graph.typeOf(value).shape;
    for (size_t axis = 0; axis + 1 < shape.size(); ++axis)
        if (shape[axis] != ShapeExpr{1})
            return false;
    return !shape.empty() && shape.back() == length;
}
} // namespace

Rewrite fuseEmbeddingNorm(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* const norm = as<Normalization>(*node.layer);
    if (norm == nullptr || limits.embeddingTerms == 0)
        return skip();
    ValueId const x = node.input(0);
    TensorType const& type = graph.typeOf(x);
    if (!limits.embeddingTypes.has(type.dtype) || !isNormOfRows(*norm, type.rank()))
        return skip();
    std::optional<EmbeddingSum> sum = embeddingSumOf(graph, x, limits);
    if (!sum)
        return skip();
    if (!sum->hasPicked)
        return skip();
    if (!isReadOnce(graph, x))
        return skip("another layer reads the sum of the embeddings");
    ShapeExpr const& length = type.shape.back();
    std::optional<int64_t> const known = length.constant();
    if (!known || *known == 0 || *known > limits.embeddingWidth)
        return skip("rows of no known extent, or longer than one kernel takes");
    if (!isOfElements(graph, node.input(1), length)
        || (node.input(2) != kNone && !isOfElements(graph, node.input(2), length)))
        return skip("scale or shift of the norm are no numbers of each element");
    for (size_t i = 0; i < sum->operands.size(); i += 2)
        if (graph.typeOf(sum->operands[i]).shape.back() != length)
            return skip("a term is not of rows of the norm's length");
    Node const* const reader = onlyReader(graph, node.output());
    if (reader != nullptr && quantizingBy(graph, *reader))
        return skip("a norm whose result is quantized rounds it itself");
    std::vector<ValueId> operands{node.input(1), node.input(2)};
    operands.insert(operands.end(), sum->operands.begin(), sum->operands.end());
    if (operands.back() == kNone)
        operands.pop_back();
    sum->nodes.push_back(node.id);
    Patch patch{graph, node};
    patch.covers(inOrder(graph, std::move(sum->nodes)));
    patch.replace(node.output(), patch.add(EmbeddingNorm{norm->epsilon}, std::move(operands)));
    return patch;
}

Rewrite undoEmbeddingNorm(Graph const& graph, Node const& node)
{
    auto const* const fused = as<EmbeddingNorm>(*node.layer);
    if (fused == nullptr)
        return skip();
    TensorType const& type = graph.typeOf(node.output());
    Patch patch{graph, node};
    ValueId sum{kNone};
    for (int32_t term = 0; term < EmbeddingNorm::terms(static_cast<int32_t>(node.inputs.size())); ++term)
    {
        ValueId rows = node.input(static_cast<size_t>(EmbeddingNorm::tableOf(term)));
        ValueId const indices = node.input(static_cast<size_t>(EmbeddingNorm::indicesOf(term)));
        bool const isOther = graph.typeOf(rows).dtype != type.dtype;
        if (indices != kNone)
            rows = patch.add(Gather{}, {rows, indices});
        if (isOther)
            rows = patch.add(Cast{type.dtype}, {rows});
        sum = term == 0 ? rows : patch.add(ElementWise{ElementWiseOperation::kSUM}, {sum, rows});
    }
    std::vector<ValueId> operands{sum, node.input(EmbeddingNorm::kScale)};
    if (node.input(EmbeddingNorm::kShift) != kNone)
        operands.push_back(node.input(EmbeddingNorm::kShift));
    patch.replace(node.output(), patch.add(fused->norm(type.rank()), std::move(operands)));
    return patch;
}

} // namespace tenon::passes
