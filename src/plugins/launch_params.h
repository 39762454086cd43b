// LaunchParams and KernelArguments: what a plugin fills in to say how its compiled kernel is launched. Values are taken
// over at once: expressions and their holders live no longer than the call that sets them.
#pragma once

#include "plugins/shape_builder.h"

#include "impl/NvInferPythonPlugin.h"

#include <array>

namespace tenon::plugins
{

//! The value of a symbolic number; an error when it is none of this builder's.
Result<ShapeExpr> valueOf(ShapeBuilder const& builder, nvinfer1::ISymExpr* number);

class LaunchParams final : public nvinfer1::IKernelLaunchParams, public nvinfer1::IKernelLaunchParamsImpl
{
  public:
    explicit LaunchParams(ShapeBuilder const& builder);

    //! Grid, block, shared memory; 1, 1 and 0 where nothing was set.
    std::array<ShapeExpr, 7> const& values() const noexcept
    {
        return mValues;
    }
    std::string const& problem() const noexcept
    {
        return mProblem;
    }

    nvinfer1::ISymExpr* getGridX() noexcept override;
    bool setGridX(nvinfer1::ISymExpr* gridX) noexcept override;
    nvinfer1::ISymExpr* getGridY() noexcept override;
    bool setGridY(nvinfer1::ISymExpr* gridY) noexcept override;
    nvinfer1::ISymExpr* getGridZ() noexcept override;
    bool setGridZ(nvinfer1::ISymExpr* gridZ) noexcept override;
    nvinfer1::ISymExpr* getBlockX() noexcept override;
    bool setBlockX(nvinfer1::ISymExpr* blockX) noexcept override;
    nvinfer1::ISymExpr* getBlockY() noexcept override;
    bool setBlockY(nvinfer1::ISymExpr* blockY) noexcept override;
    nvinfer1::ISymExpr* getBlockZ() noexcept override;
    bool setBlockZ(nvinfer1::ISymExpr* blockZ) noexcept override;
    nvinfer1::ISymExpr* getSharedMem() noexcept override;
    bool setSharedMem(nvinfer1::ISymExpr* sharedMem) noexcept override;

  private:
    bool set(size_t index, nvinfer1::ISymExpr* value) noexcept;

    ShapeBuilder const& mBuilder;
    std::array<nvinfer1::ISymExpr*, 7> mGiven{};
    std::array<ShapeExpr, 7> mValues{1, 1, 1, 1, 1, 1, 0};
    std::string mProblem;
};

class KernelArguments final : public nvinfer1::ISymExprs, public nvinfer1::ISymExprsImpl
{
  public:
    explicit KernelArguments(ShapeBuilder const& builder);

    //! An error when one was left out.
    Result<std::vector<ShapeExpr>> values() const;

    nvinfer1::ISymExpr* getSymExpr(int32_t index) const noexcept override;
    bool setSymExpr(int32_t index, nvinfer1::ISymExpr* symExpr) noexcept override;
    int32_t getNbSymExprs() const noexcept override;
    bool setNbSymExprs(int32_t count) noexcept override;

  private:
    ShapeBuilder const& mBuilder;
    std::vector<nvinfer1::ISymExpr*> mGiven;
    std::vector<ShapeExpr> mValues;
    std::string mProblem;
};

} // namespace tenon::plugins
