// MatrixMultiply by cuBLASLt: tensor cores for float16 and bfloat16, strided batches, bias in the same kernel. Where
// the library has nothing for a shape, our own tiles do it.
#include "backends/cuda/cublas_product.h"
#include "backends/cuda/cublas_lt.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr uint64_t kLtWorkspace{uint64_t{32} << 20};
constexpr uint32_t kLtAlignment{16}; //!< Of addresses, for the algorithm that is used where it may be.
constexpr size_t kMaxLtCalls{64};    //!< More batches that no one stride describes are for our tiles.

int ltTypeOf(DType type) noexcept
{
    switch (type)
    {
    case DType::kHALF: return kLtReal16F;
    case DType::kBF16: return kLtReal16Bf;
    case DType::kFP8: return kLtReal8E4M3;
    default: return kLtReal32F;
    }
}

} // namespace

StepProduct productOf(ConvolutionShape const& layer, TensorArg const& out, int64_t depth)
{
    int64_t const maps = out.extents[1];
    return {.shape = {.rows = volumeOf(out.extents) / maps,
                .columns = maps,
                .depth = depth,
                .isTurnedB = true,
                .hasBias = layer.hasBias,
                .extents = {},
                .aBatch = {},
                .bBatch = {}},
        .epilogue = layer.epilogue};
}

namespace
{
bool isOfSinglePixels(Window const& window, int64_t groups, std::vector<int64_t> const& in)
{
    if (groups != 1 || in.size() != window.rank() + 2)
        return false;
    for (size_t axis = 0; axis < window.rank(); ++axis)
    {
        auto const padding = window.padding(axis, in[2 + axis]);
        if (window.size[axis] != 1 || window.stride[axis] != 1 || padding.pre != 0 || padding.post != 0)
            return false;
    }
    return true;
}
} // namespace

Result<StepProduct> pixelProduct(ConvolutionShape const& layer, TensorArg const& in, TensorArg const& out)
{
    if (in.layout != Layout::kChannelsLast || out.layout != Layout::kChannelsLast || layer.isTransposed
        || !isOfSinglePixels(layer.window, layer.groups, in.extents))
        return badArgument("a convolution by one product takes channels last, and windows of single elements");
    return productOf(layer, out, in.extents[1]);
}

std::string pixelProductRefusal(Problem const& problem)
{
    Convolution const& layer = problem.fields<Convolution>();
    if (std::string reason = convolutionRefusal(problem, layer.window(), layer.epilogue); !reason.empty())
        return reason;
    return isOfSinglePixels(layer.window(), layer.nbGroups, problem.typicalExtents(problem.input(0)))
        ? std::string{}
        : "takes windows of single elements without strides, padding and groups";
}

Result<StepProduct> matrixProduct(
    LayerArgs const& args, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs)
{
    MatrixMultiply const layer = TENON_TRY(fieldsOf<MatrixMultiply>(args));
    return StepProduct{TENON_TRY(productShape(layer, inputs, outputs)), layer.alpha, layer.epilogue};
}

LtShape ltShapeOf(ProductShape shape)
{
    LtShape made;
    std::vector<int64_t> extents = shape.extents;
    std::vector<int64_t> inC(extents.size());
    int64_t stride = shape.rows * shape.columns;
    for (size_t i = extents.size(); i-- > 0; stride *= extents[i])
        inC[i] = stride;
    std::vector<std::vector<int64_t>> strides{shape.aBatch, shape.bBatch, inC};
    mergeAxes(extents, strides);
    while (!extents.empty()
        && (extents.back() == 1
            || (!shape.isTurnedA && strides[1].back() == 0 && strides[0].back() == shape.rows * shape.depth)))
    {
        shape.rows *= extents.back(); // Matrices of a that stand under each other, by the same b: one product.
        extents.pop_back();
        for (auto& own : strides)
            own.pop_back();
    }
    if (!extents.empty())
    {
        auto const widest = std::ranges::max_element(extents) - extents.begin();
        made.batch = extents[static_cast<size_t>(widest)];
        extents.erase(extents.begin() + widest);
        for (size_t i = 0; i < 3; ++i)
        {
            made.strides[i] = strides[i][static_cast<size_t>(widest)];
            strides[i].erase(strides[i].begin() + widest);
        }
    }
    made.calls.resize(1);
    for (size_t axis = 0; axis < extents.size(); ++axis)
    {
        std::vector<std::array<int64_t, 3>> wider;
        for (auto const& begin : made.calls)
            for (int64_t at = 0; at < extents[axis] && wider.size() <= kMaxLtCalls; ++at)
                wider.push_back({begin[0] + at * strides[0][axis], begin[1] + at * strides[1][axis],
                    begin[2] + at * strides[2][axis]});
        made.calls = std::move(wider);
    }
    made.matrices = std::move(shape);
    return made;
}

