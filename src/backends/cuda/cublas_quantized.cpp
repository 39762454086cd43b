// Products of fp8 matrices by cuBLASLt, where all columns have one scale: what it can of the epilogue in its kernel,
// the rest and the rounding of the result behind it. Our own kernel stands behind both.
#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/cublas_product.h"
#include "backends/cuda/pointwise.h"
#include "backends/cuda/quantized_product.h"
#include "layers/quantization.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr size_t kScaleOfFp8{QuantizedOperands::kScales};
constexpr size_t kExtraOfFp8{QuantizedOperands::kFirstExtra};
constexpr uintptr_t kFp8Alignment{16}; //!< Of all addresses.
constexpr size_t kScratchAlignment{256};

//! A product by the library, then a kernel over its result, which is in scratch memory where it has another type than
//! the step's; our own kernel where an address is not what the library takes.
class Fp8Step final : public CudaPrepared
{
  public:
    struct Parts
    {
        std::shared_ptr<Prepared const> product;
        std::shared_ptr<Prepared const> rest; //!< Null: none.
        std::vector<size_t> operands;         //!< Of the rest, behind the product's result.
        size_t resultBytes{0};                //!< 0: the result is the step's.
        std::shared_ptr<Prepared const> ours;
    };
    explicit Fp8Step(Parts parts)
        : mParts{std::move(parts)},
          mResultRoom{(mParts.resultBytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return std::max(mResultRoom + mParts.product->scratchBytes(), mParts.ours->scratchBytes());
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        auto all = reinterpret_cast<uintptr_t>(at.call.outputs[0]);
        for (size_t const i : {size_t{0}, size_t{1}})
            all |= reinterpret_cast<uintptr_t>(at.call.inputs[i]);
        for (size_t i = 0; i < mParts.operands.size(); ++i)
            all |= reinterpret_cast<uintptr_t>(at.call.inputs[mParts.operands[i]]);
        if (all % kFp8Alignment != 0)
            return cudaPrepared(*mParts.ours).launch(at);
        auto* const scratch = static_cast<char*>(at.call.scratch);
        void* const result = mResultRoom > 0 ? scratch : at.call.outputs[0];
        Call product = at.call;
        product.outputs = &result;
        product.scratch = scratch + mResultRoom;
        TENON_TRY(cudaPrepared(*mParts.product).launch(at.with(product)));
        if (mParts.rest == nullptr)
            return Done{};
        std::array<void const*, kMaxOperands> inputs{result};
        for (size_t i = 0; i < mParts.operands.size(); ++i)
            inputs[1 + i] = at.call.inputs[mParts.operands[i]];
        Call const rest{.inputs = inputs.data(), .outputs = at.call.outputs};
        return cudaPrepared(*mParts.rest).launch(at.with(rest));
    }

  private:
    Parts mParts;
    size_t mResultRoom;
};

//! What the library leaves, as an expression of its result and of inputs of the step.
struct Fp8Rest
{
    Expr expr{Expr::input(0)};
    std::vector<size_t> positions{};
    std::vector<TensorArg> operands{};

    Expr read(size_t position, TensorArg arg)
    {
        positions.push_back(position);
        operands.push_back(std::move(arg));
        return Expr::input(static_cast<int32_t>(operands.size()));
    }
};

Result<Fp8Rest> fp8Rest(
    QuantizedLayer const& layer, size_t done, bool leavesBias, std::span<TensorArg const> inputs, TensorArg const& out)
{
    Fp8Rest rest;
    if (leavesBias)
    {
        TensorArg bias = inputs[2];
        bias.extents.insert(bias.extents.begin(), out.extents.size() - bias.extents.size(), 1);
        rest.expr = rest.expr + rest.read(2, std::move(bias));
    }
    size_t extra = kExtraOfFp8;
    for (size_t i = 0; i < layer.epilogue.steps.size(); ++i)
    {
        EpilogueStep const& step = layer.epilogue.steps[i];
        bool const takesExtra = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
        size_t const position = extra;
        extra += takesExtra ? 1 : 0;
        if (i < done)
            continue;
        if (takesExtra && (position >= inputs.size() || !inputs[position].present))
            return badArgument("input {} of an epilogue is missing", position);
        Expr value{0.0};
        if (takesExtra)
            value = rest.read(position, inputs[position]);
        if (takesExtra && isQuantizedType(inputs[position].dtype))
            value = value * Expr{static_cast<double>(step.alpha)};
        rest.expr = Epilogue::body(step, rest.expr, value);
    }
    if (layer.outputScale > 0.0F)
        rest.expr = quantizedExpr(rest.expr, Expr{static_cast<double>(layer.outputScale)}, out.dtype);
    return rest;
}

//! By the library; an error where it is missing or has nothing for the shape.
Result<Fp8Step::Parts> partsByLibrary(CudaDevice const& device, QuantizedLayer const& layer, int32_t tactic,
    float scale, std::span<TensorArg const> inputs, TensorArg const& out)
{
    QuantizedShape const shape = TENON_TRY(quantizedShape(layer, inputs, out));
    if (shape.calls.size() != 1 || shape.batch != 1)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "batches of fp8 matrices are our own kernel's");
    TensorArg result = out;
    result.dtype = layer.realType;
    bool const hasBias = inputs[2].present && inputs[2].dtype == result.dtype;
    LtRequest const request{.operands = DType::kFP8,
        .result = result.dtype,
        .product = {.shape = {.rows = shape.rows,
                        .columns = shape.columns,
                        .depth = shape.depth,
                        .isTurnedB = true,
                        .hasBias = hasBias,
                        .extents = {},
                        .aBatch = {},
                        .bBatch = {}},
            .alpha = layer.factor * scale,
            // Behind a bias that it does not add, it does nothing of the epilogue.
            .epilogue = inputs[2].present && !hasBias ? Epilogue{} : layer.epilogue},
        .firstExtra = kExtraOfFp8};
    LtStep made = TENON_TRY(ltStep(device, request, inputs, result, tactic));
    Fp8Rest rest = TENON_TRY(fp8Rest(layer, made.steps, inputs[2].present && !hasBias, inputs, out));
    Fp8Step::Parts parts{.product = std::move(made.product), .rest = {}, .operands = {}, .ours = {}};
    bool const isWhole = made.steps == layer.epilogue.steps.size() && rest.positions.empty();
    if (isWhole && layer.outputScale == 0.0F)
        return parts;
    if (layer.outputScale > 0.0F)
        parts.resultBytes = static_cast<size_t>(result.bytes());
    rest.operands.insert(rest.operands.begin(), result);
    if (rest.operands.size() > kMaxOperands)
        return badArgument("{} operands behind a product", rest.operands.size());
    parts.rest = TENON_TRY(pointwiseStep(device, rest.expr, rest.operands, out));
    parts.operands = std::move(rest.positions);
    return parts;
}

