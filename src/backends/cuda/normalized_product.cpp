// Product of normalized rows: by early tiles, which find mean and deviation beside the products, or by a norm in
// scratch memory and a product of that by the library. Both are tactics.
#include "layers/normalized_product.h"
#include "backends/cuda/early_product.h"
#include "backends/cuda/rows.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr size_t kScratchAlignment{256};
constexpr int32_t kFirstSeparate{kEarlyTactics}; //!< From here on tactics are the library's, behind a norm.

//! The norm and a product of it.
class SeparateSteps final : public CudaPrepared
{
  public:
    SeparateSteps(std::shared_ptr<Prepared const> norm, std::shared_ptr<Prepared const> product, size_t bytes)
        : mNorm{std::move(norm)},
          mProduct{std::move(product)},
          mBytes{(bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mBytes + mProduct->scratchBytes();
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        void const* const* const given = at.call.inputs;
        void* normalized = at.call.scratch;
        Call const norm{.inputs = given, .outputs = &normalized};
        TENON_TRY(cudaPrepared(*mNorm).launch(at.with(norm)));
        std::array<void const*, kFirstExtra> const inputs{normalized, given[1], given[2]};
        Call const product{.inputs = inputs.data(),
            .outputs = at.call.outputs,
            .scratch = static_cast<char*>(at.call.scratch) + mBytes};
        return cudaPrepared(*mProduct).launch(at.with(product));
    }

  private:
    std::shared_ptr<Prepared const> mNorm;
    std::shared_ptr<Prepared const> mProduct;
    size_t mBytes;
};

class NormalizedProductKernel final : public LayerKernel
{
  public:
    NormalizedProductKernel(
        LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device, bool isPacked)
        : LayerKernel{std::move(args), std::move(layer), std::move(weights), device},
          mIsPacked{isPacked}
    {
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        NormalizedProduct const layer = TENON_TRY(fieldsOf<NormalizedProduct>(args()));
        int32_t const tactic = TENON_TRY(choicesOf<EarlyChoices>(args())).tactic;
        StepProduct product{
            .shape = TENON_TRY(productShape(layer.product, inputs.first(kFirstExtra), outputs.first(1))),
            .epilogue = layer.product.epilogue};
        product.shape.isTurnedB = product.shape.isTurnedB || mIsPacked;
        auto separate =
            TENON_TRY(separateSteps(layer, product, inputs, outputs[0], std::max(tactic - kFirstSeparate, 0)));
        if (tactic >= kFirstSeparate)
            return separate;
        bool terms{true};
        for (size_t i = 2; i < inputs.size(); ++i)
            terms = terms && (!inputs[i].present || isConstant(i));
        return normalizedEarlyProduct(device(), product, {isConstant(1), terms}, {layer.epsilon, std::move(separate)},
            inputs, outputs[0], EarlyChoices{tactic});
    }

  private:
    Result<std::shared_ptr<Prepared const>> separateSteps(NormalizedProduct const& layer, StepProduct const& product,
        std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic) const
    {
        TensorArg const& x = inputs[0];
        Normalization const norm = layer.norm(static_cast<int32_t>(x.extents.size()));
        std::optional<Expr> const plain = norm.body({Expr::input(0), Expr{1.0}});
        auto first = TENON_TRY(rowStep(device(), *plain, inputs.first(1), x, {false}));
        auto second = TENON_TRY(libraryProduct(device(), product, inputs.first(kFirstExtra), out, LtChoices{tactic}));
        auto const bytes = static_cast<size_t>(tenon::bytesOf(x.dtype, volumeOf(x.extents)));
        return std::shared_ptr<Prepared const>{
            std::make_shared<SeparateSteps>(std::move(first), std::move(second), bytes)};
    }