namespace
{
using LtObject = std::unique_ptr<void, int (*)(void*)>;

//! What the library's own kernel does of an epilogue: adds a tensor like the output, then applies an activation.
struct LtEpilogue
{
    bool addsExtra{false};
    uint32_t activation{0}; //!< 0: none.
    size_t steps{0};        //!< That these are.
};

LtEpilogue ltEpilogueOf(LtRequest const& request, std::span<TensorArg const> inputs, TensorArg const& out)
{
    LtEpilogue made;
    size_t const first = request.firstExtra;
    std::span<EpilogueStep const> const steps{request.product.epilogue.steps};
    if (!steps.empty() && steps[0].kind == EpilogueKind::kAdd && inputs.size() > first && inputs[first].present
        && inputs[first].extents == out.extents && inputs[first].layout == out.layout
        && inputs[first].dtype == request.result)
    {
        made.addsExtra = true;
        ++made.steps;
    }
    if (made.steps == steps.size())
        return made;
    // Its GELU is the one by tanh: the exact one stays a kernel of ours.
    EpilogueKind const next = steps[made.steps].kind;
    made.activation = next == EpilogueKind::kRelu ? kLtEpilogueRelu
        : next == EpilogueKind::kGeluTanh         ? kLtEpilogueGelu
                                                  : 0;
    made.steps += made.activation != 0 ? 1 : 0;
    return made;
}

//! The library counts columns first: what is row-major to us is turned to it, so it multiplies b by a.
class LtProduct final : public CudaPrepared
{
  public:
    LtProduct(LtApi const& api, LtRequest const& request, LtShape shape, LtEpilogue const& epilogue)
        : mApi{api},
          mOperands{request.operands},
          mResult{request.result},
          mShape{std::move(shape)},
          mAlpha{request.product.alpha},
          mExtra{request.firstExtra},
          mEpilogue{epilogue},
          mProduct{nullptr, api.cublasLtMatmulDescDestroy},
          mA{nullptr, api.cublasLtMatrixLayoutDestroy},
          mB{nullptr, api.cublasLtMatrixLayoutDestroy},
          mC{nullptr, api.cublasLtMatrixLayoutDestroy}
    {
    }
    //! Describes the product and asks for algorithms; an error where the library has none.
    Result<Done> prepare(CudaDevice const& device, int32_t tactic)
    {
        mHandle = TENON_TRY(ltHandleOf(mApi, device));
        bool const rounds = mOperands == DType::kFLOAT && tactic >= kLtTactics;
        TENON_TRY(describe(rounds ? kLtComputeTf32 : kLtCompute32F));
        mAligned = TENON_TRY(choose(kLtAlignment, tactic % kLtTactics));
        // Products of fp8 it has for aligned operands alone.
        mUnaligned = mOperands == DType::kFP8
            ? mAligned
            : TENON_TRY(choose(static_cast<uint32_t>(tenon::bytesOf(mOperands, 1)), 0));
        return Done{};
    }
    size_t scratchBytes() const noexcept override
    {
        return std::max(mAligned.workspaceBytes, mUnaligned.workspaceBytes);
    }
    Result<Done> launch(CudaCall const& at) const override;

  private:
    Result<Done> describe(int compute);
    Result<LtObject> matrix(DType type, int64_t rows, int64_t columns, int64_t stride) const;
    Result<LtHeuristic> choose(uint32_t alignment, int32_t tactic) const;

