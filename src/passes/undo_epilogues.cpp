// undo-epilogue: the last step of an epilogue becomes layers behind the convolution or product again.
#include "layers/activation.h"
#include "layers/convolution.h"
#include "layers/deconvolution.h"
#include "layers/dequantize.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"
#include "layers/quantize.h"
#include "layers/quantized_product.h"
#include "passes/int8_products.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
using nvinfer1::ElementWiseOperation;

//! A layer without its last step, and that step.
struct Shortened
{
    LayerPtr layer;
    EpilogueStep last;
};

template <typename L>
std::optional<Shortened> shortened(Node const& node)
{
    L const* const layer = layerOf<L>(&node);
    if (layer == nullptr || layer->epilogue.empty())
        return std::nullopt;
    L less = *layer;
    EpilogueStep const last = less.epilogue.steps.back();
    less.epilogue.steps.pop_back();
    return Shortened{makeLayer(std::move(less)), last};
}

//! The same of an int8 product whose result is not rounded.
std::optional<Shortened> shortenedInt8(Node const& node)
{
    std::optional<Int8Product> product = int8ProductOf(&node);
    if (!product || product->epilogue.empty() || product->outputScale > 0.0F)
        return std::nullopt;
    EpilogueStep const last = product->epilogue.steps.back();
    product->epilogue.steps.pop_back();
    return Shortened{withProduct(node, *product), last};
}

//! The layers of one step on `x`, of the type given.
class StepLayers
{
  public:
    StepLayers(Patch& patch, TensorType const& type)
        : mPatch{patch},
          mType{type}
    {
    }
    ValueId add(EpilogueStep const& step, ValueId x, ValueId extra)
    {
        if (step.kind == EpilogueKind::kRound)
            return dequantized(quantized(x, step.alpha), step.alpha);
        if (step.kind == EpilogueKind::kAdd)
            return combine(ElementWiseOperation::kSUM, x, extra);
        if (step.kind == EpilogueKind::kMultiply)
            return combine(ElementWiseOperation::kPROD, x, extra);
        EpilogueFunction const* const function = epilogueFunction(step.kind);
        if (function == nullptr) // kLinear.
            return shifted(step.alpha == 1.0F ? x : combine(ElementWiseOperation::kPROD, x, number(step.alpha)),
                step.beta, step.alpha == 1.0F);
        ValueId const y = mPatch.add(Activation{function->layer, step.alpha, step.beta}, {x});
        return function->isGate ? combine(ElementWiseOperation::kPROD, x, y) : y;
    }
    ValueId dequantized(ValueId x, float scale)
    {
        Dequantize layer;
        layer.axis = kOneScale;
        layer.toType = mType.dtype;
        return mPatch.add(layer, {x, mPatch.constant("scale", splat(DType::kFLOAT, 0, scale))});
    }

  private:
    ValueId quantized(ValueId x, float scale)
    {
        Quantize layer;
        layer.axis = kOneScale;
        return mPatch.add(layer, {x, mPatch.constant("scale", splat(DType::kFLOAT, 0, scale))});
    }
    ValueId combine(ElementWiseOperation operation, ValueId a, ValueId b)
    {
        return mPatch.add(ElementWise{operation}, {a, b});
    }
    //! `isNeeded`: something must stand for the step.
    ValueId shifted(ValueId x, float beta, bool isNeeded)
    {
        return beta == 0.0F && !isNeeded ? x : combine(ElementWiseOperation::kSUM, x, number(beta));
    }
    ValueId number(float value)
    {
        return mPatch.constant(fmt::format("{}", value), splat(mType.dtype, mType.shape.size(), value));
    }

    Patch& mPatch;
    TensorType const& mType;
};
} // namespace

Rewrite undoEpilogue(Graph const& graph, Node const& node)
{
    std::optional<Shortened> less = shortened<Convolution>(node);
    if (!less)
        less = shortened<Deconvolution>(node);
    if (!less)
        less = shortened<MatrixMultiply>(node);
    if (!less)
        less = shortenedInt8(node);
    if (!less)
        return skip();
    bool const takesExtra = less->last.kind == EpilogueKind::kAdd || less->last.kind == EpilogueKind::kMultiply;
    std::vector<ValueId> inputs = node.inputs;
    ValueId extra{kNone};
    if (takesExtra)
    {
        extra = inputs.back();
        inputs.pop_back();
    }
    while (!inputs.empty() && inputs.back() == kNone)
        inputs.pop_back();
    Patch patch{graph, node};
    StepLayers layers{patch, graph.typeOf(node.output())};
    ValueId const x = patch.add(less->layer, std::move(inputs));
    if (extra != kNone && isQuantizedType(graph.typeOf(extra).dtype))
        extra = layers.dequantized(extra, less->last.alpha);
    patch.replace(node.output(), layers.add(less->last, x, extra));
    return patch;
}

} // namespace tenon::passes
