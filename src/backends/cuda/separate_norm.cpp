// SeparateNorm: the kernels one after the other.
#include "backends/cuda/separate_norm.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr size_t kGrainOfScratch{256};

class SeparateSteps final : public CudaPrepared
{
  public:
    explicit SeparateSteps(SeparateKernels kernels)
        : mKernels{std::move(kernels)},
          mBytes{(mKernels.normalizedBytes + kGrainOfScratch - 1) / kGrainOfScratch * kGrainOfScratch}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mBytes + mKernels.product->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        Call const& call = at.call;
        std::array<void const*, kSeparateOperands> operands{};
        std::copy_n(call.inputs, mKernels.operands, operands.begin());
        if (mKernels.norm != nullptr)
        {
            std::array<void const*, kSeparateOperands> read{};
            std::ranges::transform(mKernels.ofNorm, read.begin(), [&](size_t input) { return call.inputs[input]; });
            void* normalized = call.scratch;
            Call const norm{.inputs = read.data(), .outputs = &normalized};
            TENON_TRY(cudaPrepared(*mKernels.norm).launch(at.with(norm)));
            operands[mKernels.ofNorm.front()] = normalized;
        }
        Call const product{
            .inputs = operands.data(), .outputs = call.outputs, .scratch = static_cast<char*>(call.scratch) + mBytes};
        TENON_TRY(cudaPrepared(*mKernels.product).launch(at.with(product)));
        return mKernels.moments == nullptr ? Result<Done>{Done{}} : cudaPrepared(*mKernels.moments).launch(at);
    }

  private:
    SeparateKernels mKernels;
    size_t mBytes;
};
} // namespace

std::shared_ptr<Prepared const> separateSteps(SeparateKernels kernels)
{
    return std::make_shared<SeparateSteps>(std::move(kernels));
}

} // namespace tenon::cuda