    bool mIsPacked; //!< The columns of the right operand lie behind each other, whatever the layer says.
};

Result<std::unique_ptr<Kernel>> loadNormalizedProduct(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    bool const isPacked = TENON_TRY(isEnginePacked(source, TENON_TRY(fieldsOf<NormalizedProduct>(args)).product));
    return std::unique_ptr<Kernel>{std::make_unique<NormalizedProductKernel>(
        std::move(args), std::move(layer), std::vector<WeightArg>{source.weights}, device, isPacked)};
}

//! The product at the typical shape.
Result<ProductShape> typicalProduct(Problem const& problem, NormalizedProduct const& layer)
{
    std::vector<TensorArg> inputs;
    for (size_t i = 0; i < kFirstExtra; ++i)
        inputs.push_back(problem.hasInput(i)
                ? TensorArg{problem.input(i).dtype, Layout::kLinear, problem.typicalExtents(problem.input(i))}
                : TensorArg{.present = false});
    TensorArg const out{problem.output().dtype, Layout::kLinear, problem.typicalExtents(problem.output())};
    return productShape(layer.product, inputs, {&out, 1});
}

std::variant<std::vector<Offer>, Refusal> offersOfNormalizedProduct(Problem const& problem)
{
    constexpr char kName[]{"normalized tiles"};
    NormalizedProduct const& layer = problem.fields<NormalizedProduct>();
    if (!kRealTypes.has(problem.output().dtype))
        return refuse(kName, fmt::format("has no kernel for {}", nameOf(problem.output().dtype)));
    Result<ProductShape> const product = typicalProduct(problem, layer);
    if (!product)
        return refuse(kName, product.error().message);
    LtShape const shape = ltShapeOf(*product);
    ProductShape const& matrices = shape.matrices;
    DType const type = problem.output().dtype;
    bool const isForTiles = majorOf(*problem.target) == kEngineMajor && (type == DType::kHALF || type == DType::kBF16)
        && shape.batch == 1 && shape.calls.size() == 1 && problem.constant(1) != nullptr
        && matrices.columns % kEngineGrain == 0 && matrices.depth % kEngineGrain == 0;
    auto const products = static_cast<double>(matrices.rows * matrices.columns) * static_cast<double>(matrices.depth);
    constexpr double kFaster{50.0}; // Than a tenth of the plain peak.
    std::vector<Offer> offers;
    auto const add = [&](int32_t tactic, double cost) {
        offers.push_back(rowsOffer(problem, Layout::kLinear, cost + 0.01 * tactic, tactic)); // Unless timed.
    };
    for (int32_t const tactic : isForTiles ? wholeDepthTactics(matrices) : std::vector<int32_t>{})
        add(tactic, costOf(problem, products / kFaster, bytesOf(problem)));
    double const norm = costOf(problem, 0.0, bytesOf(problem));
    for (int32_t i = 0; i < kLtTactics; ++i)
        add(kFirstSeparate + i, norm + costOf(problem, products / kFaster, bytesOf(problem)));
    return offers;
}

Result<KernelSpec> buildNormalizedProduct(Problem const& problem, Offer const& offer)
{
    EarlyChoices const choices{static_cast<int32_t>(offer.tactic)};
    KernelSpec spec{.kernel = "normalized_product", .args = encodeLayerArgs(problem, offer, choices), .packed = {}};
    NormalizedProduct const& layer = problem.fields<NormalizedProduct>();
    if (isToBePacked(layer.product, problem.constant(1) != nullptr))
        spec.packed.push_back(TENON_TRY(packMatrices(1, *problem.constant(1))));
    return spec;
}

constexpr Candidate kNormalizedCandidates[]{{.layer = NormalizedProduct::kName,
    .name = "normalized tiles",
    .offers = offersOfNormalizedProduct,
    .build = buildNormalizedProduct}};
constexpr CudaKernelEntry kNormalizedKernels[]{{"normalized_product", &loadNormalizedProduct}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(NormalizedProduct, kNormalizedCandidates, kNormalizedKernels);