    LtApi const& mApi;
    DType mOperands;
    DType mResult;
    LtShape mShape;
    float mAlpha;
    size_t mExtra; //!< The input that is added.
    LtEpilogue mEpilogue;
    void* mHandle{nullptr};
    LtObject mProduct;
    LtObject mA;
    LtObject mB;
    LtObject mC;
    LtHeuristic mAligned;
    LtHeuristic mUnaligned;
    mutable std::mutex mMutex; //!< Of the bias in mProduct: runs of several contexts share this.
};

Result<LtObject> LtProduct::matrix(DType type, int64_t rows, int64_t columns, int64_t stride) const
{
    void* made{nullptr};
    TENON_LT_TRY(mApi, cublasLtMatrixLayoutCreate, &made, ltTypeOf(type), static_cast<uint64_t>(rows),
        static_cast<uint64_t>(columns), rows);
    LtObject matrix{made, mApi.cublasLtMatrixLayoutDestroy};
    if (mShape.batch == 1)
        return matrix;
    auto const count = static_cast<int32_t>(mShape.batch);
    TENON_LT_TRY(mApi, cublasLtMatrixLayoutSetAttribute, made, kLtMatrixBatchCount, &count, sizeof count);
    TENON_LT_TRY(mApi, cublasLtMatrixLayoutSetAttribute, made, kLtMatrixBatchStride, &stride, sizeof stride);
    return matrix;
}

Result<Done> LtProduct::describe(int compute)
{
    ProductShape const& shape = mShape.matrices;
    void* made{nullptr};
    TENON_LT_TRY(mApi, cublasLtMatmulDescCreate, &made, compute, kLtReal32F);
    mProduct.reset(made);
    int32_t const turned{kLtTransposed};
    uint32_t const epilogue = mEpilogue.activation + (shape.hasBias ? uint32_t{kLtEpilogueBias} : 0U);
    if (shape.isTurnedB)
        TENON_LT_TRY(mApi, cublasLtMatmulDescSetAttribute, made, kLtProductTransposeA, &turned, sizeof turned);
    if (shape.isTurnedA)
        TENON_LT_TRY(mApi, cublasLtMatmulDescSetAttribute, made, kLtProductTransposeB, &turned, sizeof turned);
    if (epilogue != 0)
        TENON_LT_TRY(mApi, cublasLtMatmulDescSetAttribute, made, kLtProductEpilogue, &epilogue, sizeof epilogue);
    mA = shape.isTurnedA ? TENON_TRY(matrix(mOperands, shape.rows, shape.depth, mShape.strides[0]))
                         : TENON_TRY(matrix(mOperands, shape.depth, shape.rows, mShape.strides[0]));
    mB = shape.isTurnedB ? TENON_TRY(matrix(mOperands, shape.depth, shape.columns, mShape.strides[1]))
                         : TENON_TRY(matrix(mOperands, shape.columns, shape.depth, mShape.strides[1]));
    mC = TENON_TRY(matrix(mResult, shape.columns, shape.rows, mShape.strides[2]));
    return Done{};
}

Result<LtHeuristic> LtProduct::choose(uint32_t alignment, int32_t tactic) const
{
    void* made{nullptr};
    TENON_LT_TRY(mApi, cublasLtMatmulPreferenceCreate, &made);
    LtObject const preference{made, mApi.cublasLtMatmulPreferenceDestroy};
    TENON_LT_TRY(
        mApi, cublasLtMatmulPreferenceSetAttribute, made, kLtPreferenceWorkspace, &kLtWorkspace, sizeof kLtWorkspace);
    for (int const attribute :
        {kLtPreferenceAlignmentA, kLtPreferenceAlignmentB, kLtPreferenceAlignmentC, kLtPreferenceAlignmentD})
        TENON_LT_TRY(mApi, cublasLtMatmulPreferenceSetAttribute, made, attribute, &alignment, sizeof alignment);
    std::array<LtHeuristic, kLtTactics> found;
    int count{0};
    TENON_LT_TRY(mApi, cublasLtMatmulAlgoGetHeuristic, mHandle, mProduct.get(), mB.get(), mA.get(), mC.get(), mC.get(),
        made, tactic + 1, found.data(), &count);
    LtHeuristic const& chosen = found[static_cast<size_t>(std::clamp(count - 1, 0, tactic))];
    if (count < 1 || chosen.state != 0)
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "cuBLASLt has no algorithm for this shape");
    return chosen;
}

Result<Done> LtProduct::launch(CudaCall const& at) const
{
    auto const begin = [](void const* base, DType type, int64_t elements) {
        return static_cast<char const*>(base) + tenon::bytesOf(type, elements);
    };
    void const* const bias = mShape.matrices.hasBias ? at.call.inputs[2] : nullptr;
    float const beta = mEpilogue.addsExtra ? 1.0F : 0.0F;
    std::scoped_lock const lock{mMutex};
    if (bias != nullptr)
        TENON_LT_TRY(
            mApi, cublasLtMatmulDescSetAttribute, mProduct.get(), kLtProductBiasPointer, &bias, sizeof(void const*));
    for (auto const& [inA, inB, inC] : mShape.calls)
    {
        void const* const a = begin(at.call.inputs[0], mOperands, inA);
        void const* const b = begin(at.call.inputs[1], mOperands, inB);
        void* const d = const_cast<char*>(begin(at.call.outputs[0], mResult, inC));
        void const* const c = mEpilogue.addsExtra ? begin(at.call.inputs[mExtra], mResult, inC) : d;
        uintptr_t all = reinterpret_cast<uintptr_t>(bias);
        for (void const* const address : {a, b, c, static_cast<void const*>(d)})
            all |= reinterpret_cast<uintptr_t>(address);
        LtHeuristic const& by = all % kLtAlignment == 0 ? mAligned : mUnaligned;
        TENON_LT_TRY(mApi, cublasLtMatmul, mHandle, mProduct.get(), &mAlpha, b, mB.get(), a, mA.get(), &beta, c,
            mC.get(), d, mC.get(), by.algorithm.data(), at.call.scratch, by.workspaceBytes, at.stream);
    }
    return Done{};
}

