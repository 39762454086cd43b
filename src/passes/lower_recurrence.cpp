// lower-recurrence: recurrent networks on top of each other become one layer each, steps in front, with transposes
// between.
#include "layers/concatenation.h"
#include "layers/gather.h"
#include "layers/shuffle.h"
#include "layers/stacked_recurrence.h"
#include "passes/rules.h"

#include <algorithm>

namespace tenon::passes
{

namespace
{
constexpr AxisOrder kSwapFront{1, 0, 2, 3, 4, 5, 6, 7};
constexpr AxisOrder kSwapMiddle{0, 2, 1, 3, 4, 5, 6, 7};

//! A reshape, then a transpose.
Shuffle reshapeThen(std::vector<int64_t> const& extents, AxisOrder const& order = kSameOrder)
{
    Shuffle shuffle = Shuffle::reshape(extents);
    shuffle.secondTranspose = order;
    return shuffle;
}

//! Writes the layers of one stack.
class Stack
{
  public:
    Stack(Graph const& graph, Node const& node, StackedRecurrence const& layer)
        : mNode{node},
          mLayer{layer},
          mOne{layer.network()},
          mPatch{graph, node}
    {
        Shape const& x = graph.typeOf(node.input(StackedRecurrence::kX)).shape;
        mFront = {x.begin(), x.end() - 2};
        mSteps = x[x.size() - 2];
        mInputs = x.back();
        mHidden = *graph.typeOf(node.input(layer.weights(0) + 1)).shape[2].constant();
    }
    //! The axes in front of the steps can be joined to one, and parted again.
    bool isWritable() const
    {
        int32_t unknown{0};
        for (ShapeExpr const& extent : mFront)
            unknown += extent.isConstant() ? 0 : 1;
        bool const isEmpty = std::ranges::count(mFront, ShapeExpr{0}) > 0;
        return mFront.size() == 1 || (unknown <= 1 && !isEmpty && isAbove0(mSteps) && isAbove0(mInputs));
    }
    Patch write()
    {
        ValueId running = entered();
        std::vector<std::vector<ValueId>> last(2);
        for (int32_t layer = 0; layer < mLayer.layers; ++layer)
        {
            ValueId const first = mPatch.add(mOne, operandsOf(layer, running), static_cast<size_t>(mOne.outputs()));
            Shuffle side; // [steps, ways, batch, hidden] becomes [steps, batch, ways · hidden].
            side.firstTranspose = kSwapMiddle;
            side.reshapeDimensions = nvinfer1::Dims{3, {0, 0, mOne.directions() * mHidden}};
            running = mPatch.add(std::move(side), {first});
            for (size_t i = 1; i < static_cast<size_t>(mOne.outputs()); ++i)
                last[i - 1].push_back(Patch::outputOf(first, i));
        }
        mPatch.replace(mNode.outputs[0], left(running, {mSteps, ShapeExpr{mOne.directions() * mHidden}}));
        for (size_t i = 1; i < static_cast<size_t>(mOne.outputs()); ++i)
        {
            ValueId const all =
                last[i - 1].size() == 1 ? last[i - 1].front() : mPatch.add(Concatenation{0}, last[i - 1]);
            mPatch.replace(
                mNode.outputs[i], left(all, {ShapeExpr{mLayer.layers * mOne.directions()}, ShapeExpr{mHidden}}));
        }
        return std::move(mPatch);
    }

  private:
    static bool isAbove0(ShapeExpr const& extent)
    {
        return extent.constant().value_or(0) > 0;
    }
    //! [any…, steps, inputs] as [steps, batch, inputs].
    ValueId entered()
    {
        ValueId const x = mNode.input(StackedRecurrence::kX);
        if (mFront.size() == 1)
            return mPatch.add(Shuffle::transpose(kSwapFront), {x});
        return mPatch.add(reshapeThen({-1, *mSteps.constant(), *mInputs.constant()}, kSwapFront), {x});
    }
    //! [a, batch, b] as [any…, a, b].
    ValueId left(ValueId value, Shape const& rest)
    {
        Shuffle shuffle = Shuffle::transpose(kSwapFront);
        if (mFront.size() != 1)
        {
            std::vector<int64_t> extents;
            for (ShapeExpr const& extent : mFront)
                extents.push_back(extent.constant().value_or(-1));
            for (ShapeExpr const& extent : rest)
                extents.push_back(*extent.constant());
            shuffle.reshapeDimensions = Shuffle::reshape(extents).reshapeDimensions;
        }
        return mPatch.add(std::move(shuffle), {value});
    }
    std::vector<ValueId> operandsOf(int32_t layer, ValueId running)
    {
        auto const given = [&](int32_t i) { return mNode.input(static_cast<size_t>(i)); };
        int32_t const first = mLayer.weights(layer);
        std::vector<ValueId> operands{running, given(first), given(first + 1), given(first + 2)};
        ValueId lengths = given(StackedRecurrence::kLengths);
        if (lengths != kNone && mFront.size() != 1)
            lengths = mPatch.add(Shuffle::reshape({-1}), {lengths});
        operands.push_back(lengths);
        operands.push_back(stateOf(given(StackedRecurrence::kFirstHidden), layer));
        operands.push_back(stateOf(given(StackedRecurrence::kFirstCell), layer));
        while (operands.back() == kNone)
            operands.pop_back();
        return operands;
    }
    //! The layer's part of [any…, layers · ways, hidden] as [ways, batch, hidden].
    ValueId stateOf(ValueId states, int32_t layer)
    {
        if (states == kNone)
            return kNone;
        ValueId const all = mFront.size() == 1
            ? mPatch.add(Shuffle::transpose(kSwapFront), {states})
            : mPatch.add(reshapeThen({-1, mLayer.layers * mOne.directions(), mHidden}, kSwapFront), {states});
        if (mLayer.layers == 1)
            return all;
        std::vector<int32_t> which;
        for (int64_t way = 0; way < mOne.directions(); ++way)
            which.push_back(static_cast<int32_t>(layer * mOne.directions() + way));
        ValueId const rows = mPatch.constant(
            "rows of states", makeConstant(DType::kINT32, {static_cast<int64_t>(which.size())}, which.data()));
        return mPatch.add(Gather{}, {all, rows});
    }

    Node const& mNode;
    StackedRecurrence const& mLayer;
    RecurrentNetwork mOne;
    Patch mPatch;
    Shape mFront;
    ShapeExpr mSteps;
    ShapeExpr mInputs;
    int64_t mHidden{0};
};
} // namespace

Rewrite lowerRecurrence(Graph const& graph, Node const& node)
{
    auto const* layer = as<StackedRecurrence>(*node.layer);
    if (layer == nullptr)
        return skip();
    Stack stack{graph, node, *layer};
    if (!stack.isWritable())
        return skip("the axes in front of the steps cannot be joined: more than one extent is not known");
    return stack.write();
}

} // namespace tenon::passes
