// ShapeBuilder: the IExprBuilder that plugins write the extents of their outputs with.
#pragma once

#include "plugins/plugin.h"

#include <deque>
#include <mutex>

namespace tenon::plugins
{

class AskedBuilder;
class ShapeBuilder;

class DimensionExpr final : public nvinfer1::IDimensionExpr, public nvinfer1::apiv::VDimensionExpr
{
  public:
    DimensionExpr(ShapeBuilder const& builder, ShapeExpr value, bool isSizeTensor);

    ShapeExpr const& value() const noexcept
    {
        return mValue;
    }
    ShapeBuilder const* builder() const noexcept
    {
        return mBuilder;
    }
    //! Ends its life: it is no constant and no size tensor any more, and belongs to no builder.
    void retire() noexcept;
    bool isConstant() const noexcept override;
    int64_t getConstantValue() const noexcept override;
    bool isSizeTensor() const noexcept override;

  private:
    ShapeBuilder const* mBuilder;
    ShapeExpr mValue;
    bool mIsSizeTensor;
};

//! Lives as long as one call of the plugin; so do the expressions that it makes (K12). Those of the latest calls stay
//! readable, but as what they no longer are: a plugin that kept one meets an error instead of foreign memory. The
//! IExprBuilders that plugins see are never freed: the public Python bindings of 10.9 ask the one of an earlier call,
//! so in a thread that asks a plugin each stands for that thread's latest call; elsewhere, in a thread of the plugin's
//! own, for the call that it was given to.
class ShapeBuilder final
{
  public:
    //! `dataExtent` may be empty: then size tensors are refused.
    ShapeBuilder(int32_t outputs, DataExtent dataExtent);
    ~ShapeBuilder();
    ShapeBuilder(ShapeBuilder const&) = delete;
    ShapeBuilder& operator=(ShapeBuilder const&) = delete;

    nvinfer1::DimsExprs exprs(Shape const& shape);
    //! The shape that a plugin wrote; an error when an expression is not one of this builder's.
    Result<Shape> shapeOf(nvinfer1::DimsExprs const& dims) const;
    //! Those of all outputs, with the size tensors that were declared; an error names the output and the call.
    Result<OutputShapes> shapesOf(std::span<nvinfer1::DimsExprs const> outputs, std::string const& call) const;
    //! Size tensors may be declared once more, by another call.
    void forgetSizeTensors() noexcept;
    //! What went wrong inside a call that can only answer null.
    std::string const& problem() const noexcept
    {
        return mProblem;
    }

    nvinfer1::IDimensionExpr const* constant(int64_t value) noexcept;
    nvinfer1::IDimensionExpr const* operation(nvinfer1::DimensionOperation op, nvinfer1::IDimensionExpr const& first,
        nvinfer1::IDimensionExpr const& second) noexcept;
    nvinfer1::IDimensionExpr const* declareSizeTensor(
        int32_t outputIndex, nvinfer1::IDimensionExpr const& opt, nvinfer1::IDimensionExpr const& upper) noexcept;

    //! What the plugin is given.
    nvinfer1::IExprBuilder& asked() const noexcept;

  private:
    DimensionExpr const* own(ShapeExpr value, bool isSizeTensor = false);
    DimensionExpr const* known(nvinfer1::IDimensionExpr const* expr) const noexcept;
    Result<DimensionExpr const*> declare(
        int32_t outputIndex, nvinfer1::IDimensionExpr const& opt, nvinfer1::IDimensionExpr const& upper);
    bool dependsOnSize(ShapeExpr const& expr) const;

    ShapeBuilder* mOuter; //!< The thread's latest before this one.
    AskedBuilder* mAsked;
    mutable std::mutex mMutex; //!< Of what follows, which threads of the plugin may ask for.
    int32_t mOutputs;
    DataExtent mDataExtent;
    std::deque<DimensionExpr> mExprs;
    std::vector<int32_t> mSizeOutputs;
    std::vector<ShapeExpr> mSizeOptima;
    std::vector<int32_t> mSizeSymbols;
    std::string mProblem;
};

} // namespace tenon::plugins