Result<std::shared_ptr<Prepared const>> byLibraryAlone(
    CudaDevice const& device, LtRequest const& request, LtEpilogue const& epilogue, int32_t tactic)
{
    LtApi const& api = *TENON_TRY(cublasLt());
    LtShape made = ltShapeOf(request.product.shape);
    if (request.product.shape.depth == 0 || made.calls.size() > kMaxLtCalls || !isSmall(made.batch))
        return errorOf(ErrorCode::kUNSUPPORTED_STATE, "nothing for cuBLASLt");
    Current const current{device};
    auto step = std::make_shared<LtProduct>(api, request, std::move(made), epilogue);
    TENON_TRY(step->prepare(device, tactic));
    return std::shared_ptr<Prepared const>{std::move(step)};
}

class LtProductKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        int32_t const tactic = TENON_TRY(chosenTactic());
        StepProduct const product = TENON_TRY(matrixProduct(args(), inputs, outputs));
        return libraryProduct(device(), product, inputs, outputs[0], tactic);
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfLtProduct(Problem const& problem)
{
    constexpr char kName[]{"cublaslt"};
    if (std::string reason = productRefusal(problem); !reason.empty())
        return refuse(kName, std::move(reason));
    if (auto const library = cublasLt(); !library)
        return refuse(kName, library.error().message);
    return libraryOffers(problem, Layout::kLinear, productWork(problem));
}

Result<KernelSpec> buildLtProduct(Problem const& problem, Offer const& offer)
{
    return tacticSpec(problem, offer, "cublaslt_product");
}

constexpr Candidate kLtProductCandidates[]{
    {.layer = MatrixMultiply::kName, .name = "cublaslt", .offers = offersOfLtProduct, .build = buildLtProduct}};
constexpr CudaKernelEntry kLtProductKernels[]{{"cublaslt_product", &loadLayerKernel<LtProductKernel>}};
} // namespace

Result<LtStep> ltStep(CudaDevice const& device, LtRequest const& request, std::span<TensorArg const> inputs,
    TensorArg const& out, int32_t tactic)
{
    LtEpilogue const whole = ltEpilogueOf(request, inputs, out);
    if (auto made = byLibraryAlone(device, request, whole, tactic))
        return LtStep{*std::move(made), whole.steps};
    return LtStep{TENON_TRY(byLibraryAlone(device, request, LtEpilogue{}, tactic)), 0};
}

Result<std::shared_ptr<Prepared const>> libraryProduct(CudaDevice const& device, StepProduct const& product,
    std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic)
{
    TENON_TRY(positionOf(tactic, 2 * kLtTactics, "a product by cuBLASLt"));
    if (auto made = ltStep(device, {out.dtype, out.dtype, product}, inputs, out, tactic))
        return withRest(device, std::move(made->product), {product.epilogue, made->steps}, inputs, out);
    auto tiles = TENON_TRY(tiledProduct(device, out.dtype, product.shape, product.alpha));
    return withRest(device, std::move(tiles), {product.epilogue}, inputs, out);
}

std::vector<Offer> libraryOffers(Problem const& problem, Layout layout, double multiplications, int32_t tactics)
{
    TargetRates const& rates = problem.target->rates;
    DType const type = problem.output().dtype;
    bool const mayRound = type == DType::kFLOAT && rates.hasTf32;
    std::vector<Offer> offers;
    for (int32_t tactic = 0; tactic < (mayRound ? 2 * tactics : tactics); ++tactic)
    {
        // Than a tenth of the plain peak.
        double const faster = rates.fastTypes.has(type) ? 100.0 : tactic >= tactics ? 50.0 : 5.0;
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), layout);
        offer.outputs = {layout};
        offer.cost = costOf(problem, multiplications / faster, bytesOf(problem)) + 0.01 * tactic; // Unless timed.
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    return offers;
}

} // namespace tenon::cuda

TENON_CUDA_KERNELS(CublasProduct, kLtProductCandidates, kLtProductKernels);