//! The one scale of a kernel that a plan or a graph holds.
std::optional<float> oneScale(DType type, std::vector<int64_t> const& extents, void const* data)
{
    if (data == nullptr || type != DType::kFLOAT || volumeOf(extents) != 1)
        return std::nullopt;
    return *static_cast<float const*>(data);
}

class Fp8Kernel final : public LayerKernel
{
  public:
    Fp8Kernel(LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device,
        std::shared_ptr<Constant const> turned, std::optional<float> scale)
        : LayerKernel{std::move(args), std::move(layer), std::move(weights), device},
          mTurned{std::move(turned)},
          mScale{scale}
    {
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int32_t const tactic = TENON_TRY(chosenTactic());
        TENON_TRY(positionOf(tactic, kLtTactics, "a product by cuBLASLt"));
        QuantizedLayer const layer = TENON_TRY(quantizedLayerOf(args()));
        auto ours = TENON_TRY(quantizedStep(device(), layer, 0, mTurned.get(), inputs, outputs[0]));
        if (!mScale || mTurned != nullptr || inputs[0].dtype != DType::kFP8)
            return ours; // Weights that were stored for another device, say.
        auto parts = partsByLibrary(device(), layer, tactic, *mScale, inputs, outputs[0]);
        if (!parts)
            return ours;
        parts->ours = std::move(ours);
        return std::shared_ptr<Prepared const>{std::make_shared<Fp8Step>(*std::move(parts))};
    }

  private:
    std::shared_ptr<Constant const> mTurned;
    std::optional<float> mScale;
};

Result<std::unique_ptr<Kernel>> loadFp8(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    auto turned = TENON_TRY(turnedWeights(TENON_TRY(quantizedLayerOf(args)), source.weights));
    std::optional<float> scale;
    if (source.weights.size() > kScaleOfFp8)
    {
        WeightArg const& own = source.weights[kScaleOfFp8];
        if (own.bytes >= sizeof(float))
            scale = oneScale(own.dtype, own.extents, own.data);
    }
    return std::unique_ptr<Kernel>{std::make_unique<Fp8Kernel>(
        std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device, std::move(turned), scale)};
}

std::variant<std::vector<Offer>, Refusal> offersOfFp8(Problem const& problem)
{
    constexpr char kName[]{"cublaslt"};
    QuantizedMatrixMultiply const& layer = problem.fields<QuantizedMatrixMultiply>();
    if (problem.input(0).dtype != DType::kFP8 || layer.realType == DType::kFLOAT)
        return refuse(kName, "takes fp8 with results in half precision");
    Constant const* const scale = problem.constant(kScaleOfFp8);
    if (scale == nullptr || !oneScale(scale->dtype, scale->extents, scale->data))
        return refuse(kName, "takes one scale for all columns");
    if (auto const library = cublasLt(); !library)
        return refuse(kName, library.error().message);
    if (std::string why = objectionToQuantized(problem, quantizedLayer(layer)); !why.empty())
        return refuse(kName, std::move(why));
    auto const depth = static_cast<double>(problem.typicalExtents(problem.input(0)).back());
    double const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
    std::vector<Offer> offers;
    for (int32_t tactic = 0; tactic < kLtTactics; ++tactic)
    {
        constexpr double kFaster{200.0}; // Than a tenth of the plain peak.
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.outputs = {Layout::kLinear};
        offer.cost = costOf(problem, elements * depth / kFaster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<KernelSpec> buildFp8(Problem const& problem, Offer const& offer)
{
    QuantizedLayer const layer = quantizedLayer(problem.fields<QuantizedMatrixMultiply>());
    return tacticSpec(problem, offer, "cublaslt_fp8", TENON_TRY(packQuantized(layer, problem.constant(1))));
}

constexpr Candidate kFp8Candidates[]{
    {.layer = QuantizedMatrixMultiply::kName, .name = "cublaslt", .offers = offersOfFp8, .build = buildFp8}};
constexpr CudaKernelEntry kFp8Kernels[]{{"cublaslt_fp8", &loadFp8}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CublasQuantized, kFp8Candidates, kFp8Kernels);
