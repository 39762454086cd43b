// EpilogueRest: one pointwise kernel over the output, in place.
#include "backends/cuda/epilogue.h"
#include "backends/cuda/pointwise.h"

#include <array>

namespace tenon::cuda
{

namespace
{
//! A step of two kernels, the second over what the first has written.
class FinishedStep final : public CudaPrepared
{
  public:
    FinishedStep(
        std::shared_ptr<Prepared const> kernel, std::shared_ptr<Prepared const> rest, std::vector<size_t> operands)
        : mKernel{std::move(kernel)},
          mRest{std::move(rest)},
          mOperands{std::move(operands)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mKernel->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        TENON_TRY(cudaPrepared(*mKernel).launch(at));
        std::array<void const*, kMaxOperands> inputs{at.call.outputs[0]};
        for (size_t i = 0; i < mOperands.size(); ++i)
            inputs[1 + i] = at.call.inputs[mOperands[i]];
        Call const call{.inputs = inputs.data(), .outputs = at.call.outputs};
        return cudaPrepared(*mRest).launch(at.with(call));
    }

  private:
    std::shared_ptr<Prepared const> mKernel;
    std::shared_ptr<Prepared const> mRest;
    std::vector<size_t> mOperands; //!< Inputs of the step that the rest reads.
};

//! Input 2 as a tensor that broadcasts along all axes but 1.
TensorArg biasAlongMaps(TensorArg bias, TensorArg const& out)
{
    std::vector<int64_t> extents(out.extents.size(), 1);
    extents[1] = out.extents[1];
    bias.extents = std::move(extents);
    return bias;
}
} // namespace

Result<std::shared_ptr<Prepared const>> withRest(CudaDevice const& device, std::shared_ptr<Prepared const> kernel,
    EpilogueRest const& rest, std::span<TensorArg const> inputs, TensorArg const& out)
{
    if (rest.empty())
        return kernel;
    std::vector<TensorArg> operands{out};
    std::vector<size_t> positions;
    Expr x = Expr::input(0);
    auto const read = [&](size_t position, TensorArg arg) {
        positions.push_back(position);
        operands.push_back(std::move(arg));
        return Expr::input(static_cast<int32_t>(operands.size() - 1));
    };
    if (rest.leavesBias)
        x = x + read(2, biasAlongMaps(inputs[2], out));
    size_t extra = kFirstExtra;
    for (size_t i = 0; i < rest.epilogue.steps.size(); ++i)
    {
        EpilogueStep const& step = rest.epilogue.steps[i];
        bool const takesExtra = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
        size_t const position = extra;
        extra += takesExtra ? 1 : 0;
        if (i < rest.done)
            continue;
        if (takesExtra
            && (position >= inputs.size() || !inputs[position].present
                || inputs[position].extents.size() != out.extents.size() || positions.size() > kMaxEpilogueOperands))
            return badArgument("input {} of an epilogue is missing, or not of the output's rank", position);
        Expr const value = takesExtra ? read(position, inputs[position]) : Expr{0.0};
        x = Epilogue::body(step, x, value);
    }
    std::shared_ptr<Prepared const> second = TENON_TRY(pointwiseStep(device, x, operands, out));
    return std::shared_ptr<Prepared const>{
        std::make_shared<FinishedStep>(std::move(kernel), std::move(second), std::move(positions))};
}

void putExtraLayouts(Offer& offer, Problem const& problem, Layout layout)
{
    for (size_t i = kFirstExtra; i < offer.inputs.size(); ++i)
        offer.inputs[i] = problem.input(i).rank() >= 3 ? layout : Layout::kLinear;
}

Offer rowsOffer(Problem const& problem, Layout layout, double cost, int64_t tactic)
{
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.inputs[0] = layout;
    putExtraLayouts(offer, problem, layout);
    offer.outputs = {layout};
    offer.cost = cost;
    offer.tactic = tactic;
    return offer;
}

} // namespace tenon::cuda
