// undo-pointwise: a region becomes one layer per operation of its expression again.
#include "ir/evaluate.h"
#include "layers/activation.h"
#include "layers/cast.h"
#include "layers/element_wise.h"
#include "layers/pointwise.h"
#include "layers/select.h"
#include "layers/unary.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

//! Whether the layer on inputs 0, 1, … is the operation and nothing else.
bool isMeantBy(ExprOp op, Layer const& layer, int32_t count)
{
    std::optional<Expr> const body = layer.body(count);
    return body && body->nodes.back().op == op && body->nodes.size() == static_cast<size_t>(count) + 1;
}

//! The layer whose meaning is one operation; none when only a region can say it.
LayerPtr layerOfOperation(ExprNode const& node)
{
    if (node.op == ExprOp::kCast)
        return makeLayer(Cast{node.dtype});
    if (node.op == ExprOp::kSelect)
        return makeLayer(Select{});
    auto const search = [&](auto make, auto last, int32_t count) -> LayerPtr {
        for (int32_t i = 0; i <= static_cast<int32_t>(last); ++i)
            if (LayerPtr layer = makeLayer(make(static_cast<decltype(last)>(i))); isMeantBy(node.op, *layer, count))
                return layer;
        return nullptr;
    };
    if (operandCount(node.op) == 2)
        return search([](auto op) { return ElementWise{op}; }, ElementWiseOperation::kLESS, 2);
    if (LayerPtr layer = search([](auto op) { return Unary{op}; }, UnaryOperation::kISNAN, 1))
        return layer;
    return search([](auto op) { return Activation{op}; }, ActivationType::kTANH, 1);
}

//! The operation alone, as a region.
Expr alone(ExprNode node)
{
    Expr expr;
    for (int32_t* operand : {&node.a, &node.b, &node.c})
        if (*operand >= 0)
        {
            expr.nodes.push_back(Expr::input(static_cast<int32_t>(expr.nodes.size())).nodes.front());
            *operand = static_cast<int32_t>(expr.nodes.size()) - 1;
        }
    expr.nodes.push_back(node);
    return expr;
}

class Operations
{
  public:
    Operations(Graph const& graph, Node const& node, Expr const& expr)
        : mNode{node},
          mExpr{expr},
          patch{graph, node}
    {
        for (ValueId const input : node.inputs)
            mInputs.push_back(input == kNone ? nullptr : &graph.typeOf(input));
        mRank = graph.typeOf(node.output()).shape.size();
    }

    //! An error where the expression has no types, which its node would not have either.
    Result<ValueId> write(SymbolTable const& symbols)
    {
        mTypes = TENON_TRY(typesOf(mExpr, mInputs, &symbols));
        for (size_t i = 0; i < mExpr.nodes.size(); ++i)
            mValues.push_back(valueOf(mExpr.nodes[i], mTypes[i]));
        return mValues.back();
    }

  private:
    ValueId valueOf(ExprNode const& node, TensorType const& type)
    {
        if (node.op == ExprOp::kInput)
            return mNode.input(static_cast<size_t>(node.index));
        if (node.op == ExprOp::kConstant)
            return patch.constant(fmt::format("{}", node.value), splat(type.dtype, mRank, node.value));
        std::vector<ValueId> operands;
        std::vector<TensorType> types;
        for (int32_t const operand : {node.a, node.b, node.c})
            if (operand >= 0)
            {
                operands.push_back(mValues[static_cast<size_t>(operand)]);
                types.push_back(mTypes[static_cast<size_t>(operand)]);
                if (types.back().shape.empty())
                    types.back().shape.assign(mRank, ShapeExpr{1}); // Of constants.
            }
        LayerPtr layer = layerOfOperation(node);
        bool const isPlain = layer != nullptr && gives(*layer, types, type.dtype);
        plain += isPlain ? 1 : 0;
        return patch.add(isPlain ? std::move(layer) : makeLayer(Pointwise{alone(node)}), std::move(operands));
    }

    //! Whether the layer takes such operands: what it takes is often less than what expressions can say.
    static bool gives(Layer const& layer, std::vector<TensorType> const& operands, DType type)
    {
        std::vector<Input> inputs;
        for (TensorType const& operand : operands)
            inputs.push_back({.type = &operand});
        Result<std::vector<TensorType>> const made = layer.infer(Inputs{std::move(inputs), "?"});
        return made && made->front().dtype == type;
    }

    Node const& mNode;
    Expr const& mExpr;
    ExprTypes mInputs;
    std::vector<TensorType> mTypes;
    std::vector<ValueId> mValues; //!< By node of the expression.
    size_t mRank{0};

  public:
    Patch patch;
    int32_t plain{0}; //!< Operations that are layers of their own.
};
} // namespace

Rewrite undoPointwise(Graph const& graph, Node const& node)
{
    Pointwise const* const region = as<Pointwise>(*node.layer);
    if (region == nullptr)
        return skip();
    auto const isOperation = [](ExprNode const& each) { return operandCount(each.op) > 0; };
    auto const operations = std::ranges::count_if(region->expr.nodes, isOperation);
    if (region->expr.hasReduction() || operations == 0)
        return skip("its expression is no sequence of layers");
    Operations layers{graph, node, region->expr};
    Result<ValueId> const result = layers.write(graph.symbols());
    if (!result)
        return skip(result.error().message);
    if (operations == 1 && layers.plain == 0)
        return skip("no other layer is the operation");
    layers.patch.replace(node.output(), *result);
    return std::move(layers.patch);
}

} // namespace tenon::passes
