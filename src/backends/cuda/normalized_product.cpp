// Product of normalized rows: by early tiles, which find mean and deviation beside the products, or by a norm in
// scratch memory and a product of that by the library. Both are tactics.
#include "layers/normalized_product.h"
#include "backends/cuda/early_product.h"
#include "backends/cuda/rows.h"
#include "backends/cuda/separate_norm.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr int32_t kFirstSeparate{kMaxEarlyTactics}; //!< From here on tactics are the library's, behind a norm.

class NormalizedProductKernel final : public EngineProductKernel
{
  public:
    using EngineProductKernel::EngineProductKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        NormalizedProduct const layer = TENON_TRY(fieldsOf<NormalizedProduct>(args()));
        int32_t const tactic = TENON_TRY(chosenTactic());
        StepProduct const product =
            asItLies({.shape = TENON_TRY(productShape(layer.product, inputs.first(kFirstExtra), outputs.first(1))),
                .epilogue = layer.product.epilogue});
        auto separate =
            TENON_TRY(otherKernels(layer, product, inputs, outputs[0], std::max(tactic - kFirstSeparate, 0)));
        if (tactic >= kFirstSeparate)
            return separate;
        bool terms{true};
        for (size_t i = 2; i < inputs.size(); ++i)
            terms = terms && (!inputs[i].present || isConstant(i));
        EarlyNorm const norm{
            .normalized = NormalizedOperand::kRows, .epsilon = layer.epsilon, .terms = NormalizedProduct::kSums};
        return earlyBetweenNorms(device(), {{product}, product.epilogue, std::move(separate)}, norm,
            {isConstant(1), terms}, inputs, outputs[0], tactic);
    }

  private:
    Result<std::shared_ptr<Prepared const>> otherKernels(NormalizedProduct const& layer, StepProduct const& product,
        std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic) const
    {
        TensorArg const& x = inputs[0];
        Normalization const norm = layer.norm(static_cast<int32_t>(x.extents.size()));
        std::optional<Expr> const plain = norm.body({Expr::input(0), Expr{1.0}});
        SeparateKernels kernels{.ofNorm = {0}, .operands = kFirstExtra};
        kernels.norm = TENON_TRY(rowStep(device(), *plain, inputs.first(1), x, {false}));
        kernels.normalizedBytes = static_cast<size_t>(tenon::bytesOf(x.dtype, volumeOf(x.extents)));
        kernels.product = TENON_TRY(libraryProduct(device(), product, inputs.first(kFirstExtra), out, tactic));
        return separateSteps(std::move(kernels));
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfNormalizedProduct(Problem const& problem)
{
    return offersAroundNorms(problem, "normalized tiles",
        {.product = problem.fields<NormalizedProduct>().product,
            .tiles = wholeDepthTactics,
            .firstOther = kFirstSeparate,
            .others = 1});
}

Result<KernelSpec> buildNormalizedProduct(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "normalized_product",
        TENON_TRY(packedColumns(problem, problem.fields<NormalizedProduct>().product)));
}

constexpr Candidate kNormalizedCandidates[]{{.layer = NormalizedProduct::kName,
    .name = "normalized tiles",
    .offers = offersOfNormalizedProduct,
    .build = buildNormalizedProduct}};
constexpr CudaKernelEntry kNormalizedKernels[]{{"normalized_product", &loadPackableKernel<NormalizedProductKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(NormalizedProduct, kNormalizedCandidates, kNormalizedKernels);
