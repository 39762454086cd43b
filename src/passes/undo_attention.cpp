// undo-attention: softmax(scale · q · kᵀ + mask) · v as the layers that users write it in.
#include "layers/attention.h"
#include "layers/element_wise.h"
#include "layers/gather.h"
#include "layers/matrix_multiply.h"
#include "layers/select.h"
#include "layers/slice.h"
#include "layers/soft_max.h"
#include "layers/unary.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <limits>

namespace tenon::passes
{

namespace
{
using Matrix = nvinfer1::MatrixOperation;

AxisOrder orderOf(std::array<int32_t, 4> const& axes)
{
    AxisOrder order = kSameOrder;
    std::copy(axes.begin(), axes.end(), order.begin());
    return order;
}

//! Writes the layers of one attention.
class AttentionLayers
{
  public:
    AttentionLayers(Graph const& graph, Node const& node, Attention const& attention)
        : patch{graph, node},
          mGraph{graph},
          mNode{node},
          mAttention{attention},
          mType{graph.typeOf(node.input(0)).dtype}
    {
    }
    ValueId write()
    {
        ValueId const q = operand(0, mAttention.q);
        ValueId const k = repeated(operand(1, mAttention.k), 1, mAttention.k);
        ValueId const v = repeated(operand(2, mAttention.v), 2, mAttention.v);
        ValueId const scores =
            patch.add(MatrixMultiply{.operation1 = Matrix::kTRANSPOSE, .alpha = mAttention.scale}, {q, k});
        ValueId const weights = guarded(patch.add(SoftMax{1U << 3U}, {masked(scores)}));
        return transposed(patch.add(MatrixMultiply{}, {weights, v}), inverted(orderOf(mAttention.outputAxes)));
    }

    Patch patch;

  private:
    ValueId transposed(ValueId value, AxisOrder const& order)
    {
        return isIdentity(order) ? value : patch.add(Shuffle::transpose(order), {value});
    }
    //! [batch, heads, rows, columns] of a view.
    ValueId operand(size_t input, AttentionView const& view)
    {
        ValueId value = mNode.input(input);
        if (view.heads > 0)
        {
            Slice cut;
            cut.axes = {1, {view.axes[1]}};
            cut.start = {1, {view.firstHead}};
            cut.size = {1, {view.heads}};
            value = patch.add(cut, {value});
        }
        return transposed(value, orderOf(view.axes));
    }
    int64_t headsOf(size_t input, AttentionView const& view) const
    {
        return *viewExtents(view, mGraph.typeOf(mNode.input(input)).shape)[1].constant(); // Known: infer asks for it.
    }
    //! Each head as often as there are heads of q that read it.
    ValueId repeated(ValueId value, size_t input, AttentionView const& view)
    {
        int64_t const heads = headsOf(0, mAttention.q);
        int64_t const mine = headsOf(input, view);
        if (mine == heads)
            return value;
        HostTensor indices{DType::kINT32, {heads}};
        for (int64_t i = 0; i < heads; ++i)
            indices.setInteger(i, i * mine / heads);
        return patch.add(Gather{.gatherAxis = 1}, {value, patch.constant("heads", indices.toConstant())});
    }
    ValueId masked(ValueId scores)
    {
        ValueId const mask = mNode.input(3);
        if (mask == kNone)
            return scores;
        if (mGraph.typeOf(mask).dtype != DType::kBOOL)
            return patch.add(ElementWise{nvinfer1::ElementWiseOperation::kSUM}, {scores, mask});
        ValueId const hidden = patch.constant("hidden", splat(mType, 4, -std::numeric_limits<double>::infinity()));
        return patch.add(Select{}, {mask, scores, hidden});
    }
    //! 0 for NaN, which rows that may attend to nothing are.
    ValueId guarded(ValueId weights)
    {
        if (!mAttention.maskedRowsAreZero)
            return weights;
        ValueId const isNan = patch.add(Unary{nvinfer1::UnaryOperation::kISNAN}, {weights});
        return patch.add(Select{}, {isNan, patch.constant("zero", splat(mType, 4, 0.0)), weights});
    }

    Graph const& mGraph;
    Node const& mNode;
    Attention const& mAttention;
    DType mType;
};
} // namespace

Rewrite undoAttention(Graph const& graph, Node const& node)
{
    Attention const* const attention = as<Attention>(*node.layer);
    if (attention == nullptr)
        return skip();
    if (attention->causal != AttentionCausal::kNone)
        return skip("no other layer makes a causal mask of extents that are known at run time only");
    AttentionLayers layers{graph, node, *attention};
    ValueId const result = layers.write();
    layers.patch.replace(node.output(), result);
    return std::move(layers.patch);
}

} // namespace tenon::passes
