// GemmEpilogue: a layer's epilogue arranged for Gemm: what fits into the tile's last pass over its registers, then
// steps.
#pragma once

#include "backends/cpu/gemm.h"
#include "backends/cpu/layer_kernel.h"
#include "device/kernel.h"

#include <array>
#include <numeric>

namespace tenon::cpu
{

inline constexpr size_t kMaxSteps{8};

//! Steps bound to the addresses of one run, where tensors are stored as T.
template <typename T>
struct BoundEpilogue
{
    T const* residual{nullptr};
    int64_t residualStride{0};
    float low;
    float high;
    std::array<GemmStep<T>, kMaxSteps> steps;
    int64_t stepCount{0};

    //! Makes row `rows` the first one.
    void advance(int64_t rows) noexcept
    {
        if (residual != nullptr)
            residual += rows * residualStride;
        for (int64_t i = 0; i < stepCount; ++i)
        {
            GemmStep<T>& step = steps[static_cast<size_t>(i)];
            if (step.rowOffsets != nullptr)
                step.rowOffsets += rows;
            else if (step.extra != nullptr)
                step.extra += rows * step.rowStride;
        }
    }
    //! Makes column `columns` the first one.
    void advanceColumns(int64_t columns) noexcept
    {
        if (residual != nullptr)
            residual += columns;
        for (int64_t i = 0; i < stepCount; ++i)
        {
            GemmStep<T>& step = steps[static_cast<size_t>(i)];
            if (step.extra != nullptr)
                step.extra += columns * step.columnStride;
        }
    }
    template <typename Work>
    void putInto(Work& work) const noexcept
    {
        work.residual = residual;
        work.residualStride = residualStride;
        work.low = low;
        work.high = high;
        work.steps = steps.data();
        work.stepCount = stepCount;
    }
};

class GemmEpilogue
{
  public:
    //! `axes`: the output's axes in memory order; the last of them are the columns, the others make the rows.
    static Result<GemmEpilogue> make(Epilogue const& epilogue, size_t firstExtra, std::span<TensorArg const> inputs,
        TensorArg const& output, std::vector<int32_t> const& axes);
    //! T: what the output, and so every operand, is stored as.
    template <typename T>
    BoundEpilogue<T> bind(Call const& call) const noexcept
    {
        BoundEpilogue<T> bound;
        bound.low = mLow;
        bound.high = mHigh;
        if (mHasResidual)
        {
            bound.residual = static_cast<T const*>(call.inputs[mResidualInput]);
            bound.residualStride = mResidualStride;
        }
        for (size_t i = 0; i < mSteps.size(); ++i)
        {
            static_cast<StepForm&>(bound.steps[i]) = mSteps[i];
            if (takesExtra(mSteps[i].kind))
                bound.steps[i].extra = static_cast<T const*>(call.inputs[mInputs[i]]);
            if (!mOffsets[i].empty())
                bound.steps[i].rowOffsets = mOffsets[i].data();
        }
        bound.stepCount = static_cast<int64_t>(mSteps.size());
        return bound;
    }

  private:
    static bool takesExtra(EpilogueKind kind) noexcept
    {
        return kind == EpilogueKind::kAdd || kind == EpilogueKind::kMultiply;
    }
    Result<Done> addExtra(
        StepForm& step, TensorArg const& extra, TensorArg const& output, std::vector<int32_t> const& axes);

    bool mHasResidual{false};
    size_t mResidualInput{0};
    int64_t mResidualStride{0};
    float mLow{0.0F};
    float mHigh{0.0F};
    std::vector<StepForm> mSteps;
    std::vector<size_t> mInputs; //!< Of each step.
    std::vector<std::vector<int32_t>> mOffsets;
};

//! Axes of images with so many axes in channels-last order.
inline std::vector<int32_t> pixelAxes(size_t rank)
{
    std::vector<int32_t> axes(rank, 1);
    axes.front() = 0;
    std::iota(axes.begin() + 1, axes.end() - 1, 2);
    return axes;
}
//! Axes in row-major order.
inline std::vector<int32_t> plainAxes(size_t rank)
{
    std::vector<int32_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

//! (output 0, input i) when the first step adds input i, which then may become the output.
std::vector<std::pair<int32_t, int32_t>> inPlaceOf(Problem const& problem, Epilogue const& epilogue, size_t firstExtra);

} // namespace tenon::cpu
