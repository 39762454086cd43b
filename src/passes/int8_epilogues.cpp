// Rules that move what follows an int8 product into it: open-int8-product, fuse-int8-sum, close-int8-product.
#include "layers/activation.h"
#include "layers/concatenation.h"
#include "layers/convolution.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/pooling.h"
#include "layers/quantized_product.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "passes/int8_products.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
using Op = nvinfer1::ElementWiseOperation;

bool isSum(Node const& node)
{
    auto const* layer = as<ElementWise>(*node.layer);
    return layer != nullptr && layer->operation == Op::kSUM;
}

//! An int8 product, dequantized by the scale that it rounds to, that nothing else reads.
Node const* closedProduct(Graph const& graph, Dequantized const& x)
{
    Node const* const producer = graph.producerOf(x.source);
    std::optional<Int8Product> const product = int8ProductOf(producer);
    return product && product->outputScale == x.scale && product->outputZero == x.zeroPoint
            && x.narrowType == DType::kINT8 && isReadOnce(graph, x.source) && isReadOnce(graph, x.node->output())
        ? producer
        : nullptr;
}

//! Of two products that meet in a sum the later one takes it: the other's result exists by then.
bool takesSum(Graph const& graph, Node const& sum, ValueId mine, Node const& producer)
{
    ValueId const other = sum.input(0) == mine ? sum.input(1) : sum.input(0);
    if (other == mine || graph.constantOf(other) != nullptr || graph.typeOf(other) != graph.typeOf(mine))
        return false;
    if (isOpenProduct(graph, other))
        return false;
    std::optional<Dequantized> const x = dequantizedBy(graph, other);
    Node const* const rival = x ? closedProduct(graph, *x) : nullptr;
    return rival == nullptr || graph.order().isBefore(rival->id, producer.id);
}

//! Whether the only reader of a dequantized value works on real numbers: one on int8 numbers reads those.
bool wantsReals(Graph const& graph, ValueId value, Node const& producer)
{
    Node const* const reader = onlyReader(graph, value);
    if (reader == nullptr)
        return graph.isOutput(value);
    Layer const& layer = *reader->layer;
    if (isSum(*reader))
        return takesSum(graph, *reader, value, producer);
    if (as<Activation>(layer) != nullptr)
        return true;
    auto const* pooling = as<Pooling>(layer);
    bool const isView = as<Shuffle>(layer) != nullptr || as<Slice>(layer) != nullptr
        || as<Concatenation>(layer) != nullptr
        || (pooling != nullptr && pooling->poolingType == nvinfer1::PoolingType::kMAX);
    bool const isProduct =
        as<Convolution>(layer) != nullptr || as<MatrixMultiply>(layer) != nullptr || int8ProductOf(reader).has_value();
    // Pointwise layers become one pass, which reads int8 numbers as well.
    return !isView && !isProduct && !pointwiseBody(graph, *reader) && reader->layer->bodies().empty();
}

//! Keeps order, and 0, which stands for what is no number once it is rounded.
bool keepsOrder(EpilogueStep const& step)
{
    return step.kind == EpilogueKind::kRelu
        || (step.kind == EpilogueKind::kClip && step.alpha <= 0.0F && step.beta >= 0.0F);
}

//! Rounding to the scale of the result changes nothing in what is rounded to it later, also behind what keeps order,
//! unless it ends at numbers that the later one, whose zero point moves its ends, goes beyond.
void dropRounding(Epilogue& epilogue, float scale, int32_t zeroPoint)
{
    bool isKeptAbove = zeroPoint >= 0;
    bool isKeptBelow = zeroPoint <= 0;
    auto last = epilogue.steps.end();
    for (; last != epilogue.steps.begin() && keepsOrder(*std::prev(last)); --last)
    {
        EpilogueStep const& step = *std::prev(last);
        bool const isClip = step.kind == EpilogueKind::kClip;
        isKeptAbove = isKeptAbove || (isClip && step.beta <= 127.0F * scale);
        isKeptBelow = isKeptBelow || !isClip || step.alpha >= -128.0F * scale;
    }
    if (isKeptAbove && isKeptBelow && last != epilogue.steps.begin() && std::prev(last)->kind == EpilogueKind::kRound
        && std::prev(last)->alpha == scale)
        epilogue.steps.erase(std::prev(last));
}
} // namespace

