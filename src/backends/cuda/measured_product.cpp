// Products between norms: by early tiles, which normalize by the moments that products before left behind and leave
// their own; or by a norm in scratch memory, a product of the library, and a kernel that measures. Both are tactics.
#include "layers/measured_product.h"
#include "backends/cuda/early_product.h"
#include "backends/cuda/rows.h"
#include "backends/cuda/separate_norm.h"
#include "backends/cuda/width_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
static_assert(MeasuredProduct::kExtra == static_cast<int32_t>(kFirstExtra)); // As products have it.
constexpr int32_t kFirstOther{kMaxEarlyTactics}; //!< From here on tactics are the library's, between other kernels.

TENON_DEVICE_STRUCT(MomentsParams, unsigned const* stop; void const* x; void* moments; unsigned long long count;
                    unsigned long long rows; unsigned long long columns;);

constexpr char kMomentsKernel[]{R"(
TENON_KERNEL(moments, MomentsParams)
{
    constexpr int kGroup = 32;
    for (u64 group = firstItem(); group < p.count; group += itemStride())
    {
        Stored const* const from = (Stored const*)p.x + group % p.rows * p.columns + group / p.rows * kGroup;
        float mean = 0.0f, squares = 0.0f;
        for (int i = 0; i < kGroup; ++i)
            mean += widen(from[i]) / (float)kGroup;
        for (int i = 0; i < kGroup; ++i)
            squares = fmaf(widen(from[i]) - mean, widen(from[i]) - mean, squares);
        ((Pack<float, 2>*)p.moments)[group] = Pack<float, 2>{{mean, squares}};
    }
}
)"};

//! Measures output 0 into output 1.
Result<std::shared_ptr<Prepared const>> momentsStep(CudaDevice const& device, TensorArg const& out)
{
    MomentsParams params{};
    params.count = static_cast<uint64_t>(volumeOf(out.extents) / MeasuredProduct::kGroup);
    params.columns = static_cast<uint64_t>(out.extents.back());
    params.rows = static_cast<uint64_t>(volumeOf(out.extents)) / params.columns;
    std::string const text = std::string{kMomentsParamsText}
        + fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(out.dtype))) + kMomentsKernel;
    Module const& module = *TENON_TRY(moduleOf(device, wholeText(text)));
    return widthStep(params, TENON_TRY(module.function("moments")), [](MomentsParams& own, Call const& call) {
        own.x = call.outputs[0];
        own.moments = call.outputs[1];
    });
}

//! Inputs that a layer's norm reads, what it is of in front.
std::vector<size_t> inputsOfNorm(MeasuredProduct const& layer, std::span<TensorArg const> inputs)
{
    if (layer.normalized == NormalizedOperand::kNone)
        return {};
    if (layer.normalized == NormalizedOperand::kRows)
        return {0};
    std::vector<size_t> read{MeasuredProduct::kExtra, MeasuredProduct::kScale};
    if (inputs.size() > MeasuredProduct::kShift && inputs[MeasuredProduct::kShift].present)
        read.push_back(MeasuredProduct::kShift);
    return read;
}

class MeasuredProductKernel final : public EngineProductKernel
{
  public:
    using EngineProductKernel::EngineProductKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        MeasuredProduct const layer = TENON_TRY(fieldsOf<MeasuredProduct>(args()));
        int32_t const tactic = TENON_TRY(chosenTactic());
        std::span<TensorArg const> const operands = inputs.first(std::min(inputs.size(), kSeparateOperands));
        StepProduct const product =
            asItLies({.shape = TENON_TRY(productShape(layer.product, operands, outputs.first(1))),
                .epilogue = layer.product.epilogue});
        auto separate = TENON_TRY(otherKernels(layer, product, inputs, outputs[0], std::max(tactic - kFirstOther, 0)));
        if (tactic >= kFirstOther)
            return separate;
        bool terms{true};
        for (size_t const input : {size_t{2}, size_t{MeasuredProduct::kScale}, size_t{MeasuredProduct::kShift}})
            terms = terms && (input >= inputs.size() || !inputs[input].present || isConstant(input));
        LtShape const shape = ltShapeOf(product.shape);
        bool const isWhole =
            stepsOfKernel(product.epilogue, inputs, outputs[0]).steps.size() == product.epilogue.steps.size();
        if (!isWhole || !isForEngine(device().model(), shape, outputs[0].dtype))
            return separate;
        EarlyNorm const norm = EarlyNorm::of(layer, inputs, shape.matrices);
        return earlyBetweenNorms(device(), {{product}, product.epilogue, std::move(separate)}, norm,
            {isConstant(1), terms}, inputs, outputs[0], tactic);
    }

  private:
    Result<std::shared_ptr<Prepared const>> otherKernels(MeasuredProduct const& layer, StepProduct const& product,
        std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic) const
    {
        SeparateKernels kernels{
            .ofNorm = inputsOfNorm(layer, inputs), .operands = std::min(inputs.size(), kSeparateOperands)};
        std::vector<TensorArg> operands{inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(kernels.operands)};
        if (!kernels.ofNorm.empty())
        {
            TensorArg const& x = inputs[kernels.ofNorm.front()];
            std::vector<TensorArg> read;
            std::vector<bool> areConstant;
            std::vector<Expr> terms;
            for (size_t const input : kernels.ofNorm)
            {
                read.push_back(inputs[input]);
                areConstant.push_back(isConstant(input));
                terms.push_back(Expr::input(static_cast<int32_t>(terms.size())));
            }
            if (terms.size() == 1)
                terms.emplace_back(1.0);
            std::optional<Expr> const body = layer.norm(static_cast<int32_t>(x.extents.size())).body(terms);
            kernels.norm = TENON_TRY(rowStep(device(), *body, read, x, areConstant));
            kernels.normalizedBytes = static_cast<size_t>(tenon::bytesOf(x.dtype, volumeOf(x.extents)));
        }
        kernels.product = TENON_TRY(libraryProduct(device(), product, operands, out, tactic));
        if (layer.measures)
            kernels.moments = TENON_TRY(momentsStep(device(), out));
        return separateSteps(std::move(kernels));
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfMeasuredProduct(Problem const& problem)
{
    constexpr char kName[]{"measured tiles"};
    MeasuredProduct const& layer = problem.fields<MeasuredProduct>();
    if (problem.target->fusion.measuredRows == 0) // A norm by itself is faster than what stands in for the tiles.
        return refuse(kName, "is for GPUs whose products normalize by moments");
    bool const hasNorm = layer.normalized != NormalizedOperand::kNone;
    return offersAroundNorms(problem, kName,
        {.product = layer.product,
            .tiles = layer.measures ? measuringTactics : plainEarlyTactics,
            .firstOther = kFirstOther,
            .others = (hasNorm ? 1 : 0) + (layer.measures ? 1 : 0),
            .outputs = layer.outputs()});
}

Result<KernelSpec> buildMeasuredProduct(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "measured_product",
        TENON_TRY(packedColumns(problem, problem.fields<MeasuredProduct>().product)));
}

constexpr Candidate kMeasuredCandidates[]{{.layer = MeasuredProduct::kName,
    .name = "measured tiles",
    .offers = offersOfMeasuredProduct,
    .build = buildMeasuredProduct}};
constexpr CudaKernelEntry kMeasuredKernels[]{{"measured_product", &loadPackableKernel<MeasuredProductKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(MeasuredProduct, kMeasuredCandidates, kMeasuredKernels);