Rewrite openInt8Product(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<Dequantized> const x =
        node.outputs.size() == 1 && limits.int8Steps > 0 ? dequantizedBy(graph, node.output()) : std::nullopt;
    if (x && x->zeroPoint != 0)
        return skip("a rounding in the middle has no zero point");
    Node const* const producer = x ? closedProduct(graph, *x) : nullptr;
    if (producer == nullptr || !limits.quantizedResults.has(x->realType)
        || !wantsReals(graph, node.output(), *producer))
        return skip();
    Int8Product product = *int8ProductOf(producer);
    if (product.epilogue.steps.size() + 1 >= limits.int8Steps)
        return skip("the epilogue is full");
    product.epilogue.steps.push_back({EpilogueKind::kRound, product.outputScale});
    product.outputScale = 0.0F;
    product.realType = x->realType;
    Patch patch{graph, node};
    patch.covers({producer->id, node.id});
    patch.replace(node.output(), patch.add(withProduct(*producer, product), producer->inputs));
    return patch;
}

Rewrite fuseInt8Sum(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    if (!isSum(node) || limits.int8Steps == 0 || graph.typeOf(node.input(0)) != graph.typeOf(node.input(1))
        || node.input(0) == node.input(1))
        return skip();
    std::optional<size_t> best;
    for (size_t i = 0; i < 2; ++i)
        if (isOpenProduct(graph, node.input(i)) && graph.constantOf(node.input(1 - i)) == nullptr)
            if (!best
                || graph.order().isBefore(graph.producerOf(node.input(*best))->id, graph.producerOf(node.input(i))->id))
                best = i;
    if (!best)
        return skip();
    Node const& producer = *graph.producerOf(node.input(*best));
    Int8Product product = *int8ProductOf(&producer);
    if (product.epilogue.steps.size() >= limits.int8Steps)
        return skip("the epilogue is full");
    ValueId extra = node.input(1 - *best);
    EpilogueStep step{EpilogueKind::kAdd};
    float shift{0.0F};
    std::optional<Dequantized> const other = dequantizedBy(graph, extra);
    bool const isRoom = product.epilogue.steps.size() + 1 < limits.int8Steps;
    if (other && graph.constantOf(other->source) == nullptr && (other->zeroPoint == 0 || isRoom)
        && other->narrowType == graph.typeOf(producer.input(0)).dtype)
    {
        extra = other->source;
        step.alpha = other->scale;
        shift = -other->scale * static_cast<float>(other->zeroPoint);
    }
    product.epilogue.steps.push_back(step);
    if (shift != 0.0F)
        product.epilogue.steps.push_back({EpilogueKind::kLinear, 1.0F, shift});
    std::vector<ValueId> inputs = producer.inputs;
    inputs.push_back(extra);
    Patch patch{graph, node};
    patch.covers({producer.id, node.id});
    patch.replace(node.output(), patch.add(withProduct(producer, product), std::move(inputs)));
    return patch;
}

Rewrite closeInt8Product(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    std::optional<Quantizing> const by = limits.int8Steps > 0 ? quantizingBy(graph, node) : std::nullopt;
    if (!by || !isOpenProduct(graph, node.input(0)))
        return skip();
    if (by->zeroPoint != 0 && limits.quantizedGrain != 0)
        return skip("the device knows no zero points");
    Node const& producer = *graph.producerOf(node.input(0));
    if (graph.typeOf(node.output()).dtype != graph.typeOf(producer.input(0)).dtype)
        return skip("it quantizes to another type than that of the operands");
    Int8Product product = *int8ProductOf(&producer);
    dropRounding(product.epilogue, by->scale, by->zeroPoint);
    product.outputScale = by->scale;
    product.outputZero = by->zeroPoint;
    Patch patch{graph, node};
    patch.covers({producer.id, node.id});
    patch.replace(node.output(), patch.add(withProduct(producer, product), producer.inputs));
    return patch;
}

} // namespace tenon::passes
